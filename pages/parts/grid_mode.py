"""The grid of Annotate: the likeliest images of one class or cluster, confirmed a page at a time."""

from __future__ import annotations

import streamlit as st

from core import grid as grids
from core.errors import PenumbraError
from db import repository
from db.repository import ProjectRow
from pages.components.annotate import rerun
from pages.components.grid import grid
from pages.parts import grid_turn, working
from pages.parts.state import database
from pages.parts.text import escape


def show(project: ProjectRow, person_id: int, source: str, domain: str | None = None) -> None:
    """The grid in place of the desk, or why there is none; `source` is the order that the desk has.

    A selection narrows it to its images, `domain` to a domain. What is leased for it goes back by `leave`.
    """
    refused = grid_turn.refusal(project, source)
    if refused is not None:
        st.info(escape(refused), icon=":material/visibility_off:")
        if st.button("One image at a time", type="primary", icon=":material/image:"):
            _to_desk(project.id, person_id)
        return
    _grid(project, person_id, source, domain)
    rerun(key="rerun-grid", on_at_change=lambda: None)


def leave(project_id: int, person_id: int) -> None:
    """Give back the images that the grid held for this person."""
    grids.leave(database(), project_id, person_id)


@st.fragment
def _grid(project: ProjectRow, person_id: int, source: str, domain: str | None) -> None:
    """Everything that must happen is done before the first call that Streamlit may interrupt."""
    key = f"grid-{project.id}-{person_id}-{source}-{domain or ''}"
    report = (st.session_state.get(key) or {}).get("report")
    before, pile = st.session_state.get(f"{key}-granted"), st.query_params.get("pile")
    try:
        sorted_pool = grids.grid_for(database(), project.id, source, domain)
        data, granted = grid_turn.turn(sorted_pool, project, person_id, report, before, pile)
    except PenumbraError as error:
        st.error(f"The images cannot be sorted: {escape(str(error))}. Answers are safe.")
        return
    st.session_state[f"{key}-granted"] = granted
    data |= _about(project, person_id, data, report)
    if granted.pile is not None and granted.pile != pile:
        st.query_params["pile"] = granted.pile
    result = grid(key=key, data=data, on_report_change=lambda: None, on_leave_change=lambda: None)
    if result.get("leave"):
        _to_desk(project.id, person_id)
    runs = working.current(project.id, "round") is not None
    if runs != st.session_state.get("round-shown", runs):  # somebody else started one: the header has to say so
        st.rerun(scope="app")


def _about(project: ProjectRow, person_id: int, data: dict, report) -> dict:
    """What stands around the tiles."""
    with database().read() as s:
        counts = repository.counts(s, project.id)
        shared = len(repository.shared(s, project.id)) if not data["piles"] else 0
        model = repository.latest_round(s, project.id)
        newer = repository.answers_since(s, project.id, model.label_watermark) if model else 0
    return {
        "scope": f"{project.id}:{person_id}",
        "classes": [{"id": each.id, "name": each.name} for each in project.classes],
        "facts": grid_turn.facts(counts, data["round"], newer),
        "end": grid_turn.end(data, len(grid_turn.passed(report)), counts, shared),
    }


def _to_desk(project_id: int, person_id: int) -> None:
    leave(project_id, person_id)
    for name in ("view", "pile"):
        st.query_params.pop(name, None)
    st.rerun(scope="app")
