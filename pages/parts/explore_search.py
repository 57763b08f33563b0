"""Search on the Explore page: by words, by an uploaded image, by an image of the project. What it found is kept."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import numpy as np
import streamlit as st

from core import search
from core.atlas import Atlas
from core.errors import PenumbraError
from db.repository import ProjectRow, RoundRow
from pages.parts.explore_pool import opened
from pages.parts.text import escape

NEAREST = (60, 120, 300, 1000)
MOST_BYTES = 50_000_000
WORDS_HELP = "Read by the project's own encoder, exactly as typed: “a red car at night”."


def search_row(project: ProjectRow, newest: RoundRow, found: Atlas) -> tuple[np.ndarray | None, int]:
    """The search fields; the similarity [N] of every image with what is looked for, and how many nearest to keep."""
    words, image, near = st.columns([5, 2.2, 1.6], vertical_alignment="bottom")
    typed = words.text_input(
        "Search by words",
        st.query_params.get("q", ""),
        placeholder="what is in the image?",
        help=WORDS_HELP,
        max_chars=search.MOST_WORDS,
        icon=":material/search:",
    )
    keep_in_address("q", typed.strip())
    with image.popover("Search by an image", icon=":material/image_search:", width="stretch"):
        sent = st.file_uploader("An image, read and forgotten", ["jpg", "jpeg", "png", "webp", "bmp", "gif", "tiff"])
    similar = _similar(project, newest, found, typed.strip(), sent)
    nearest = near.selectbox("Keep the nearest", NEAREST, 1, disabled=similar is None)
    return similar, nearest


def keep_in_address(name: str, value: str) -> None:
    """`?name=value`, or nothing for an empty value, so that a reload finds it."""
    if value and st.query_params.get(name) != value:
        st.query_params[name] = value
    elif not value and name in st.query_params:
        del st.query_params[name]


def _similar(project: ProjectRow, newest: RoundRow, found: Atlas, words: str, sent) -> np.ndarray | None:
    try:
        if sent is not None:
            return _to_file(project, newest, str(found.path), sent.getvalue())
        if (like := _like(found)) is not None:
            return to_item(str(found.path), like)
        return _to_words(project, newest, str(found.path), words) if words else None
    except PenumbraError as error:
        st.error(f"Nothing was searched: {escape(str(error))}", icon=":material/error:")
        return None


def _like(found: Atlas) -> int | None:
    """The position of the image in `?like=`, with a way to drop it."""
    asked = st.query_params.get("like", "")
    if not asked.isdecimal() or len(asked) > 18 or int(asked) not in found.ids:
        return None
    said, drop = st.columns([6, 1], vertical_alignment="center")
    position = int(found.positions([int(asked)])[0])
    said.caption(f"Images most like image {int(asked)}, the nearest first.")
    if drop.button("Stop", icon=":material/close:", type="tertiary"):
        del st.query_params["like"]
        st.rerun()
    return position


@st.cache_data(max_entries=8, show_spinner="Reading the words …")
def _to_words(_project: ProjectRow, _newest: RoundRow, path: str, words: str) -> np.ndarray:
    """`path` is of one model's atlas: what is kept under it stays true."""
    return search.similarity(opened(path).units(), search.by_words(_project, _newest, words)).numpy()


@st.cache_data(max_entries=8, show_spinner=False)
def to_item(path: str, position: int) -> np.ndarray:
    """Cosines of all images with one of them."""
    units = opened(path).units()
    return search.similarity(units, units[position].float()).numpy()


def _to_file(project: ProjectRow, newest: RoundRow, path: str, content: bytes) -> np.ndarray:
    return _to_content(project, newest, path, hashlib.sha256(content).hexdigest(), content)


@st.cache_data(max_entries=4, show_spinner="Reading the image …")
def _to_content(_project: ProjectRow, _newest: RoundRow, path: str, sha256: str, _content: bytes) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / sha256
        file.write_bytes(_content)
        return search.similarity(opened(path).units(), search.by_image(_project, _newest, file)).numpy()
