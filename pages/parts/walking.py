"""The way from one image over captions to [ROOT], step by step, in figures.

Axes: M captions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from core.prolip.inclusion import log_inclusion
from core.prolip.similarity import cosine
from core.prolip.traversal import STEPS, most_inclusive, walk
from core.values import ProlipEmbeddings

ROOT_NAME = "[ROOT]"


class Root(StrEnum):
    """What stands at the end of a walk."""

    EMPTY = "Empty text"
    INCLUSIVE = "Most inclusive caption"


@dataclass(frozen=True, slots=True)
class Stop:
    """A caption on the way: for how many of the steps it was the nearest, Σσ², its cosine with the image and
    H(image ⊂ caption) in nats. The root has no steps."""

    text: str
    steps: int
    uncertainty: float
    similarity: float
    inclusion: float


def way(
    image: ProlipEmbeddings, captions: ProlipEmbeddings, texts: list[str], root: Root, empty: ProlipEmbeddings
) -> list[Stop]:
    """From the image's own caption to the root, each run of one caption once. Raises ValueError without captions."""
    end = int(most_inclusive(image, captions)[0]) if root is Root.INCLUSIVE else None
    goal = empty if end is None else captions[end]
    positions = walk(image, captions, goal.mean[0])[0].tolist()
    runs = [(place, len(list(run))) for place, run in groupby(positions)]
    stops = [_stop(image, captions[place], texts[place], steps) for place, steps in runs]
    named = f"{ROOT_NAME} empty text" if end is None else f"{ROOT_NAME} {texts[end]}"
    return [*stops, _stop(image, goal, named, 0)]


def _stop(image: ProlipEmbeddings, caption: ProlipEmbeddings, text: str, steps: int) -> Stop:
    return Stop(
        text,
        steps,
        float(caption.uncertainty[0]),
        float(cosine(image, caption).clamp(-1, 1)[0, 0]),
        float(log_inclusion(image, caption)[0]),
    )


__all__ = ["ROOT_NAME", "STEPS", "Root", "Stop", "way"]
