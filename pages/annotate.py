"""Annotate: one image large, a key answers it, the next is there at once."""

from datetime import datetime

import streamlit as st

from core.acquisition.table import QUICK
from core.errors import PenumbraError
from core.jobs import enqueue
from core.queue import queue_for
from db import repository
from pages.components.annotate import annotate, rerun
from pages.parts import labelling, working
from pages.parts.state import database, go, project_in_address
from pages.parts.text import escape
from pages.parts.who import person_menu, require_person

ROUND_HELP = "Fine-tune on all answers, measure on the test split, and rank the rest anew. You can go on labelling."


def main() -> None:
    project = project_in_address()
    if project is None:
        return _no_project()
    person_id, _ = require_person()
    if not _is_ready(project):
        return None
    source = _header(project)
    _desk(project, person_id, source)
    rerun(key="rerun", on_at_change=lambda: None)
    return None


def _no_project() -> None:
    st.title("Annotate")
    st.write("Choose a project first: its images come here one by one, those that teach the model most first.")
    if st.button("See the projects", type="primary"):
        go("projects")


def _is_ready(project) -> bool:
    """Whether images have been read and ranked; says what is under way where not."""
    with database().read() as session:
        if repository.latest_round(session, project.id) is not None:
            return True
    st.subheader(escape(project.name))
    if preparing := working.current(project.id, "prepare"):
        st.write("The images are being read and ranked. This page goes on by itself.")
        working.show_progress(preparing)
        return False
    working.show_failure(working.last(project.id, "prepare"))
    if st.button("Read the images", type="primary"):
        enqueue(database(), project.id, "prepare", {})
        st.rerun()
    return False


def _header(project) -> str:
    """Name, order of the queue, round; returns the order."""
    name, order, start, who = st.columns([5, 2, 2, 1.4], vertical_alignment="center")
    target = f" → {escape(project.target_domain)}" if project.target_domain else ""
    name.markdown(f"### {escape(project.name)}{target}")
    source = order.selectbox(
        "Order of the queue",
        QUICK,
        format_func=lambda each: f"order: {labelling.title(each)}",
        label_visibility="collapsed",
        key=f"source-{project.id}",
        on_change=_release,
        args=(project.id,),
    )
    with start:
        _round_button(project)
    with who:
        person_menu()
    return source


def _round_button(project) -> None:
    running = working.current(project.id, "round")
    if running:
        working.watch(running)
    elif st.button("Start round", icon=":material/model_training:", width="stretch", help=ROUND_HELP):
        enqueue(database(), project.id, "round", {})
        st.rerun()


def _release(project_id: int) -> None:
    """Another order: what is held for this person, apart from the screen, goes back."""
    with database().write() as session:
        repository.release(session, project_id, st.session_state["person"][0])


@st.fragment
def _desk(project, person_id: int, source: str) -> None:
    """Everything that must happen is done before the first call that Streamlit may interrupt."""
    key = f"desk-{project.id}-{person_id}"
    report = (st.session_state.get(key) or {}).get("report")
    try:
        queue = queue_for(database(), project.id, source)
        data = labelling.setting(project, person_id) | labelling.turn(queue, person_id, report)
    except PenumbraError as error:
        st.error(f"The images cannot be ranked: {escape(str(error))}. Answers are safe.")
        return
    with database().read() as session:
        counts = repository.counts(session, project.id)
        model = repository.latest_round(session, project.id)
        newer = repository.answers_since(session, project.id, model.label_watermark) if model else 0
    data["facts"] = labelling.facts(counts, model.number if model else None, newer)
    data["end"] = labelling.end(counts, datetime.now().astimezone())
    annotate(key=key, data=data, on_report_change=lambda: None)


main()
