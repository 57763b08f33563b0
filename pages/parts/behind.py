"""The images behind a mark of a chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import PenumbraError
from core.workspace import Prediction, predictions
from db import repository
from db.repository import RoundRow
from pages.parts.routes import url
from pages.parts.state import database
from pages.parts.text import count, escape, percent

MOST = 12
_TILE = '<img src="{}" alt="" loading="lazy" style="width:100%;aspect-ratio:1;object-fit:cover;border-radius:6px">'


def chosen_bin(event) -> int | None:
    """The bin of the mark that was clicked, of several the last."""
    points = (event or {}).get("selection", {}).get("points", [])
    data = points[-1].get("customdata") if points else None
    return int(data[0]) if data else None


def behind_bin(row: RoundRow, bins: pd.DataFrame, number: int | None) -> None:
    """Test images whose confidence falls into bin `number`, the wrong ones first."""
    if number is None or number not in bins.index:
        st.caption("Click a point or a bar to see its images.")
        return
    try:
        inside = [each for each in _predictions(row) if bin_of(each.confidence, bins) == number]
    except PenumbraError as error:
        st.caption(escape(str(error)))
        return
    lower, upper = bins.loc[number, ["lower", "upper"]]
    wrong = sum(not each.correct for each in inside)
    st.markdown(f"**{count(len(inside), 'image')}** where it says {percent(lower)} to {percent(upper)}, {wrong} wrong")
    _tiles(row.project_id, sorted(inside, key=lambda each: (each.correct, -each.confidence))[:MOST])


def bin_of(confidence: float, bins: pd.DataFrame) -> int:
    """The number of the bin (lower, upper] that holds it, as core.metrics.binned puts it."""
    return int(np.searchsorted(bins["upper"].to_numpy()[:-1], confidence - 1e-7, side="left"))


def _tiles(project_id: int, shown: list[Prediction]) -> None:
    with database().read() as session:
        names = {each.position: each.name for each in repository.project(session, project_id).classes}
    tiles([(each.item.sha256, _said(each, names)) for each in shown])


def _said(each: Prediction, names: dict[int, str]) -> str:
    truth = "" if each.correct else f", is {escape(names[each.actual])}"
    return f"{'✓' if each.correct else '✗'} {escape(names[each.predicted])}{truth} · {percent(each.confidence)}"


def tiles(shown: Sequence[tuple[str, str]]) -> None:
    """Images by (sha256, caption in Markdown), four in a row."""
    for start in range(0, len(shown), 4):
        for place, (sha256, caption) in zip(st.columns(4), shown[start : start + 4], strict=False):
            place.html(_TILE.format(url(sha256, 256)))  # a hash only: nothing a person wrote
            place.caption(caption)


def _predictions(row: RoundRow) -> list[Prediction]:
    return _kept(row.project_id, row.number, row.id)


@st.cache_data(max_entries=8, show_spinner="Looking up the images …")
def _kept(project_id: int, number: int, round_id: int) -> list[Prediction]:
    """`round_id` is never used again, so what is kept under it stays true."""
    return predictions(database(), project_id, number)
