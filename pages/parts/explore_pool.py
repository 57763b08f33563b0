"""What Explore knows of every image, and which of them are asked for. Arrays of N, no Streamlit but its caches.

A pool image's class is what people answered; that of a validation or test image is what measures. The class that a
folder states for the pool is never read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import streamlit as st

from core import atlas
from core.acquisition.table import Acquisition
from core.atlas import SPLITS, Atlas
from db import repository
from db.repository import LabelKind, Split
from db.session import Database

STATES = ("unanswered", "answered", "set aside", "class known")
EVERYTHING = (0, 100)  # per cent of the images, by a score


@dataclass(frozen=True, slots=True)
class Pool:
    """Every encoded image; −1 is "none" in `answered` and `known`, which are class positions."""

    atlas: Atlas
    answered: np.ndarray
    aside: np.ndarray  # a standing skip
    known: np.ndarray  # answered, or measured

    def wrong(self) -> np.ndarray:
        """Known, and predicted otherwise."""
        return (self.known >= 0) & (self.known != self.atlas.predicted)

    def open(self) -> np.ndarray:
        """Of the pool, without an answer and not set aside: what a queue can ask."""
        return (self.atlas.split == SPLITS.index(Split.POOL)) & (self.answered < 0) & ~self.aside


@dataclass(frozen=True, slots=True)
class Facets:
    """What is asked for; empty means anything. `scores` are percentiles, lowest and highest."""

    splits: tuple[int, ...] = ()
    states: tuple[str, ...] = ()
    domains: tuple[int, ...] = ()
    known: tuple[int, ...] = ()
    predicted: tuple[int, ...] = ()
    errors: bool = False
    scores: Mapping[Acquisition, tuple[int, int]] = field(default_factory=dict)


@st.cache_resource(max_entries=6, show_spinner="Opening the map …")
def opened(path: str) -> Atlas:
    """An atlas, shared by all who look at it: its file never changes."""
    return atlas.load(Path(path))


def pool_of(database: Database, project_id: int, found: Atlas) -> Pool:
    """The atlas with the answers as they stand now."""
    with database.read() as s:
        standing = repository.standing(s, project_id)
        measured = [repository.measured(s, project_id, each) for each in (Split.VALIDATION, Split.TEST)]
    answers = {each.item_id: each.position for each in standing if each.kind == LabelKind.ANSWER}
    skipped = [each.item_id for each in standing if each.kind == LabelKind.SKIP]
    answered = _placed(found, {item: position for item, position in answers.items() if position is not None})
    known = np.maximum(answered, _placed(found, measured[0] | measured[1]))
    aside = np.zeros(len(found), dtype=bool)
    aside[found.positions(skipped)] = True
    return Pool(found, answered, aside, known)


def _placed(found: Atlas, classes: Mapping[int, int]) -> np.ndarray:
    values = np.full(len(found), -1, dtype=np.int16)
    items = np.fromiter(classes, dtype=np.int64, count=len(classes))
    items = items[np.isin(items, found.ids)]
    values[found.positions(items)] = [classes[int(item)] for item in items]
    return values


def asked(pool: Pool, facets: Facets) -> np.ndarray:
    """Which images [N] the facets let through."""
    found = pool.atlas
    keep = np.ones(len(found), dtype=bool)
    for values, wanted in (
        (found.split, facets.splits),
        (found.domain, facets.domains),
        (pool.known, facets.known),
        (found.predicted, facets.predicted),
    ):
        if wanted:
            keep &= np.isin(values, wanted)
    if facets.states:
        keep &= _in_states(pool, facets.states)
    if facets.errors:
        keep &= pool.wrong()
    for score, window in facets.scores.items():
        if tuple(window) != EVERYTHING:
            keep &= _within(found.scores[score], window)
    return keep


def _in_states(pool: Pool, states: Sequence[str]) -> np.ndarray:
    holds = {
        "unanswered": (pool.answered < 0) & ~pool.aside,
        "answered": pool.answered >= 0,
        "set aside": pool.aside,
        "class known": pool.known >= 0,
    }
    return np.logical_or.reduce([holds[each] for each in states])


def _within(values: np.ndarray, window: tuple[int, int]) -> np.ndarray:
    low, high = bounds(values, window)
    return (values >= low) & (values <= high)


def bounds(values: np.ndarray, window: tuple[int, int]) -> tuple[float, float]:
    """The scores at two percentiles, of the images that have one; NaN where none has."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return float("nan"), float("nan")
    low, high = np.percentile(finite, window, method="nearest")
    return float(low), float(high)


def inside(places: np.ndarray, polygon: Sequence[Sequence[float]]) -> np.ndarray:
    """Which of places [N, 2] lie in a polygon, by the even-odd rule."""
    x, y = places[:, 0], places[:, 1]
    odd = np.zeros(len(places), dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        for (ax, ay), (bx, by) in zip(polygon, [*polygon[-1:], *polygon[:-1]], strict=True):
            crosses = ((ay > y) != (by > y)) & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
            odd ^= crosses
    return odd


def highest(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Positions of the images `among` [N], the highest value first, those without a value last."""
    places = np.flatnonzero(among)
    mine = np.where(np.isfinite(values[places]), values[places], -np.inf)
    return places[np.argsort(-mine, kind="stable")]


def sound_polygon(value) -> list[list[float]] | None:
    """The outline that a browser sent, where it is one: 3 to 1,000 corners of two finite numbers."""
    if not isinstance(value, list) or not 3 <= len(value) <= 1000:
        return None
    try:
        corners = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None
    return corners.tolist() if corners.shape == (len(value), 2) and np.isfinite(corners).all() else None
