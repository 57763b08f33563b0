"""What the queries give and take: frozen values, alive after the session has ended."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from db.models import LabelKind, Split


@dataclass(frozen=True, slots=True)
class ClassRow:
    id: int
    position: int  # row in logits and text embeddings
    name: str


@dataclass(frozen=True, slots=True)
class ProjectRow:
    id: int
    name: str
    root: str
    model: str
    prompt: str
    target_domain: str | None
    seed: int
    drawn: bool
    created_at: datetime
    prompt_weights: dict | None = field(hash=False)
    classes: tuple[ClassRow, ...]  # by position


@dataclass(frozen=True, slots=True)
class NewItem:
    path: str  # relative to the project's root, posix
    sha256: str
    domain: str | None
    width: int
    height: int
    split: Split | str
    class_name: str | None = None  # what the folder's layout states


@dataclass(frozen=True, slots=True)
class ItemRow:
    id: int
    path: str
    sha256: str
    domain: str | None
    width: int
    height: int
    split: Split
    project_id: int


@dataclass(frozen=True, slots=True)
class ProblemRow:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class NewLabel:
    """An event as it comes from a page or an import; `event_key` makes sending it twice harmless."""

    event_key: str
    item_id: int
    kind: LabelKind | str
    class_id: int | None = None
    _: KW_ONLY
    source: str
    lead_ms: int | None = None
    round_number: int | None = None
    suggested_class_id: int | None = None
    suggested_probability: float | None = None
    suggestion_seen: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    event_key: str
    accepted: bool
    reason: str = ""  # why not, or "stored before"


@dataclass(frozen=True, slots=True)
class Standing:
    """The event that counts for an item."""

    item_id: int
    person_id: int
    kind: LabelKind
    class_id: int | None
    position: int | None
    label_id: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class LabelRow:
    id: int
    item_id: int
    person_id: int
    person: str
    kind: LabelKind
    class_id: int | None
    created_at: datetime
    lead_ms: int | None
    round_number: int | None
    source: str
    suggested_class_id: int | None
    suggested_probability: float | None
    suggestion_seen: bool
    event_key: str


@dataclass(frozen=True, slots=True)
class Given:
    """A person's answer, as the log has it."""

    item_id: int
    sha256: str
    person: str
    class_id: int
    source: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    pool: int
    answered: int  # pool items with a standing answer
    skipped: int  # pool items with a standing skip
    leased: int  # items on somebody's screen
    validation: int
    test: int
    problems: int
    answers_by_person: dict[str, int]  # name → standing answers in the pool


@dataclass(frozen=True, slots=True)
class Card:
    """A project at a glance."""

    project: ProjectRow
    counts: Counts
    cover: tuple[str, ...]  # sha256 of the first images
    active: tuple[str, ...]  # names of people with images on their screens


@dataclass(frozen=True, slots=True)
class RoundRow:
    id: int
    project_id: int
    number: int
    label_watermark: int
    labels: int
    settings: dict
    seed: int
    fingerprint: str
    checkpoint: str
    metrics: dict
    versions: dict
    seconds: float
    created_at: datetime
