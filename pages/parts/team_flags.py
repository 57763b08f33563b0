"""Flags: images that somebody left a note on, and the way to settle them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.errors import PenumbraError
from core.people import settle_flag
from db import repository
from db.repository import FlagRow, ProjectRow
from db.repository.behind import settled_flags
from pages.parts.saying import say_and_rerun
from pages.parts.state import database
from pages.parts.team_parts import csv_button, empty, history, paged, strong, thumbnail
from pages.parts.text import ago, count, escape

ON_A_PAGE = 8
ALL = 10_000  # in a file


def show(project: ProjectRow, me: int) -> None:
    with database().read() as session:
        numbers = {False: repository.open_flags(session, project.id), True: settled_flags(session, project.id)}
    settled = st.toggle(f"Show the settled ones ({numbers[True]:,})", key=f"settled-{project.id}")

    def read(offset: int, limit: int) -> tuple[int, list[FlagRow]]:
        with database().read() as session:
            return numbers[settled], repository.flags(session, project.id, settled, offset, limit)

    if not numbers[settled]:
        words = "No flag was settled yet." if settled else "No flag is open. Press f while labelling to leave a note."
        return empty(words, "Label images", page="annotate", project_id=project.id)
    st.markdown(f"**{count(numbers[settled], 'flag')}** {'settled' if settled else 'open'}, the newest first")
    for row in paged(f"flags-{project.id}-{settled}", read, ON_A_PAGE)[1]:
        with st.container(border=True, key=f"flag-{row.id}"):
            _flag(project, me, row)
    _file(project, settled)
    return None


def _flag(project: ProjectRow, me: int, row: FlagRow) -> None:
    image, words = st.columns([1, 4], gap="medium")
    image.html(thumbnail(row.sha256))
    with words:
        st.markdown(escape(row.note))
        st.caption(f"{escape(row.person)} · {ago(row.created_at)} · image {row.item_id}")
        if row.settled_by is None:
            _settle(project, me, row)
        else:
            how = f": {escape(row.settled_note)}" if row.settled_note else ""
            st.markdown(
                f":material/check: Settled by {strong(row.settled_by)}, {ago(row.settled_at or row.created_at)}{how}"
            )
        with st.expander("What was said of this image"):
            history(project, row.item_id)


def _settle(project: ProjectRow, me: int, row: FlagRow) -> None:
    with st.form(f"settle-{row.id}", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            note = st.text_input("How it was settled", max_chars=500, placeholder="a few words, if you like")
            pressed = st.form_submit_button("Settle", icon=":material/check:")
        if pressed:
            try:
                settle_flag(database(), project.id, me, row.id, note)
            except PenumbraError as error:
                st.error(escape(str(error)), icon=":material/error:")
                return
            say_and_rerun("The flag is settled.")


def _file(project: ProjectRow, settled: bool) -> None:
    columns = ["image", "person", "note", "at", "settled by", "settled note", "settled at"]

    def table() -> pd.DataFrame:
        with database().read() as session:
            rows = repository.flags(session, project.id, settled, 0, ALL)
        lines = [(r.item_id, r.person, r.note, r.created_at, r.settled_by, r.settled_note, r.settled_at) for r in rows]
        return pd.DataFrame(lines, columns=columns)

    csv_button(table, "flags")
