"""One image: what the model says of it, its scores, what was answered when, and what is most like it."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd
import streamlit as st

from core import atlas
from core.acquisition.table import SCORES
from core.errors import PenumbraError
from db import repository
from db.repository import ItemRow, LabelKind, NewLabel, ProjectRow, Split
from pages.parts.explore_grid import grid, open_image, tile
from pages.parts.explore_pool import Pool
from pages.parts.explore_search import to_item
from pages.parts.routes import url
from pages.parts.state import database, person
from pages.parts.text import escape, percent, small

LIKE = 6  # nearest images shown
KINDS = {LabelKind.ANSWER: "answer", LabelKind.SKIP: "set aside", LabelKind.UNDO: "taken back"}
_PICTURE = '<img src="{}" alt="The image" style="width:100%;max-height:62vh;object-fit:contain;border-radius:8px">'


def show_asked(project: ProjectRow, pool: Pool) -> None:
    """The image of `?image=`, where the project has it."""
    asked = st.query_params.get("image", "")
    if asked.isdecimal() and len(asked) < 10:
        with database().read() as session:
            rows = repository.items_by_id(session, project.id, [int(asked)])
        if rows:
            return _dialog(project, pool, rows[0])
        st.warning(f"This project has no image {int(asked)}.", icon=":material/warning:")
    return None


def _closed() -> None:
    st.query_params.pop("image", None)


@st.dialog("Image", width="large", on_dismiss=_closed)
def _dialog(project: ProjectRow, pool: Pool, item: ItemRow) -> None:
    left, right = st.columns([3, 2], gap="medium")
    left.html(_PICTURE.format(url(item.sha256, 1600)))  # a hash only: nothing a person wrote
    position = next(iter(pool.atlas.positions([item.id]).tolist()), None)
    with right:
        _facts(project, pool, item, position)
        _guesses(project, item)
        _answer(project, pool, item, position)
        if st.button("Find images like this", icon=":material/image_search:", width="stretch"):
            st.query_params["like"] = str(item.id)
            _closed()
            st.rerun()
    if position is not None:
        _scores(pool, position)
        _alike(project, pool, position)
    _history(project, item)


def _facts(project: ProjectRow, pool: Pool, item: ItemRow, position: int | None) -> None:
    """Its path only where its class is known: a folder's name states it."""
    parts = [f"image {item.id}", escape(item.domain) if item.domain else "no domain", f"{item.split} split"]
    st.markdown(" · ".join([*parts, f"{item.width} × {item.height} pixels"]))
    known = -1 if position is None else int(pool.known[position])
    if known < 0:
        why = "Its path is not shown before it is answered: the folder may name the class."
        st.caption(why if item.split == Split.POOL else "Its class is not known: the order “to measure” asks it.")
        return
    st.markdown(f"Known class: **{escape(project.classes[known].name)}**")
    st.caption(escape(item.path))


def _guesses(project: ProjectRow, item: ItemRow) -> None:
    try:
        found = atlas.guesses(database(), project.id, item)
    except PenumbraError as error:
        st.caption(f"The model says nothing of it: {escape(str(error))}")
        return
    st.markdown("**What the model says** :gray[probability of each class]")
    for position, probability in found:
        st.progress(min(1.0, probability), text=f"{escape(project.classes[position].name)} · {percent(probability)}")


def _answer(project: ProjectRow, pool: Pool, item: ItemRow, position: int | None) -> None:
    """Give or correct the answer right here; it joins the log like any other, with the guess as seen."""
    known = -1 if position is None else int(pool.known[position])
    someone = person()
    if someone is None:
        st.caption("To answer here, say who you are on the Annotate page.")
        return
    names = [each.name for each in project.classes]
    chosen = st.selectbox(
        "Correct the class" if known >= 0 else "Answer",
        range(len(names)),
        index=None,
        format_func=names.__getitem__,
        placeholder="choose a class",
        key=f"answer-{item.id}",
    )
    if st.button("Save answer", icon=":material/check:", disabled=chosen is None, width="stretch"):
        guess = None if position is None else int(pool.atlas.predicted[position])
        event = NewLabel(
            f"explore:{uuid.uuid4().hex}",
            item.id,
            LabelKind.ANSWER,
            project.classes[chosen].id,
            source="explore",
            round_number=pool.atlas.round,
            suggested_class_id=None if guess is None else project.classes[guess].id,
            suggested_probability=None if position is None else float(pool.atlas.probability[position]),
            suggestion_seen=True,
        )
        with database().write() as session:
            said = repository.record(session, project.id, someone[0], [event])
        if said[0].accepted:
            st.rerun()
        st.error(escape(said[0].reason))


def _scores(pool: Pool, position: int) -> None:
    lines = []
    for score, values in pool.atlas.scores.items():
        value, finite = float(values[position]), values[np.isfinite(values)]
        if np.isfinite(value):
            above = f"{percent(float((finite < value).mean()))} of the images"
            lines.append((SCORES[score].title, small(value), SCORES[score].unit, above, SCORES[score].meaning))
    with st.expander(f"Scores by model {pool.atlas.round}"):
        columns = ["score", "value", "unit", "higher than", "what it says"]
        st.dataframe(pd.DataFrame(lines, columns=columns), hide_index=True, width="stretch")


def _alike(project: ProjectRow, pool: Pool, position: int) -> None:
    similar = to_item(str(pool.atlas.path), position)
    order = [each for each in np.argsort(-similar, kind="stable").tolist() if each != position][:LIKE]
    st.markdown("**Most like it** :gray[cosine of the embeddings]")
    shown = [tile(project, pool, each) | {"note": f"cosine {similar[each]:.2f}", "tone": ""} for each in order]
    if open_image(grid(f"alike-{position}", shown)):
        st.rerun()


def _history(project: ProjectRow, item: ItemRow) -> None:
    with database().read() as session:
        rows = repository.history(session, item.id)
    st.markdown("**History** :gray[every answer ever given, newest first]")
    if not rows:
        st.caption("Nobody has answered it yet.")
        return
    names = {each.id: each.name for each in project.classes}
    lines = [
        {
            "when": row.created_at,
            "who": row.person,
            "what": KINDS.get(row.kind, str(row.kind)),
            "class": names.get(row.class_id or 0, "" if row.class_id is None else "a class of before"),
            "model": row.round_number,
            "asked by": row.source,
            "guess then": names.get(row.suggested_class_id or 0, ""),
            "guess seen": row.suggestion_seen,
            "seconds": None if row.lead_ms is None else row.lead_ms / 1000,
        }
        for row in reversed(rows)
    ]
    when = {"when": st.column_config.DatetimeColumn(format="distance")}
    st.dataframe(pd.DataFrame(lines), hide_index=True, width="stretch", column_config=when)
