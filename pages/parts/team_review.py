"""Review: images on which people differ, who said what, one press to decide. What people said stays as it is."""

from __future__ import annotations

from uuid import uuid4

import pandas as pd
import streamlit as st

from core import team
from core.errors import PenumbraError
from core.orders import DISAGREEMENTS
from core.team import TeamSettings
from db import repository
from db.repository import LabelKind, NewLabel, ProjectRow, Said, Verdict, VerdictState
from pages.parts.state import database, go
from pages.parts.team_pairs import class_pairs
from pages.parts.team_parts import (
    UNUSABLE,
    clicked,
    csv_button,
    empty,
    history,
    named,
    paged,
    picture,
    strong,
    tile,
)
from pages.parts.text import ago, count, escape

OPEN, DECIDED = "To decide", "Decided"
MOST_BUTTONS = 20  # classes with a button of their own; of more, those that were said, and a list
ALL = 100_000  # in a file
KEYS_HELP = "The same images one after the other on the Annotate page, each decided by the key of a class."


def show(project: ProjectRow, me: int) -> None:
    with database().read() as session:
        states = repository.verdict_counts(session, project.id)
    left = sum(states[each] for each in repository.TO_REVIEW)
    numbers = {OPEN: left, DECIDED: states[VerdictState.REVIEWED]}
    which = st.segmented_control(
        "Which images",
        list(numbers),
        default=OPEN,
        required=True,
        format_func=lambda each: f"{each} ({numbers[each]:,})",
        label_visibility="collapsed",
        key=f"review-which-{project.id}",
    )
    _last(project, me)
    item = _chosen(project, which)
    if item is None:
        _nothing(project, states, which)
    else:
        _decide(project, me, item)
        _queue(project, which, numbers[which], item)
    class_pairs(project)
    return None


def _states(which: str) -> tuple[VerdictState, ...]:
    return repository.TO_REVIEW if which == OPEN else (VerdictState.REVIEWED,)


def _chosen(project: ProjectRow, which: str) -> Verdict | None:
    """The image that was picked, as long as it is the project's and somebody answered it; else the first that waits."""
    picked = st.session_state.get(_memory(project))
    with database().read() as session:
        if picked is not None and repository.items_by_id(session, project.id, [picked]):
            found = repository.verdict(session, project.id, picked)
            if found is not None:
                return found
        first = repository.verdicts(session, project.id, _states(which), 0, 1)
    return first[0] if first else None


def _memory(project: ProjectRow) -> str:
    return f"review-item-{project.id}"


def _decide(project: ProjectRow, me: int, found: Verdict) -> None:
    with database().read() as session:
        said = repository.said(session, project.id, [found.item_id])[found.item_id]
        item = repository.item(session, found.item_id)
    image, words = st.columns([3, 2], gap="large")
    image.html(picture(item))
    with words:
        st.markdown(f"#### {_state(project, found)}")
        st.caption(f"image {found.item_id} · {count(found.wanted, 'person is', 'people are')} asked")
        _opinions(project, said)
        if TeamSettings.of(project.team).blind:
            st.caption("Labelled blind: nobody saw what the others said. What you decide here is a review, not a vote.")
        _buttons(project, me, found, said)
        with st.expander("History of this image"):
            history(project, found.item_id)


def _state(project: ProjectRow, found: Verdict) -> str:
    """How it stands, in words."""
    stands = strong(named(project, found.class_id))
    return {
        VerdictState.TIED: "A tie: nothing stands before you decide",
        VerdictState.DISPUTED: f"{stands} stands, and somebody said otherwise",
        VerdictState.REVIEWED: f"Decided: {stands}",
        VerdictState.WAITING: f"{stands} so far; more people are asked",
    }.get(found.state, f"{stands}: nobody said otherwise")


def _opinions(project: ProjectRow, said: list[Said]) -> None:
    for each in said:
        note = " · **review**" if each.review else "" if each.counted else " · kept, not counted: enough were asked"
        words = f"{escape(each.person or 'the folder')}: {strong(named(project, each.class_id))}"
        st.markdown(f"{words} :gray[{ago(each.at) if each.at else ''}{note}]")


def _buttons(project: ProjectRow, me: int, found: Verdict, said: list[Said]) -> None:
    """A button for each class, or for those that were said; none is chosen before."""
    votes = [each.class_id for each in said if each.counted and not each.review]
    many = len(project.classes) > MOST_BUTTONS
    shown = [each for each in project.classes if not many or each.id in votes]
    st.markdown("**It is**")
    with st.container(horizontal=True, gap="small", key="decide"):
        for each in shown:
            number = f" :gray[{votes.count(each.id)}]" if each.id in votes else ""
            if st.button(f"{escape(each.name)}{number}", key=f"decide-{found.item_id}-{each.id}"):
                _store(project, me, found, each.id)
        number = f" :gray[{votes.count(None)}]" if None in votes else ""
        if st.button(f"{UNUSABLE}{number}", key=f"decide-{found.item_id}-none", icon=":material/block:"):
            _store(project, me, found, None)
    if many:
        _other_class(project, me, found)


def _other_class(project: ProjectRow, me: int, found: Verdict) -> None:
    names = {each.id: each.name for each in project.classes}
    other = st.selectbox(
        "Another class",
        list(names),
        None,
        format_func=names.get,
        placeholder="type to search",
        key=f"other-{found.item_id}",
    )
    if other is not None:
        _store(project, me, found, other)


def _store(project: ProjectRow, me: int, found: Verdict, class_id: int | None) -> None:
    try:
        team.review(database(), project.id, me, found.item_id, class_id)
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
        return
    st.session_state[f"decided-{project.id}"] = (found.item_id, named(project, class_id))
    st.session_state.pop(_memory(project), None)
    st.rerun()


def _last(project: ProjectRow, me: int) -> None:
    """What was decided just now, and the way back."""
    item, name = st.session_state.get(f"decided-{project.id}", (None, ""))
    if item is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/check: Image {item} is {strong(name)}. What people said of it is kept.")
        if st.button("Undo", icon=":material/undo:", type="tertiary"):
            _take_back(project, me, item)


def _take_back(project: ProjectRow, me: int, item: int) -> None:
    event = NewLabel(f"review:{uuid4().hex}", item, LabelKind.UNDO, source=repository.REVIEW)
    with database().write() as session:  # which checks the role, as for every review
        (stored,) = repository.record(session, project.id, me, [event])
    st.session_state.pop(f"decided-{project.id}", None)
    if not stored.accepted:
        st.error(escape(stored.reason), icon=":material/error:")
        return
    st.session_state[_memory(project)] = item
    st.rerun()


def _queue(project: ProjectRow, which: str, total: int, shown: Verdict) -> None:
    def read(offset: int, limit: int) -> tuple[int, list[Verdict]]:
        with database().read() as session:
            return total, repository.verdicts(session, project.id, _states(which), offset, limit)

    words, press = st.columns([5, 1.6], vertical_alignment="center")
    words.markdown(f"**{count(total, 'image')}** {which.lower()} :gray[ties first; click one to see it above]")
    if which == OPEN and press.button("Decide with keys", icon=":material/keyboard:", help=KEYS_HELP, width="stretch"):
        go("annotate", project.id, order=DISAGREEMENTS)
    _, rows = paged(f"review-{project.id}-{which}", read)
    tiles = [_tile(project, row, row.item_id == shown.item_id) for row in rows]
    picked = clicked(f"review-tiles-{project.id}", tiles)
    if picked is not None and picked != shown.item_id:
        st.session_state[_memory(project)] = picked
        st.rerun()
    csv_button(lambda: _table(project, which), "reviews")


def _tile(project: ProjectRow, row: Verdict, here: bool) -> dict:
    text = "tie" if row.state == VerdictState.TIED else named(project, row.class_id)
    note = f"{count(row.votes, 'vote')}, {count(row.options, 'answer')}"
    return tile(row.item_id, row.sha256, f"▸ {text}" if here else text, note)


def _table(project: ProjectRow, which: str) -> pd.DataFrame:
    with database().read() as session:
        rows = repository.verdicts(session, project.id, _states(which), 0, ALL)
    lines = [
        (
            r.item_id,
            r.sha256,
            str(r.state),
            r.votes,
            r.uncounted,
            "" if r.label_id is None else named(project, r.class_id),
        )
        for r in rows
    ]
    return pd.DataFrame(lines, columns=["image", "sha256", "state", "votes", "kept, not counted", "stands"])


def _nothing(project: ProjectRow, states: dict[VerdictState, int], which: str) -> None:
    if which == DECIDED:
        st.write("Nothing was decided yet.")
        return
    if TeamSettings.of(project.team).overlap or states[VerdictState.REVIEWED]:
        waiting = count(states[VerdictState.WAITING], "image")
        words = f"No image is in conflict. {waiting} still wait for another person's answer."
        return empty(words, "Label images", page="annotate", project_id=project.id)
    words = "No image is in conflict: each is asked of one person only, so nobody can say otherwise."
    return empty(words, "Ask some images of several", view="settings")
