"""The images behind a mark of a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from pages.parts.routes import url
from pages.parts.text import count

MOST = 12
CONFIG = {"displayModeBar": False}
_TILE = '<img src="{}" alt="" loading="lazy" style="width:100%;aspect-ratio:1;object-fit:cover;border-radius:6px">'


def clickable(figure: Callable, memory: str, newest: str | None = None) -> int | None:
    """A chart, `figure(chosen)`, and the mark that was clicked last in it: the first of the mark's customdata.

    A chart keeps what was selected in its other half, so each choice makes a new chart that marks it instead. Of charts
    that share `newest`, only the one that was clicked last has a mark.
    """
    chosen = st.session_state.get(memory) if newest is None or st.session_state.get(newest) == memory else None
    key = f"{memory}-{chosen}"
    event = st.plotly_chart(figure(chosen), config=CONFIG, key=key, on_select="rerun", selection_mode="points")
    clicked = chosen_mark(event)
    if clicked is not None and clicked != chosen:
        st.session_state[memory] = clicked
        if newest is not None:
            st.session_state[newest] = memory
        st.rerun()
    return chosen


def chosen_mark(event) -> int | None:
    """The first of the customdata of the mark that was clicked, of several the last."""
    points = (event or {}).get("selection", {}).get("points", [])
    data = points[-1].get("customdata") if points else None
    return int(data[0]) if data else None


def bin_of(confidence: float, bins: pd.DataFrame) -> int:
    """The number of the bin (lower, upper] that holds it, as core.metrics.binned puts it."""
    return int(np.searchsorted(bins["upper"].to_numpy()[:-1], confidence - 1e-7, side="left"))


def tiles(shown: Sequence[tuple[str, str]], across: int = 4) -> None:
    """Images by (sha256, caption in Markdown), four in a row."""
    for start in range(0, len(shown), across):
        for place, (sha256, caption) in zip(st.columns(across), shown[start : start + across], strict=False):
            place.html(_TILE.format(url(sha256, 256)))  # a hash only: nothing a person wrote
            place.caption(caption)


def some_tiles(shown: Sequence[tuple[str, str]], across: int = 4, most: int = MOST) -> None:
    """The first of the images, and how many are not shown."""
    tiles(shown[:most], across)
    if len(shown) > most:
        st.caption(f"and {count(len(shown) - most, 'more image')}")
