"""The grid of Annotate: the likeliest images of one class or cluster, confirmed a page at a time."""

from __future__ import annotations

import streamlit as st

from core import grid as grids
from core.errors import PenumbraError
from core.queue import Narrow
from db import repository
from db.repository import ProjectRow
from pages.components.annotate import rerun
from pages.components.grid import grid
from pages.parts import desk_asks, desk_keys, desk_words, grid_turn, labelling, working
from pages.parts.state import database
from pages.parts.text import escape


def show(project: ProjectRow, person_id: int, source: str, narrow: Narrow = Narrow()) -> None:  # noqa: B008 (frozen)
    """The grid in place of the desk, or why there is none; `source` and `narrow` are the desk's order and filter.

    A selection narrows it to its images, a filter to its domain; the class of a filter is the one shown first.
    """
    refused = grid_turn.refusal(project, source)
    if refused is not None:
        st.info(escape(refused), icon=":material/visibility_off:")
        if st.button("One image at a time", type="primary", icon=":material/image:"):
            _to_desk(project.id, person_id)
        return
    _grid(project.id, person_id, source, narrow)
    rerun(key="rerun-grid", on_at_change=lambda: None)


def leave(project_id: int, person_id: int) -> None:
    """Give back the images that the grid held for this person."""
    grids.leave(database(), project_id, person_id)


@st.fragment
def _grid(project_id: int, person_id: int, source: str, narrow: Narrow) -> None:
    """Everything that must happen is done before the first call that Streamlit may interrupt."""
    key = f"grid-{project_id}-{person_id}-{source}-{narrow}"
    report = (st.session_state.get(key) or {}).get("report")
    before = st.session_state.get(f"{key}-granted")
    pile = st.query_params.get("pile") or (narrow.guess and f"class-{narrow.guess}")
    with database().read() as s:
        project = repository.project(s, project_id)  # classes may be others by now
    try:
        pool = grids.grid_for(database(), project_id, source, narrow.domain)
        data, granted = grid_turn.turn(pool, project, person_id, report, before, pile)
    except PenumbraError as error:
        st.error(f"The images cannot be sorted: {escape(str(error))}. Answers are safe.")
        return
    st.session_state[f"{key}-granted"] = granted
    data |= _around(project, person_id, data, report)
    if granted.pile is not None and granted.pile != st.query_params.get("pile"):
        st.query_params["pile"] = granted.pile
    result = grid(key=key, data=data, on_report_change=lambda: None, on_leave_change=lambda: None)
    if result.get("leave"):
        _to_desk(project_id, person_id)


def _around(project: ProjectRow, person_id: int, data: dict, report) -> dict:
    """What stands around the tiles."""
    told = desk_asks.answer(project, person_id, labelling.asks(report))
    with database().read() as s:
        counts = repository.counts(s, project.id)
        shared = len(repository.shared(s, project.id)) if not data["piles"] else 0
        model = repository.latest_round(s, project.id)
        newer = repository.answers_since(s, project.id, model.label_watermark) if model else 0
    return {
        "scope": f"{project.id}:{person_id}",
        "classes": [{"id": each.id, "name": each.name} for each in project.classes],
        "keys": desk_keys.told(desk_keys.keys_for(database(), project, person_id)),
        "told": told,
        "facts": grid_turn.facts(counts, data["round"], newer, _running(project.id)),
        "end": grid_turn.end(data, len(grid_turn.passed(report)), counts, shared),
    }


def _running(project_id: int) -> str | None:
    """How far the round is that runs; None where none does."""
    job = working.current(project_id, "round")
    if job is None:
        return None
    working.keep_worker()
    return desk_words.under_way(job, working.waits(job))["said"]


def _to_desk(project_id: int, person_id: int) -> None:
    leave(project_id, person_id)
    for name in ("view", "pile"):
        st.query_params.pop(name, None)
    st.rerun(scope="app")
