"""What people said of an image: what stands of it, and the history as plain values for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from core.data.dataset import Event, Guess, Kind, Record, Status
from core.data.scan import Split

FROM_STATUS = {Status.SKIPPED: Kind.LATER, Status.UNUSABLE: Kind.UNUSABLE}


def shown(record: Record) -> str | None:
    """The class an image goes under where a format has one place for it, None for none.

    The team's label; outside the pool else what the source states, as it is measured against. What the source states
    of the pool's images is hidden and never taken for a label, and nothing is shown that was skipped, is unusable or is
    still in conflict.
    """
    if record.status in (Status.SKIPPED, Status.UNUSABLE, Status.CONFLICT):
        return None
    if record.label is not None:
        return record.label
    return None if record.split is Split.POOL else record.stated


def standing(events: Sequence[Event]) -> list[Event]:
    """The last event of each person, oldest first, without those that took everything back."""
    return [events[at] for at in standing_at(events)]


def standing_at(events: Sequence[Event]) -> list[int]:
    """The places of these among the events."""
    last = {event.annotator: at for at, event in enumerate(events)}
    return sorted(at for at in last.values() if events[at].kind is not Kind.UNDO)


def settled(events: Sequence[Event]) -> tuple[Status, str | None]:
    """(status, label) that answers come to where nobody has decided: what all who answered agree on."""
    now = standing(events)
    labels = {event.label for event in now if event.kind is Kind.ANSWER}
    if len(labels) == 1:
        return Status.LABELLED, next(iter(labels))
    if labels:
        return Status.CONFLICT, None
    kinds = {event.kind for event in now}
    if Kind.UNUSABLE in kinds:
        return Status.UNUSABLE, None
    return (Status.SKIPPED if kinds else Status.UNLABELLED), None


def deciding(record: Record) -> Event | None:
    """The newest standing answer that says what the label is."""
    answers = [each for each in standing(record.events) if each.kind is Kind.ANSWER and each.label == record.label]
    return answers[-1] if answers else None


def votes(record: Record) -> tuple[int, float | None]:
    """(people whose answer stands, the share of them who gave the label)."""
    answers = [each for each in standing(record.events) if each.kind is Kind.ANSWER]
    if not answers or record.label is None:
        return len(answers), None
    return len(answers), sum(each.label == record.label for each in answers) / len(answers)


def moment(at: datetime | None) -> str | None:
    """A time in UTC as ISO 8601; one without a zone is taken for UTC."""
    if at is None:
        return None
    return (at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)).isoformat()


def parsed(text: object) -> datetime | None:
    """The time that a text in ISO 8601 tells, None for one that tells none."""
    try:
        at = datetime.fromisoformat(str(text).strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def events_out(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Events as values of JSON, what is not known left out."""
    return [
        _filled(
            annotator=each.annotator,
            kind=each.kind.value,
            label=each.label,
            utc=moment(each.at),
            lead_ms=each.lead_ms,
            source=each.source or None,
        )
        for each in events
    ]


def events_in(values: object) -> tuple[Event, ...]:
    """The events back; whatever is none is left out."""
    return tuple(_event(each) for each in values if _is_event(each)) if isinstance(values, list) else ()


def guess_out(guess: Guess | None) -> dict[str, Any] | None:
    """A guess as values of JSON."""
    return (
        None if guess is None else _filled(label=guess.label, probability=guess.probability, model=guess.model or None)
    )


def guess_in(value: object) -> Guess | None:
    """The guess back, None for what is none."""
    if not isinstance(value, Mapping) or not value.get("label"):
        return None
    return Guess(clean(str(value["label"])), number(value.get("probability")), str(value.get("model") or ""))


def clean(text: str) -> str:
    """The text with whatever cannot be written as UTF-8 replaced: JSON may hold half a character."""
    return text.encode("utf-8", "replace").decode()


def number(value: object) -> float | None:
    """A finite number, None for what is none."""
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if abs(found) != float("inf") and found == found else None


def _filled(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _is_event(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value.get("annotator"))
        and str(value.get("kind")) in {k.value for k in Kind}
    )


def _event(value: Mapping[str, Any]) -> Event:
    lead, label = number(value.get("lead_ms")), value.get("label")
    return Event(
        annotator=clean(str(value["annotator"])),
        kind=Kind(str(value["kind"])),
        label=None if label is None else clean(str(label)),
        at=parsed(value["utc"]) if value.get("utc") else None,
        lead_ms=None if lead is None else round(lead),
        source=str(value.get("source") or ""),
    )
