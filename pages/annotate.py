"""Annotate: one image large, a key answers it, the next is there at once."""

import streamlit as st

from core.errors import PenumbraError
from core.queue import MEASURE, Narrow, ending, queue_for, unmeasured
from core.team import TeamSettings
from db import repository
from pages.components.annotate import annotate, rerun
from pages.parts import desk_asks, desk_header, desk_keys, desk_words, folder, grid_mode, grid_turn, labelling, working
from pages.parts.empty import NO_PROJECT, to_projects
from pages.parts.state import database, project_in_address
from pages.parts.text import escape
from pages.parts.who import require_person


def main() -> None:
    project = project_in_address()
    if project is None:
        return to_projects(NO_PROJECT, "Annotate")
    person_id, _ = require_person()
    trouble = None if folder.is_there(project) else folder.show_missing
    if trouble is None and not _is_ranked(project):
        trouble = _show_preparing
    if trouble is not None:
        desk_header.plain(project)
        trouble(project)
        return None
    source, narrow = desk_header.full(project, person_id)
    if st.query_params.get("view") == "grid":
        return grid_mode.show(project, person_id, source, narrow)
    _desk(project.id, person_id, source, narrow)
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


@st.fragment
def _desk(project_id: int, person_id: int, source: str, narrow: Narrow) -> None:
    """Everything that must happen is done before the first call that Streamlit may interrupt."""
    key = f"desk-{project_id}-{person_id}"
    report = (st.session_state.get(key) or {}).get("report")
    with database().read() as session:
        project = repository.project(session, project_id)  # classes and settings may be others by now
    desk = labelling.Desk(project, person_id, TeamSettings.of(project.team).blind, narrow)
    try:
        data = labelling.setting(desk) | _turn(desk, source, report)
    except PenumbraError as error:
        st.error(f"The images cannot be ranked: {escape(str(error))}. Answers are safe.")
        return
    data["told"] = desk_asks.answer(project, person_id, labelling.asks(report))
    data["keys"] = desk_keys.told(desk_keys.keys_for(database(), project, person_id))
    data["without"] += ["grid"] if grid_turn.refusal(project, source) else []
    data["place"] = f"{source} {narrow}"
    data["facts"] = _facts(project, source)
    annotate(key=key, data=data, on_report_change=lambda: None)


def _turn(desk: labelling.Desk, source: str, report) -> dict:
    queue = queue_for(database(), desk.project.id, source)
    data = labelling.turn(database(), queue, desk, report)
    found = ending(queue, desk.person_id, desk.narrow) if data["few"] else None
    data["hint"] = desk_words.hint(found) if found else ""
    data["end"] = desk_words.end(found, source) if found and not data["cards"] else None
    return data


def _facts(project, source: str) -> dict:
    with database().read() as session:
        counts = repository.counts(session, project.id)
        model = repository.latest_round(session, project.id)
        newer = repository.answers_since(session, project.id, model.label_watermark) if model else 0
    left = unmeasured(database(), project.id) if source == MEASURE else None
    return {
        **desk_words.facts(counts, model.number if model else None, newer, left),
        **_round(project.id),
        "every": TeamSettings.of(project.team).retrain_every,
    }


def _round(project_id: int) -> dict:
    """The round that runs, whoever or whatever started it; or that the one which ran before this turn failed."""
    job, seen = working.current(project_id, "round"), f"round-{project_id}"
    if job is not None:
        working.keep_worker()
        st.session_state[seen] = job.id
        return {"round": desk_words.under_way(job, working.waits(job)), "failed": ""}
    last = working.last(project_id, "round") if seen in st.session_state else None
    return {"round": None, "failed": desk_words.failure(last) if last else ""}


main()
