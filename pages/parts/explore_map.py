"""What the map shows: places in a unit square, a mark for each image, the legend. Sent as packed arrays."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np

from core.acquisition.table import SCORES, Acquisition
from core.atlas import SHOWN, SPLITS
from db.repository import ProjectRow
from pages.parts.explore_pool import Pool

LEVELS = 24  # steps of a scale, as places.js draws them
NONE = 65535  # a mark that is none
FULL = 65535
MOST = 20_000  # images on the map: 0.3 MB
CATEGORIES = {
    "predicted": "predicted class",
    "known": "known class",
    "domain": "domain",
    "split": "split",
    "error": "right or wrong",
}
MEANINGS = {
    "predicted": "The class that the model takes for the likeliest.",
    "known": "What people answered; for validation and test images, the class that measures.",
    "domain": "The kind of image, by its folder.",
    "split": "Pool images are asked; validation and test images measure.",
    "error": "Whether the model's likeliest class is the known one.",
}
MAPS = {"neighbours": "neighbours (UMAP)", "directions": "main directions (PCA)"}
MAP_HELP = {
    "neighbours": "Images that the model holds for alike lie together; how far apart groups lie says little.",
    "directions": "The two directions in which the embeddings differ most; distances can be compared.",
}


@dataclass(frozen=True, slots=True)
class Marks:
    """A mark [N] for each image: of a category its number, of a scale its step; NONE without."""

    values: np.ndarray
    names: tuple[str, ...]  # of the categories
    none: str  # what NONE means
    scale: dict | None = None


def colourings() -> list[str]:
    return [*CATEGORIES, *map(str, SHOWN)]


def colouring(name: str) -> str:
    return CATEGORIES.get(name) or SCORES[Acquisition(name)].title


def meaning(name: str) -> str:
    """What a colour says, in one line."""
    return MEANINGS.get(name) or f"{colouring(name)}: {SCORES[Acquisition(name)].meaning}."


def places(pool: Pool, name: str) -> np.ndarray:
    """A map in the unit square [N, 2], rounded as it is sent; NaN where an image has no place."""
    laid = pool.atlas.maps[name].astype(float)
    low, high = np.nanmin(laid, axis=0), np.nanmax(laid, axis=0)
    return np.round((laid - low) / np.maximum(high - low, 1e-12) * FULL) / FULL


def marks(pool: Pool, project: ProjectRow, name: str) -> Marks:
    """What the colour `name` says of each image; never the class that a folder states for the pool."""
    found, classes = pool.atlas, tuple(each.name for each in project.classes)
    if name == "predicted":
        return Marks(_numbers(found.predicted), classes, "none")
    if name == "known":
        return Marks(_numbers(pool.known), classes, "not known")
    if name == "domain":
        return Marks(_numbers(found.domain), tuple(each or "no domain" for each in found.domains), "none")
    if name == "split":
        return Marks(_numbers(found.split), tuple(map(str, SPLITS)), "none")
    if name == "error":
        values = np.where(pool.known < 0, -1, np.where(pool.wrong(), 5, 2))  # vermilion and green of the palette
        return Marks(_numbers(values), ("", "", "right", "", "", "wrong"), "class not known")
    return _scaled(found.scores[Acquisition(name)], Acquisition(name))


def _numbers(values: np.ndarray) -> np.ndarray:
    return np.where(values < 0, NONE, values).astype(np.uint16)


def _scaled(values: np.ndarray, score: Acquisition) -> Marks:
    """Steps between the 2nd and 98th percentile: a few extremes would leave one colour for the rest."""
    finite = np.isfinite(values)
    low, high = (float(each) for each in np.percentile(values[finite], (2, 98))) if finite.any() else (0.0, 1.0)
    share = np.clip((np.where(finite, values, low) - low) / max(high - low, 1e-30), 0, 1)
    about = SCORES[score]
    unit = about.unit.split(",")[0].replace("none", "")
    scale = {"title": about.title, "low": low, "high": high, "unit": unit}
    return Marks(np.where(finite, np.round(share * (LEVELS - 1)), NONE).astype(np.uint16), (), "no score", scale)


def drawn(laid: np.ndarray, shown: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions of the images on the map: those shown that have a place, or as many as a browser moves with ease."""
    positions = np.flatnonzero(shown & np.isfinite(laid).all(axis=1))
    return positions if len(positions) <= MOST else np.sort(rng.choice(positions, MOST, replace=False))


def payload(pool: Pool, laid: np.ndarray, some: np.ndarray, seen: Marks, polygon: list | None) -> dict:
    """What the map in the browser is given of the images at positions `some`: packed numbers, no paths."""
    whole = np.round(laid[some] * FULL).astype("<u2")
    return {
        "x": _packed(whole[:, 0]),
        "y": _packed(whole[:, 1]),
        "ids": _packed(pool.atlas.ids[some].astype("<u4")),
        "marks": _packed(seen.values[some].astype("<u2")),
        "legend": {"names": list(seen.names), "none": seen.none},
        "scale": seen.scale,
        "polygon": polygon,
    }


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
