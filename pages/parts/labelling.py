"""One turn of the labelling desk: take what the browser reports, store it, say what comes next. No Streamlit here.

The browser is not trusted: `events` checks every field, and the database checks item, class and person again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.queue import Card, Narrow, Queue, Vote
from db import repository
from db.repository import LabelKind, NewLabel, ProjectRow, Recorded
from db.session import Database
from pages.parts.desk_words import is_scored, meaning, unit
from pages.parts.routes import url

AHEAD = 13  # the image on screen and twelve behind it
MOST_AHEAD = 30  # for someone who answers faster than this computer replies
MOST_NOTE = 500  # characters
MOST_ASKS = 50
_KEY = re.compile(r"[0-9a-z]{1,40}:[0-9]{1,9}")
_ASK = re.compile(r"[0-9a-z]{1,40}:a[0-9]{1,9}")
_MOST_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Desk:
    """Who labels what, and whether without seeing what the model and others say."""

    project: ProjectRow
    person_id: int
    blind: bool
    narrow: Narrow


@dataclass(frozen=True, slots=True)
class NewFlag:
    event_key: str
    item_id: int
    note: str


def events(report: Any) -> tuple[list[NewLabel], list[NewFlag], list[Recorded]]:
    """The sound answers and flags of a report {turn, events, asks}, and a refusal of each other: no desk of ours wrote
    it."""
    listed = report.get("events") if isinstance(report, dict) else None
    read = [(each, _event(each)) for each in (listed if isinstance(listed, list) else [])]
    keys = [str(each.get("key")) for each, event in read if event is None and isinstance(each, dict)]
    labels = [event for _, event in read if isinstance(event, NewLabel)]
    flags = [event for _, event in read if isinstance(event, NewFlag)]
    return labels, flags, [Recorded(key, False, "this answer cannot be read") for key in keys]


def asks(report: Any) -> list[dict]:
    """What the desk asks once besides answers: {id, do, …}."""
    listed = report.get("asks") if isinstance(report, dict) else None
    read = listed[:MOST_ASKS] if isinstance(listed, list) else []
    return [each for each in read if isinstance(each, dict) and _ASK.fullmatch(str(each.get("id", "")))]


def _event(each: Any) -> NewLabel | NewFlag | None:
    if not isinstance(each, dict) or not _KEY.fullmatch(str(each.get("key", ""))):
        return None
    kind, item = each.get("kind"), _whole(each.get("item"))
    if item is None:
        return None
    if kind == "flag":
        note = each.get("note")
        return NewFlag(each["key"], item, note) if isinstance(note, str) and 0 < len(note) <= MOST_NOTE else None
    return _label(each, item) if kind in list(LabelKind) else None


def _label(each: dict, item: int) -> NewLabel:
    probability = each.get("guess_probability")
    return NewLabel(
        event_key=each["key"],
        item_id=item,
        kind=LabelKind(each["kind"]),
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


def turn(database: Database, queue: Queue, desk: Desk, report: Any) -> dict:
    """Store the report's events and serve the next cards: all of a rerun that has to happen, in one piece."""
    labels, flags, refused = events(report)
    if desk.blind:
        labels = [replace(label, suggestion_seen=False) for label in labels]
    outcome = [*(queue.apply(desk.person_id, labels) if labels else []), *_flag(database, desk, flags), *refused]
    number = _whole(report.get("turn")) if isinstance(report, dict) else None
    ahead = min(AHEAD + 2 * max(0, len(labels) - 1), MOST_AHEAD)  # several answers in one report: keys are fast
    cards = [shown(card, queue, desk) for card in queue.serve(desk.person_id, ahead, desk.narrow)]
    return {"turn": number or 0, "cards": cards, "few": len(cards) < ahead, **acknowledged(outcome)}


def _flag(database: Database, desk: Desk, flags: Sequence[NewFlag]) -> list[Recorded]:
    """Store notes on images; one that cannot be stored stops no other."""
    outcome = []
    for flag in flags:
        where = desk.project.id, desk.person_id, flag.item_id
        try:
            with database.write() as session:
                repository.add_flag(session, *where, flag.note, event_key=flag.event_key)
            outcome.append(Recorded(flag.event_key, True))
        except (LookupError, ValueError) as error:
            outcome.append(Recorded(flag.event_key, False, str(error)))
    return outcome


def shown(card: Card, queue: Queue, desk: Desk) -> dict:
    """A card as the desk takes it; `why` is where its reasons are (pages/parts/reasons.py), "" where it has none.

    On a blind desk without anything that the model or others say of it.
    """
    guesses = [
        {"class": each.class_id, "name": each.name, "p": each.probability, "low": each.low, "high": each.high}
        for each in card.guesses
    ]
    has_reasons = is_scored(queue.source) and not desk.blind
    return {
        "item": card.item_id,
        "view": url(card.sha256, 1600),
        "full": url(card.sha256, "full"),
        "width": card.width,
        "height": card.height,
        "note": card.domain or "",  # never the path: its folders name the class
        "guesses": [] if desk.blind else guesses,
        "votes": [] if desk.blind else [_vote(vote) for vote in card.votes],
        "unknown": None if desk.blind else card.epistemic_share,
        "meaning": meaning(queue.source, card.score),
        "unit": unit(queue.source),
        "why": f"/why/{desk.project.id}/{queue.source}/{card.item_id}" if has_reasons else "",
        "source": str(queue.source),
        "round": queue.round_number,
    }


def _vote(vote: Vote) -> dict:
    counts = "" if vote.counted or vote.review else " (not counted)"
    return {"person": vote.person or "the folder", "name": (vote.class_name or "unusable") + counts}


def setting(desk: Desk) -> dict:
    """What stays while a person labels a project."""
    classes = [{"id": each.id, "name": each.name} for each in desk.project.classes]
    without = ["why"] if desk.blind else []
    return {"scope": f"{desk.project.id}:{desk.person_id}", "classes": classes, "without": without}
