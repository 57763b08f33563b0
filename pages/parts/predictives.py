"""How good the probabilities are: every predictive of the newest model on one split, or on each domain by itself."""

from __future__ import annotations

import streamlit as st

from db import repository
from db.repository import ProjectRow
from pages.parts import scoring
from pages.parts.state import database
from pages.parts.text import escape

SPLITS = {"test": "test split", "validation": "validation split", "pool": "answers in the pool"}
EACH = "domains"


def predictives(project: ProjectRow, state: tuple[int, int]) -> None:
    """The section; nothing is measured before it is asked for."""
    st.subheader("How good are its probabilities?")
    with database().read() as session:
        several = len(repository.domains(session, project.id)) > 1
    choices = SPLITS | ({EACH: "each domain's test split"} if several else {})
    choice, start = st.columns([3, 1.2], vertical_alignment="bottom")
    split = choice.segmented_control("Measured on", list(choices), default="test", format_func=choices.get)
    kept = f"measured-{project.id}"
    if start.button("Measure", icon=":material/straighten:", width="stretch"):
        st.session_state[kept] = True
    if not st.session_state.get(kept) or split is None:
        st.caption("MAP, its temperature, augmentation at test time and the posterior, side by side.")
        return
    (_each_domain if split == EACH else _one_split)(project, state, split)


def _one_split(project: ProjectRow, state: tuple[int, int], split: str) -> None:
    found = scoring.evaluation(project.id, state, split)
    st.caption(scoring.measured_on(found))
    _table(scoring.predictive_table(found))
    st.markdown(scoring.doubt(found))
    _notes(found.notes)


def _each_domain(project: ProjectRow, state: tuple[int, int], _: str) -> None:
    found = scoring.by_domain(project.id, state)
    st.caption(scoring.measured_by_domain(found))
    st.markdown(scoring.best_by_domain(found))
    _table(scoring.domain_table(found))
    _notes(found.notes)


def _table(table) -> None:
    columns = dict.fromkeys(("accuracy", "NLPD", "ECE", "Brier"), scoring.FEW_DIGITS) | {
        "ms an image": st.column_config.NumberColumn(format="%.1f"),
        "seconds": st.column_config.NumberColumn(format="%.1f", help="From the files to all probabilities."),
        "chosen on": st.column_config.NumberColumn(help="The validation images that chose τ and temperature."),
    }
    st.dataframe(table, hide_index=True, width="stretch", height="content", column_config=columns)


def _notes(notes: list[str]) -> None:
    for note in notes:
        st.caption(escape(note))
