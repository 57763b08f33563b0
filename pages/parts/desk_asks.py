"""What the desk asks once besides answers: other keys, a round, the grid. The reply is "" or why not, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from db.repository import ProjectRow
from pages.parts import desk_keys, working
from pages.parts.state import database

KEPT = 200  # replies that are remembered, so that what comes twice is done once


def answer(project: ProjectRow, person_id: int, asks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Do what is asked and was not done before; the replies by id."""
    done: dict[str, str] = st.session_state.setdefault("desk-asks", {})
    for ask in asks:
        if ask["id"] not in done:
            done[ask["id"]] = ""  # first: what follows may end this run
            done[ask["id"]] = _do(project, person_id, ask)
    while len(done) > KEPT:
        del done[next(iter(done))]
    return {ask["id"]: done[ask["id"]] for ask in asks}


def _do(project: ProjectRow, person_id: int, ask: Mapping[str, Any]) -> str:
    if ask.get("do") == "round":
        working.start(project.id, "round")
        return ""
    if ask.get("do") == "grid":
        st.query_params["view"] = "grid"
        st.rerun(scope="app")
    return desk_keys.change(database(), project, person_id, ask)
