"""Gold items: images whose class is known, mixed in to check people. Marked from answered ones, taken off again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core import team
from core.errors import PenumbraError
from core.team import TeamSettings
from db.repository import GoldRow, ProjectRow
from db.repository.known import Known, answered, gold_page
from pages.parts.saying import say_and_rerun
from pages.parts.state import database
from pages.parts.team_parts import named, open_view, paged, thumbnail
from pages.parts.text import ago, count, escape, percent

ACROSS = 6
MARKED, TO_MARK = "Gold items", "Mark answered images"


def show(project: ProjectRow, me: int) -> None:
    with database().read() as session:
        number, _ = gold_page(session, project.id, 0, 0)
    _rule(project, number)
    which = st.segmented_control(
        "Which images",
        (MARKED, TO_MARK),
        default=MARKED if number else TO_MARK,
        required=True,
        label_visibility="collapsed",
        key=f"gold-which-{project.id}",
    )
    _marked(project, me) if which == MARKED else _to_mark(project, me)


def _rule(project: ProjectRow, number: int) -> None:
    share = TeamSettings.of(project.team).gold
    words, press = st.columns([5, 1.4], vertical_alignment="center")
    if share:
        words.markdown(
            f"**{count(number, 'gold item')}** · {percent(share)} of everybody's answers are asked on them, "
            "each of a person once. How often each is right is under People."
        )
    else:
        words.markdown(f"**{count(number, 'gold item')}**, and none is asked: the share of gold is 0 in the settings.")
    press.button("Share of gold", icon=":material/tune:", on_click=open_view, args=("settings",), width="stretch")


def _marked(project: ProjectRow, me: int) -> None:
    def read(offset: int, limit: int) -> tuple[int, list[GoldRow]]:
        with database().read() as session:
            return gold_page(session, project.id, offset, limit)

    total, rows = paged(f"gold-{project.id}", read)
    if not total:
        st.write("No image is gold yet: choose some whose class you are sure of under “Mark answered images”.")
        return
    gone = "its class was deleted"
    shown = [
        (row.item_id, row.sha256, named(project, row.class_id) if row.class_id else gone, ago(row.created_at))
        for row in rows
    ]
    ticked = _tick("gold", shown)
    _act(
        "Take off",
        [each for each in ticked if each],
        [row.item_id for row in rows],
        lambda items: team.unmark_gold(database(), project.id, me, items),
        "gold",
    )
    st.caption("Taken off, an image checks nobody any more; the class that was stated of it stands.")


def _to_mark(project: ProjectRow, me: int) -> None:
    def read(offset: int, limit: int) -> tuple[int, list[Known]]:
        with database().read() as session:
            return answered(session, project.id, offset, limit)

    total, rows = paged(f"to-gold-{project.id}", read)
    if not total:
        st.write("No answer stands yet that could be marked. Gold comes from images of which you are sure.")
        return
    st.markdown(f"**{count(total, 'image')}** with a class that stands, the newest first. Tick those you are sure of.")
    classes = {row.item_id: row.class_id for row in rows}
    ticked = _tick("mark", [(row.item_id, row.sha256, named(project, row.class_id), "") for row in rows])
    _act(
        "Mark as gold",
        ticked,
        list(classes),
        lambda items: team.mark_gold(database(), project.id, me, {item: classes[item] for item in items}),
        "mark",
    )
    st.caption("Marking states the class as a review: it stands from then on, whatever people answer there.")


def _tick(what: str, shown: Sequence[tuple[int, str, str, str]]) -> list[int]:
    """Thumbnails (item, sha256, class, note) with a box each; the items that are ticked."""
    ticked = []
    for start in range(0, len(shown), ACROSS):
        for place, (item, sha256, name, note) in zip(st.columns(ACROSS), shown[start : start + ACROSS], strict=False):
            with place:
                st.html(thumbnail(sha256))
                if st.checkbox(escape(name), key=f"{what}-{item}"):
                    ticked.append(item)
                if note:
                    st.caption(note)
    return ticked


def _act(words: str, ticked: list[int], page: list[int], do: Callable[[list[int]], None], key: str) -> None:
    """The two buttons: for those ticked, and for the whole page."""
    with st.container(horizontal=True):
        some = st.button(f"{words}: the {len(ticked)} ticked", disabled=not ticked, type="primary", key=f"{key}-ticked")
        all_ = st.button(f"{words}: all {len(page)} on this page", key=f"{key}-page")
    if not (some or all_):
        return
    try:
        do(ticked if some else page)
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
        return
    say_and_rerun(f"{words}: {count(len(ticked if some else page), 'image')}.")
