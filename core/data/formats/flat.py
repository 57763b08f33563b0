"""One row for one image: the columns of the flat CSV, and what other people's columns mean.

The columns from `annotator` to `source` are worked out of the history for people to read; the history itself is kept
beside them as JSON, so that a file that came back is the same records. What has no column of its own is in `more`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.data.dataset import Event, Guess, Kind, Record, Status
from core.data.formats.answers import (
    clean,
    deciding,
    events_in,
    events_out,
    moment,
    number,
    parsed,
    settled,
    shown,
    votes,
)
from core.data.formats.places import placed
from core.data.json_stream import text
from core.data.scan import Split

FIGURES: dict[str, type] = {"item_id": int, "entropy": float, "bald": float, "epig": float, "round": int}
COLUMNS: tuple[str, ...] = (
    "item_id",
    "path",
    "sha256",
    "domain",
    "split",
    "label",
    "status",
    "annotator",
    "votes",
    "agreement",
)
COLUMNS += ("utc", "lead_ms", "source", "model_version", "probability", "entropy", "bald", "epig", "round")
COLUMNS += ("predicted", "stated", "history", "more")
OURS = frozenset({"path", "status", "stated", "history", "more"})
"""Columns by which a table is known for one of our own, whatever else was added to it."""

SPLITS = {"train": Split.POOL, "training": Split.POOL, "pool": Split.POOL, "test": Split.TEST, "testing": Split.TEST}
SPLITS |= dict.fromkeys(("val", "valid", "validation", "dev"), Split.VALIDATION)
ROLES: dict[str, tuple[str, ...]] = {
    "path": (
        *("path", "file_name", "filename", "file", "filepath", "file_path", "image_path", "image", "image_url", "img"),
        *("url", "uri", "src", "key"),
    ),
    "label": ("label", "class", "class_name", "category", "target", "labels", "answer", "choice"),
    "sha256": ("sha256",),
    "domain": ("domain",),
    "split": ("split", "subset", "partition", "set"),
    "annotator": ("annotator", "labeler", "labeller", "annotated_by", "completed_by", "user", "worker"),
    "utc": ("utc", "utc_time", "time", "timestamp", "created_at", "date"),
    "lead_ms": ("lead_ms",),
    "source": ("source",),
    "status": ("status",),
    "original": ("original",),
}


def row(record: Record) -> dict[str, Any]:
    """The record by column; None where nothing is known."""
    by, (count, agreement) = deciding(record), votes(record)
    figures = {name: _of_type(record.figures.get(name), kind) for name, kind in FIGURES.items()}
    more = {key: value for key, value in record.figures.items() if figures.get(key) is None and _is_known(value)}
    guess = record.guess
    return {
        "path": record.path,
        "sha256": record.sha256,
        "domain": record.domain,
        "split": None if record.split is None else record.split.value,
        "label": record.label,
        "status": record.status.value,
        "annotator": None if by is None else by.annotator,
        "votes": count if record.events else None,
        "agreement": agreement,
        "utc": None if by is None else moment(by.at),
        "lead_ms": None if by is None else by.lead_ms,
        "source": None if by is None else by.source,
        "model_version": guess and guess.model,
        "probability": guess and guess.probability,
        "predicted": guess and guess.label,
        "stated": record.stated,
        "history": text(events_out(record.events)) if record.events else None,
        "more": text(more) if more else None,
    } | figures


def labelled_row(record: Record) -> dict[str, Any]:
    """The same for those who read one column of labels: what is shown of an image that nobody answered, too."""
    found = row(record)
    return found if record.label is not None else found | {"label": shown(record)}


def record(values: Mapping[str, Any], root: Path, *, labels_shown: bool = False) -> Record:
    """The record of a row of our own; `labels_shown`: as `labelled_row` made it.

    A label that somebody added since to an image without one is a label. Raises InputError for a path that is none or
    leads out of `root`.
    """
    figures: dict[str, Any] = {name: _of_type(_read(values.get(name), kind), kind) for name, kind in FIGURES.items()}
    more = _json(values.get("more"))
    label, status = _text(values.get("label")), _status(_text(values.get("status")))
    found = Record(
        path=placed(values.get("path"), root, exactly=True),
        sha256=_text(values.get("sha256")),
        domain=_text(values.get("domain")),
        split=SPLITS.get(_text(values.get("split")) or ""),
        stated=_text(values.get("stated")),
        status=status,
        label=None if status is Status.UNLABELLED else label,
        events=events_in(_json(values.get("history"))),
        guess=_guess(values),
        figures={name: value for name, value in figures.items() if value is not None}
        | (more if isinstance(more, dict) else {}),
    )
    if status is Status.UNLABELLED and label not in (None, shown(found) if labels_shown else None):
        return replace(found, status=Status.LABELLED, label=label)
    return found


def roles(columns: tuple[str, ...]) -> dict[str, str]:
    """The role of each column that is understood, by what people call it; of several for one role the usual first."""
    plain = {_plain(column): column for column in reversed(columns)}
    found = {}
    for role, names in ROLES.items():
        known = [plain[name] for name in names if name in plain]
        if known:
            found[known[0]] = role
    return found


def foreign(values: Mapping[str, Any], known: Mapping[str, str], root: Path) -> Record:
    """The record of a row of someone else's, its columns by `known` roles; the class is what the source states.

    With the name of who answered it is that person's answer. Columns without a role become figures.
    """
    by_role = {role: values.get(column) for column, role in known.items()}
    label, split = _text(by_role.get("label")), _text(by_role.get("split"))
    rest = {name: _figure(value) for name, value in values.items() if name not in known and _is_figure(value)}
    if split is not None and split.lower() not in SPLITS:
        rest["split"] = split
    events = _answered(by_role, label)
    status, agreed = settled(events) if events else (Status.UNLABELLED, None)
    return Record(
        path=placed(path.get("path") if isinstance(path := by_role.get("path"), Mapping) else path, root),
        sha256=_text(by_role.get("sha256")),
        domain=_text(by_role.get("domain")),
        split=SPLITS.get((split or "").lower()),
        stated=None if events else label,
        status=status,
        label=agreed,
        events=events,
        figures=rest,
    )


def _answered(by_role: Mapping[str, Any], label: str | None) -> tuple[Event, ...]:
    person = _text(by_role.get("annotator"))
    if person is None or label is None:
        return ()
    lead = number(by_role.get("lead_ms"))
    at, source = parsed(by_role.get("utc")), _text(by_role.get("source")) or ""
    return (Event(person, Kind.ANSWER, label, at, None if lead is None else round(lead), source),)


def _guess(values: Mapping[str, Any]) -> Guess | None:
    label = _text(values.get("predicted"))
    if label is None:
        return None
    return Guess(label, number(values.get("probability")), _text(values.get("model_version")) or "")


def _plain(column: str) -> str:
    return column.strip().casefold().replace(" ", "_").replace("-", "_")


def _status(value: object) -> Status:
    return Status(value) if value in {each.value for each in Status} else Status.UNLABELLED


def _text(value: object) -> str | None:
    """A text, None for an empty one; what came as a whole number is written as one."""
    if value is None or value == "" or value != value:
        return None
    made = text(value) if isinstance(value, dict | list) else str(value)
    return clean(made)


def _figure(value: object) -> float | int | str | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _text(value)


def _json(value: object) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) and value else value
    except (json.JSONDecodeError, RecursionError):
        return None


def _read(value: object, kind: type) -> object:
    """What a cell of text stands for in a column of this kind."""
    try:
        return kind(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _of_type(value: object, kind: type) -> Any:
    """`value` if it is a `kind`; None for all else, an infinite number too."""
    if kind is float and type(value) in (int, float):
        return number(value)
    return value if type(value) is kind else None


def _is_figure(value: object) -> bool:
    """Whether there is something to keep; the bytes of an image within a table are none."""
    return not isinstance(value, bytes | bytearray) and _text(value) is not None


def _is_known(value: object) -> bool:
    return value is not None and (not isinstance(value, float) or math.isfinite(value))
