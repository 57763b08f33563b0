"""Between which classes people differ, and the images of each pair."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from db import repository
from db.repository import ProjectRow
from db.repository.behind import ClassPair, differing
from db.repository.behind import class_pairs as pairs_of
from pages.parts.state import database
from pages.parts.team_parts import clicked, csv_button, named, paged, tile
from pages.parts.text import count, escape

MOST = 12  # pairs with a button


def class_pairs(project: ProjectRow) -> None:
    """The pairs of classes that were given to the same images, the most frequent first; a press shows the images."""
    with database().read() as session:
        pairs = pairs_of(session, project.id)
    if not pairs:
        return
    st.subheader("What is taken for what")
    st.caption(
        "Images to which people gave these two, decided ones too. Many of one pair: define the two, or merge them."
    )
    memory = f"class-pair-{project.id}"
    with st.container(horizontal=True, gap="small", key="class-pairs"):
        for pair in pairs[:MOST]:
            st.button(
                f"{_words(project, pair)} :gray[{pair.images}]",
                key=f"pair-{pair.one}-{pair.other}",
                on_click=lambda p=pair: st.session_state.update({memory: (p.one, p.other)}),
            )
    if len(pairs) > MOST:
        st.caption(f"and {count(len(pairs) - MOST, 'more pair')}, in the file")
    csv_button(lambda: _table(project, pairs), "class-pairs")
    chosen = next((each for each in pairs if (each.one, each.other) == st.session_state.get(memory)), None)
    if chosen is not None:
        _images(project, chosen)


def _words(project: ProjectRow, pair: ClassPair) -> str:
    return f"{escape(named(project, pair.one))} / {escape(named(project, pair.other))}"


def _images(project: ProjectRow, pair: ClassPair) -> None:
    def read(offset: int, limit: int) -> tuple[int, list[tuple[int, str]]]:
        with database().read() as session:
            return differing(session, project.id, classes=(pair.one, pair.other), offset=offset, limit=limit)

    key = f"pair-tiles-{project.id}-{pair.one}-{pair.other}"
    total, rows = paged(key, read)
    st.markdown(f"**{count(total, 'image')}** between {_words(project, pair)} :gray[click one to see it above]")
    with database().read() as session:
        found = {item: repository.verdict(session, project.id, item) for item, _ in rows}
    stands = {item: each for item, each in found.items() if each is not None and each.label_id is not None}
    tiles = [tile(i, sha, named(project, stands[i].class_id) if i in stands else "tie") for i, sha in rows]
    picked = clicked(key, tiles)
    if picked is not None and picked in found:
        st.session_state[f"review-item-{project.id}"] = picked
        st.rerun()


def _table(project: ProjectRow, pairs: list[ClassPair]) -> pd.DataFrame:
    lines = [(named(project, each.one), named(project, each.other), each.images) for each in pairs]
    return pd.DataFrame(lines, columns=["one", "other", "images"])
