"""How far people agree: of all, beyond chance, and of every two; the images on which they differ."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core import people
from core.agreement import NOT_SHARED, Agreement
from core.people import TeamAgreement
from db import repository
from db.repository import ProjectRow, Vote
from db.repository.behind import differing
from pages.parts.behind import clickable
from pages.parts.state import database
from pages.parts.team_charts import kappas
from pages.parts.team_parts import clicked, csv_button, empty, look_at, named, paged, strong, tile
from pages.parts.text import count, escape, figure

MOST_PEOPLE = 20  # in a chart that can be read
MOST_NAMED = 5  # pairs without a figure
MEANINGS = {
    "raw": (
        "Raw agreement",
        "Share of the pairs of answers to one image that are the same. With few classes it is high by chance alone.",
    ),
    "fleiss": (
        "Fleiss’ κ",
        "Agreement beyond chance, any number of people, on the images with the commonest number of answers.",
    ),
    "krippendorff": (
        "Krippendorff’s α",
        "Agreement beyond chance, images with any number of answers: the one to report where numbers differ.",
    ),
}
SCALE = "Beyond chance: 1 is always the same, 0 as often as by chance, below 0 less often than that."


def show(project: ProjectRow, me: int) -> None:
    found = people.agreement(database(), project.id)
    st.caption(f"From everybody's own answers; reviews and “unusable” are none. {SCALE}")
    for place, name in zip(st.columns(3, gap="medium"), MEANINGS, strict=True):
        with place:
            _statistic(name, getattr(found, name))
    if found.raw.value is None:
        return _nothing(project)
    _pairs(project, found)
    return None


def _statistic(name: str, value: Agreement) -> None:
    title, meaning = MEANINGS[name]
    st.metric(title, figure(value.value), border=True)
    st.caption(f"{count(value.items, 'image')} · {meaning}" if value.value is not None else _why(value))


def _why(value: Agreement) -> str:
    """The reason of no value, as a sentence."""
    return f"Not defined: {escape(value.why)}."


def _nothing(project: ProjectRow) -> None:
    if project.team.get("overlap"):
        words = "Images are asked of several people. Agreement begins with the first that two answered."
        return empty(words, "Label images", page="annotate", project_id=project.id)
    return empty(f"Nothing to compare: {NOT_SHARED}.", "Ask some images of several", view="settings")


def _pairs(project: ProjectRow, found: TeamAgreement) -> None:
    st.subheader("Every two people")
    names = sorted({name for pair in found.cohen for name in pair})
    with database().read() as session:
        ids = {name: person for person, name in repository.people(session).items()}
    names.sort(key=ids.__getitem__)  # as core.agreement orders a pair
    st.caption("Cohen’s κ: agreement of two people beyond chance, on the images both answered.")
    chart, table = st.columns(2, gap="large")
    cell = None
    with chart:
        if 2 < len(names) <= MOST_PEOPLE:
            cell = clickable(lambda chosen: kappas(names, found.cohen, chosen), f"kappa-{project.id}")
            st.caption("Click a cell: the images on which the two differ appear below.")
    with table if 2 < len(names) <= MOST_PEOPLE else chart:
        _table(found)
        _undefined(found)
    pair = _chosen(found, None if cell is None else (names[cell % len(names)], names[cell // len(names)]))
    _differ(project, None if pair is None else (ids[pair[0]], ids[pair[1]]), pair)


def _table(found: TeamAgreement) -> None:
    lines = [
        {"one": one, "other": other, "κ": each.value, "images": each.items, "why not": each.why}
        for (one, other), each in found.cohen.items()
    ]
    frame = pd.DataFrame(lines)
    kappa = {"κ": st.column_config.NumberColumn(format="%.3f")}
    shown = frame.drop(columns="why not")
    st.dataframe(shown, hide_index=True, width="stretch", column_config=kappa, placeholder="–")
    csv_button(lambda: frame, "agreement")


def _undefined(found: TeamAgreement) -> None:
    """Why some pairs have no figure, in words; each reason once."""
    reasons: dict[str, list[str]] = {}
    for (one, other), each in found.cohen.items():
        if each.value is None:
            reasons.setdefault(each.why, []).append(f"{escape(one)} and {escape(other)}")
    for why, pairs in reasons.items():
        more = f" and {len(pairs) - MOST_NAMED} more pairs" if len(pairs) > MOST_NAMED else ""
        st.caption(f"No figure for {', '.join(pairs[:MOST_NAMED])}{more}: {escape(why)}.")


def _chosen(found: TeamAgreement, clicked_pair: tuple[str, str] | None) -> tuple[str, str] | None:
    """Whose images are shown: a pair that was clicked in the chart or chosen here, or everybody's."""
    pairs = [None, *found.cohen]
    first = pairs.index(clicked_pair) if clicked_pair in pairs else 0
    return st.selectbox(
        "Images on which they differ",
        pairs,
        first,
        format_func=lambda each: "all people" if each is None else f"{each[0]} and {each[1]}",
        key=f"differ-{clicked_pair}",
        width=420,
    )


def _differ(project: ProjectRow, ids: tuple[int, int] | None, pair: tuple[str, str] | None) -> None:
    def read(offset: int, limit: int) -> tuple[int, list[tuple[int, str]]]:
        with database().read() as session:
            return differing(session, project.id, people=ids, offset=offset, limit=limit)

    key = f"differ-{project.id}-{ids}"
    total, rows = paged(key, read)
    who = "people" if pair is None else f"{strong(pair[0])} and {strong(pair[1])}"
    st.markdown(f"**{count(total, 'image')}** on which {who} differ")
    said = _said(project, [item for item, _ in rows])
    look_at(project, clicked(key, [tile(item, sha256, said.get(item, "")) for item, sha256 in rows]))


def _said(project: ProjectRow, items: list[int]) -> dict[int, str]:
    """The different answers by item."""
    with database().read() as session:
        votes: list[Vote] = [each for each in repository.votes(session, project.id) if each.item_id in items]
    classes = {item: sorted({named(project, v.class_id) for v in votes if v.item_id == item}) for item in items}
    return {item: " / ".join(names) for item, names in classes.items()}
