"""Annotate: one image large, a key answers it, the next is there at once."""

from datetime import datetime

import streamlit as st

from core.errors import PenumbraError
from core.queue import MEASURE, is_selection, orders, queue_for, unmeasured
from db import repository
from pages.components.annotate import annotate, rerun
from pages.parts import folder, grid_mode, labelling, working
from pages.parts.empty import NO_PROJECT, to_projects
from pages.parts.state import database, keep_order, order_in_address, project_in_address
from pages.parts.text import escape
from pages.parts.who import person_menu, require_person

ROUND_HELP = "Fine-tune on all answers, measure on the test split, and rank the rest anew. You can go on labelling."


def main() -> None:
    project = project_in_address()
    if project is None:
        return to_projects(NO_PROJECT, "Annotate")
    person_id, _ = require_person()
    trouble = None if folder.is_there(project) else folder.show_missing
    if trouble is None and not _is_ranked(project):
        trouble = _show_preparing
    if trouble is not None:
        _plain_header(project)
        trouble(project)
        return None
    source = _header(project)
    if st.query_params.get("view") == "grid":
        return grid_mode.show(project, person_id, source)
    _desk(project, person_id, source)
    rerun(key="rerun", on_at_change=lambda: None)
    return None


def _is_ranked(project) -> bool:
    with database().read() as session:
        return repository.latest_round(session, project.id) is not None


def _show_preparing(project) -> None:
    if preparing := working.current(project.id, "prepare"):
        st.write("The images are being read and ranked. This page goes on by itself.")
        working.show_progress(preparing)
        return
    working.show_failure(working.last(project.id, "prepare"))
    if st.button("Read the images", type="primary"):
        working.start(project.id, "prepare")
        st.rerun()


def _plain_header(project) -> None:
    """Name and person, which is kept in the browser here as everywhere."""
    name, who = st.columns([8, 1.4], vertical_alignment="center")
    name.markdown(f"### {escape(project.name)}")
    with who:
        person_menu()


def _header(project) -> str:
    """Name, order of the queue, round; returns the order."""
    name, order, start, who = st.columns([4.6, 2.4, 2, 1.4], vertical_alignment="center")
    target = f" → {escape(project.target_domain)}" if project.target_domain else ""
    name.markdown(f"### {escape(project.name)}{target}")
    with order:
        source = _order(project.id)
    with start:
        _round_button(project)
    with who:
        person_menu()
    return source


def _order(project_id: int) -> str:
    """The order of the queue: chosen here, and kept in the address."""
    offered, wanted = orders(database(), project_id), order_in_address(project_id)
    offered += [wanted] if wanted and is_selection(wanted) else []
    key = f"source-{project_id}"
    if st.session_state.get(key, offered[0]) not in offered:
        del st.session_state[key]  # all images to measure with are answered
    source = st.selectbox(
        "Order of the queue",
        offered,
        index=offered.index(wanted) if wanted in offered else 0,
        format_func=lambda each: f"order: {labelling.title(each)}",
        label_visibility="collapsed",
        key=key,
        on_change=_release,
        args=(project_id,),
    )
    keep_order(project_id, source, usual=offered[0])
    return source


def _round_button(project) -> None:
    running = working.current(project.id, "round")
    st.session_state["round-shown"] = running is not None
    if running:
        working.watch(running)
    elif st.button("Start round", icon=":material/model_training:", width="stretch", help=ROUND_HELP):
        working.start(project.id, "round")
        st.rerun()


def _release(project_id: int) -> None:
    """Another order: what is held for this person, apart from the screen, goes back."""
    with database().write() as session:
        repository.release(session, project_id, require_person()[0])


@st.fragment
def _desk(project, person_id: int, source: str) -> None:
    """Everything that must happen is done before the first call that Streamlit may interrupt."""
    key = f"desk-{project.id}-{person_id}"
    report = (st.session_state.get(key) or {}).get("report")
    try:
        queue = queue_for(database(), project.id, source)
        data = labelling.setting(project, person_id) | labelling.turn(queue, project.id, person_id, report)
    except PenumbraError as error:
        st.error(f"The images cannot be ranked: {escape(str(error))}. Answers are safe.")
        return
    with database().read() as session:
        counts = repository.counts(session, project.id)
        model = repository.latest_round(session, project.id)
        newer = repository.answers_since(session, project.id, model.label_watermark) if model else 0
    left = unmeasured(database(), project.id) if source == MEASURE else None
    data["facts"] = labelling.facts(counts, model.number if model else None, newer, left)
    ended = labelling.selection_end() if is_selection(source) else None
    data["end"] = ended or labelling.end(counts, datetime.now().astimezone(), left)
    annotate(key=key, data=data, on_report_change=lambda: None)
    runs = working.current(project.id, "round") is not None
    if runs != st.session_state.get("round-shown", runs):  # somebody else started one: the header has to say so
        st.rerun(scope="app")


main()
