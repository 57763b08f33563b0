"""What a format reads and writes: images by path with all that is known of each. Nothing is opened here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from core.data.scan import Ignored, Split


class Kind(StrEnum):
    """What a person said of an image: the kinds of the log of labels."""

    ANSWER = "answer"
    LATER = "later"
    UNUSABLE = "unusable"
    UNDO = "undo"


class Status(StrEnum):
    """How far an image is."""

    UNLABELLED = "unlabelled"
    LABELLED = "labelled"
    SKIPPED = "skipped"
    UNUSABLE = "unusable"
    CONFLICT = "conflict"


class Holds(StrEnum):
    """What a format can hold; what it cannot is listed before an export."""

    LABELS = "labels"
    CLASSES = "the order of the classes, and classes without an image"
    UNLABELLED = "images without a label"
    STATUS = "which images were skipped or unusable"
    DOMAIN = "domains"
    SPLIT = "splits"
    STATED = "the class that the source stated, beside the team's label"
    HISTORY = "who answered what and when"
    SCORES = "scores and the model's guesses"
    SHA256 = "the hash of each file's content"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of an image's history; `label` is given with an ANSWER alone. `at` is aware, in UTC."""

    annotator: str
    kind: Kind
    label: str | None = None
    at: datetime | None = None
    lead_ms: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Guess:
    """What a model takes an image for."""

    label: str
    probability: float | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One image. `path` is relative to the dataset's root, with / between the parts; names are as people wrote them.

    `stated` is the class that the source claims (a folder's name, a column): hidden in the pool, measured against in
    validation and test. `label` is what the team's answers come to; `events` are those answers, oldest first.
    `original` is the path that the image had before an export gave it another one.
    """

    path: str
    sha256: str | None = None
    domain: str | None = None
    split: Split | None = None
    stated: str | None = None
    status: Status = Status.UNLABELLED
    label: str | None = None
    events: tuple[Event, ...] = ()
    guess: Guess | None = None
    figures: Mapping[str, float | int | str | None] = field(default_factory=dict, hash=False)  # columns of their own
    original: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Images under one root. `records` can be gone through again and again and need not be in memory.

    `classes` are in their order; () where the source names none. `left_out` are files and lines that are no record.
    `local` finds a record's file where that is not `root / path`, as for images that are kept elsewhere.
    """

    root: Path
    classes: tuple[str, ...]
    records: Iterable[Record]
    left_out: tuple[Ignored, ...] = ()
    title: str = ""  # how the source was understood, for people
    local: Callable[[Record], Path] | None = None
