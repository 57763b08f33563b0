"""What the labelling desk says: what an order is, why an image comes, how far it is, and why nothing comes."""

from __future__ import annotations

from core.acquisition.table import SCORES, Acquisition
from core.jobs import JobRow
from core.queue import MEASURE, is_selection
from db.repository import Counts
from pages.parts.text import count, small

NEVER_TRAINED_ON = "answers here are never trained on"


def title(source: str) -> str:
    """The field's name of an order."""
    if is_selection(source):
        return "chosen in Explore"
    return "to measure" if source == MEASURE else SCORES[Acquisition(source)].title


def meaning(source: str, score: float) -> str:
    """Why this image comes now, in one line: the field's name and value, then plain words."""
    if source == MEASURE:
        return f"Images to measure with: test and validation images without a known class; {NEVER_TRAINED_ON}."
    if is_selection(source):
        return "Chosen in Explore: these images were picked there, and come in the order they had."
    about = SCORES[Acquisition(source)]
    nats = " nats" if about.unit.startswith("nats") else ""  # other units are formulas: they are in the tooltip
    value = "" if about.unit == "none" else f" {small(score)}{nats}"
    return f"{title(source)}{value}: {about.meaning}."


def unit(source: str) -> str:
    """In what the order's score counts, in full; "" where it has no score."""
    return "" if source == MEASURE or is_selection(source) else SCORES[Acquisition(source)].unit.replace("none", "")


def facts(counts: Counts, model: int | None, newer: int, left: int | None = None) -> dict:
    """How far it is; `left` images to measure with, where those are served."""
    name = "no model yet" if model is None else f"model {model}"
    aside = "" if left is None else f" · {NEVER_TRAINED_ON}"
    return {"done": counts.answered, "total": counts.pool, "model": name, "newer": newer, "left": left, "aside": aside}


def under_way(job: JobRow | None, waits: str) -> dict | None:
    """A round that runs or waits, for the line of facts; None without one."""
    if job is None:
        return None
    share = min(1.0, job.done / job.total) if job.total else 0.0
    return {"share": share, "said": waits or "learning from the answers"}
