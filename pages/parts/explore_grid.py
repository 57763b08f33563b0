"""Pages of thumbnails, and the way from a choice of images to the queue that asks them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core.queue import SELECTION
from db import repository
from db.repository import ProjectRow
from pages.components.explore import image_grid
from pages.parts.explore_pool import Pool
from pages.parts.routes import url
from pages.parts.state import database, go
from pages.parts.text import count, percent

TILES = 60  # on a page
MOST_ASKED = 5000  # images that one choice can put into a queue
ASK_HELP = "A queue of these images, in the order below. Only pool images without an answer are asked."


@st.fragment
def page_of(project: ProjectRow, pool: Pool, positions: np.ndarray, key: str) -> None:
    """One page of these images, in their order; turning it runs nothing else of Explore. A click opens an image."""
    pages = max(1, -(-len(positions) // TILES))
    number = 1
    if pages > 1:
        number = st.pagination(pages, key=f"page-{key}")
    shown = [tile(project, pool, int(each)) for each in positions[(number - 1) * TILES : number * TILES]]
    if open_image(grid(f"grid-{key}", shown)):
        st.rerun()  # with the dialog, which is not of this part


def grid(key: str, tiles: Sequence[dict]) -> int | None:
    """Thumbnails; the id of the one that was clicked just now."""
    return whole_number(image_grid(key=key, data={"tiles": tiles}, on_open_change=lambda: None).get("open"))


def open_image(item_id: int | None) -> bool:
    """Put the image, where there is one, into the address, which opens it; whether there was."""
    if item_id is not None:
        st.query_params["image"] = str(item_id)
    return item_id is not None


def tile(project: ProjectRow, pool: Pool, position: int) -> dict:
    """What a thumbnail says: the guess, and the known class or where the image is from. Never a path."""
    found, names = pool.atlas, [each.name for each in project.classes]
    guess, known = int(found.predicted[position]), int(pool.known[position])
    note, tone = found.domains[found.domain[position]] or "", ""
    if known >= 0:
        note, tone = names[known], "right" if known == guess else "wrong"
    elif pool.aside[position]:
        note = "set aside"
    return {
        "id": int(found.ids[position]),
        "src": url(found.sha256(position), 256),
        "text": f"{names[guess]} · {percent(float(found.probability[position]))}",
        "note": note,
        "tone": tone,
    }


def ask_button(project: ProjectRow, pool: Pool, positions: np.ndarray, key: str) -> None:
    """“Label these 48”: keep the choice and open Annotate on it."""
    asked = positions[pool.open()[positions]] if len(positions) else positions
    some = asked[:MOST_ASKED]
    words = f"Label these {len(some):,}" if len(some) else "Label these"
    off = "Each of them has an answer, is set aside, or is no pool image." if len(positions) else "No image is chosen."
    pressed = st.button(
        words,
        type="primary",
        icon=":material/label:",
        disabled=not len(some),
        help=ASK_HELP if len(some) else off,
        key=f"ask-{key}",
        width="stretch",
    )
    if pressed:
        with database().write() as session:
            chosen = repository.add_selection(session, project.id, pool.atlas.ids[some].tolist())
        go("annotate", project.id, order=f"{SELECTION}{chosen}")


def said(positions: np.ndarray, pool: Pool) -> str:
    """“312 images, 280 of them to ask”."""
    open_ = int(pool.open()[positions].sum()) if len(positions) else 0
    return f"**{count(len(positions), 'image')}** · {open_:,} can be asked"


def whole_number(value) -> int | None:
    """A number that a browser sent, where it is one."""
    return value if type(value) is int and 0 <= value < 2**53 else None
