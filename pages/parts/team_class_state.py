"""The classes as they are: keys, answers, their history, and what is stale after a change, with the way to renew it."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import streamlit as st

from core.classes import texts_missing
from db import repository
from db.repository import ClassChangeKind, ClassChangeRow, ProjectRow
from pages.parts import working
from pages.parts.desk_keys import keys_for
from pages.parts.state import database
from pages.parts.team_parts import csv_button, paged
from pages.parts.text import count, escape
from pages.parts.who import Role, may

DONE = {
    ClassChangeKind.ADD: "added",
    ClassChangeKind.RENAME: "renamed",
    ClassChangeKind.MERGE: "merged into",
    ClassChangeKind.DELETE: "deleted",
}


def table(project: ProjectRow, me: int) -> None:
    """The classes by position, with this person's keys and how many answers stand."""
    with database().read() as session:
        answers = Counter(repository.answers(session, project.id).values())
    keys = keys_for(database(), project, me).classes
    lines = [(keys.get(each.id, ""), each.name, answers[each.position]) for each in project.classes]
    frame = pd.DataFrame(lines, columns=["key", "class", "answers"])
    st.markdown(f"**{count(len(project.classes), 'class', 'classes')}**")
    narrow = {"key": st.column_config.Column(width=50), "answers": st.column_config.Column(width=80)}
    height = min(38 + 35 * len(lines), 460)
    st.dataframe(frame, hide_index=True, width="stretch", height=height, column_config=narrow)
    csv_button(lambda: frame, "classes")


def renewals(project: ProjectRow) -> None:
    """What is stale since the classes changed, and the button that renews it; nothing where all is new."""
    if running := working.current(project.id, "prepare") or working.current(project.id, "round"):
        working.show_progress(running)
        return
    with database().read() as session:
        newest = repository.latest_round(session, project.id)
    if newest is None:
        return
    missing = texts_missing(database(), project.id)
    if missing:
        _texts(project, missing)
    elif newest.class_version < project.class_version:
        working.show_failure(working.last(project.id, "round"))
        words, press = st.columns([5, 1.6], vertical_alignment="center")
        words.warning(
            f"Model {newest.number} learned the classes of before: its figures, scores and map are of those. "
            "A round learns the new ones and measures them.",
            icon=":material/history:",
        )
        if press.button("Start round", type="primary", icon=":material/model_training:", width="stretch"):
            working.start(project.id, "round")
            st.rerun()


def _texts(project: ProjectRow, missing: list[str]) -> None:
    working.show_failure(working.last(project.id, "prepare"))
    words, press = st.columns([5, 1.6], vertical_alignment="center")
    names = ", ".join(escape(each) for each in missing[:10])
    words.warning(
        f"The model has not read what {names} {'is' if len(missing) == 1 else 'are'} called: nothing can be ranked or "
        "labelled before it has. Answers are safe.",
        icon=":material/history:",
    )
    if not may(Role.OWNER):
        press.caption("An owner can renew them.")
    elif press.button("Read the texts", type="primary", icon=":material/play_arrow:", width="stretch"):
        working.start(project.id, "prepare")
        st.rerun()


def past(project: ProjectRow) -> None:
    """Every change of the classes there ever was."""
    if not project.class_version:
        return

    def read(offset: int, limit: int) -> tuple[int, list[ClassChangeRow]]:
        with database().read() as session:
            return project.class_version, repository.class_changes(session, project.id, offset, limit)

    st.subheader("History")
    total, rows = paged(f"class-history-{project.id}", read, 20)
    columns = ["when", "who", "what", "class", "name since, or heir", "version"]
    when = {"when": st.column_config.DatetimeColumn(format="distance")}
    frame = pd.DataFrame([_line(row) for row in rows], columns=columns)
    st.dataframe(frame, hide_index=True, width="stretch", column_config=when)
    csv_button(lambda: pd.DataFrame(map(_line, read(0, total)[1]), columns=columns), "class-history")


def _line(row: ClassChangeRow) -> tuple:
    before = row.before if row.kind != ClassChangeKind.ADD else row.after
    after = "" if row.kind in (ClassChangeKind.ADD, ClassChangeKind.DELETE) else row.after
    return row.created_at, row.person, DONE[row.kind], before, after, row.version
