"""One turn of the labelling desk: take what the browser reports, store it, say what comes next. No Streamlit here.

The browser is not trusted: `events` checks every field, and the database checks item, class and person again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from core.acquisition.table import SCORES, Acquisition
from core.queue import MEASURE, Card, Queue
from db.repository import LEASE, Counts, LabelKind, NewLabel, ProjectRow, Recorded
from pages.parts.routes import url
from pages.parts.text import count, small

AHEAD = 13  # the image on screen and twelve behind it
MOST_AHEAD = 30  # for someone who answers faster than this computer replies
_KEY = re.compile(r"[0-9a-z]{1,40}:[0-9]{1,9}")
_MOST_MS = 24 * 3600 * 1000

NEVER_TRAINED_ON = "answers here are never trained on"


def title(source: str) -> str:
    """The field's name of an order."""
    return "to measure" if source == MEASURE else SCORES[Acquisition(source)].title


def meaning(source: str, score: float) -> str:
    """Why this image comes now, in one line: the field's name and value, then plain words."""
    if source == MEASURE:
        return f"Images to measure with: test and validation images without a known class; {NEVER_TRAINED_ON}."
    about = SCORES[Acquisition(source)]
    nats = " nats" if about.unit.startswith("nats") else ""  # other units are formulas: they are in the tooltip
    value = "" if about.unit == "none" else f" {small(score)}{nats}"
    return f"{title(source)}{value}: {about.meaning}."


def unit(source: str) -> str:
    """In what the order's score counts, in full; "" where it has no score."""
    return "" if source == MEASURE else SCORES[Acquisition(source)].unit.replace("none", "")


def events(report: Any) -> tuple[list[NewLabel], list[Recorded]]:
    """The sound events of a report {turn, events}, and a refusal of each other: no desk of ours wrote it."""
    listed = report.get("events") if isinstance(report, dict) else None
    read = [(each, _event(each)) for each in (listed if isinstance(listed, list) else [])]
    keys = [str(each.get("key")) for each, label in read if label is None and isinstance(each, dict)]
    sound = [label for _, label in read if label is not None]
    return sound, [Recorded(key, False, "this answer cannot be read") for key in keys]


def _event(each: Any) -> NewLabel | None:
    if not isinstance(each, dict) or not _KEY.fullmatch(str(each.get("key", ""))):
        return None
    kind, item = each.get("kind"), _whole(each.get("item"))
    if item is None or kind not in list(LabelKind):
        return None
    probability = each.get("guess_probability")
    return NewLabel(
        event_key=each["key"],
        item_id=item,
        kind=LabelKind(kind),
        class_id=_whole(each.get("class")),
        source=str(each.get("source"))[:40],
        lead_ms=_whole(each.get("lead_ms"), _MOST_MS),
        round_number=_whole(each.get("round")),
        suggested_class_id=_whole(each.get("guess")),
        suggested_probability=probability if isinstance(probability, float) and 0 <= probability <= 1 else None,
        suggestion_seen=each.get("seen") is True,
    )


def _whole(value: Any, most: int = 2**53) -> int | None:
    return value if type(value) is int and 0 <= value <= most else None


def acknowledged(outcome: Sequence[Recorded]) -> dict:
    """Keys that are in the database now, and those that will never be, with the reason."""
    refused = [{"key": each.event_key, "reason": each.reason} for each in outcome if not each.accepted]
    return {"saved": [each.event_key for each in outcome if each.accepted], "refused": refused}


def turn(queue: Queue, project_id: int, person_id: int, report: Any) -> dict:
    """Store the report's events and serve the next cards: all of a rerun that has to happen, in one piece."""
    labels, refused = events(report)
    outcome = [*(queue.apply(person_id, labels) if labels else []), *refused]
    number = _whole(report.get("turn")) if isinstance(report, dict) else None
    ahead = min(AHEAD + 2 * max(0, len(labels) - 1), MOST_AHEAD)  # several answers in one report: keys are fast
    cards = [shown(card, queue, project_id) for card in queue.serve(person_id, ahead)]
    return {"turn": number or 0, "cards": cards, **acknowledged(outcome)}


def shown(card: Card, queue: Queue, project_id: int) -> dict:
    """A card as the desk takes it; `why` is where its reasons are (pages/parts/reasons.py), "" where it has none."""
    guesses = [
        {"class": each.class_id, "name": each.name, "p": each.probability, "low": each.low, "high": each.high}
        for each in card.guesses
    ]
    return {
        "item": card.item_id,
        "view": url(card.sha256, 1600),
        "note": card.domain or "",  # never the path: its folders name the class
        "guesses": guesses,
        "unknown": card.epistemic_share,
        "meaning": meaning(queue.source, card.score),
        "unit": unit(queue.source),
        "why": "" if queue.source == MEASURE else f"/why/{project_id}/{queue.source}/{card.item_id}",
        "source": str(queue.source),
        "round": queue.round_number,
    }


def setting(project: ProjectRow, person_id: int) -> dict:
    """What stays while a person labels a project."""
    classes = [{"id": each.id, "name": each.name} for each in project.classes]
    return {"scope": f"{project.id}:{person_id}", "classes": classes}


def facts(counts: Counts, model: int | None, newer: int, left: int | None = None) -> dict:
    """How far it is; `left` images to measure with, where those are served."""
    name = "no model yet" if model is None else f"model {model}"
    name += "" if left is None else f" · {NEVER_TRAINED_ON}"
    return {"done": counts.answered, "total": counts.pool, "model": name, "newer": newer, "left": left}


def end(counts: Counts, now: datetime, left: int | None = None) -> dict:
    """Why there is no image to show, and what to do; `left` images to measure with, where those are served."""
    if left is not None:
        text = f"{count(left, 'image')} set aside or with others. " if left else "The next round measures with them. "
        return {"title": "No more images to measure with", "text": text + "Choose another order above."}
    if counts.pool == 0:
        return {"title": "No images to answer", "text": "This project has no images in its pool: see Projects."}
    if counts.answered + counts.skipped < counts.pool:
        until = (now + LEASE).strftime("%H:%M")
        text = f"{count(counts.leased, 'image')} on other screens. What is not answered there comes here by {until}."
        return {"title": "The rest is with others", "text": text}
    aside = f" {count(counts.skipped, 'image')} set aside." if counts.skipped else ""
    text = f"{count(counts.answered, 'answer')} of {counts.pool:,}.{aside} Start a round, so that the model learns."
    return {"title": "All done", "text": text}
