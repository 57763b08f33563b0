"""What the queries give and take: frozen values, alive after the session has ended."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from db.base import ClassChangeKind, LabelKind, Role, Split, VerdictState


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
    team: dict = field(hash=False)  # core/team's settings
    class_version: int
    prompt_weights: dict | None = field(hash=False)
    classes: tuple[ClassRow, ...]  # by position
    source: dict | None = field(default=None, hash=False)  # core/sources' description; None: the folder `root`


@dataclass(frozen=True, slots=True)
class ClassChangeRow:
    id: int
    kind: ClassChangeKind
    class_id: int
    heir_id: int | None
    before: str | None  # the name until then
    after: str | None  # the name since; of a merge the heir's
    version: int
    person: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PersonRow:
    id: int
    name: str
    role: Role
    disabled: bool
    has_password: bool
    preferences: dict
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewItem:
    path: str  # relative to the project's root, posix
    sha256: str
    domain: str | None
    width: int
    height: int
    split: Split | str
    class_name: str | None = None  # what the folder's layout states
    size: int | None = None  # bytes of the file
    mtime_ns: int | None = None  # when it was last written to
    phash: int | None = None  # perceptual hash as a signed number; None: nothing to tell it by


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
    gone_at: datetime | None = None  # the content lies there no more: it cannot be shown


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
    at: datetime | None = None  # when it was said, of an event that comes with its history; None: now


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
class Verdict:
    """What the people say of an item together (db/repository/consensus)."""

    item_id: int
    wanted: int  # people to be asked
    votes: int  # that count; a review is none
    uncounted: int  # kept beyond those
    options: int  # how many different things they say
    state: VerdictState
    class_id: int | None  # what stands, as the class is called now; None: unusable, or nothing stands
    label_id: int | None  # the event that stands
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Vote:
    """What one person says of one item, as the class is called now."""

    item_id: int
    person_id: int
    class_id: int


@dataclass(frozen=True, slots=True)
class Said:
    """What one person says of one item, for others to read; a folder's statement has no person and no time."""

    item_id: int
    person_id: int | None
    person: str | None
    class_id: int | None  # as the class is called now; None: unusable
    class_name: str | None
    at: datetime | None
    counted: bool  # False: beyond the people who were to be asked
    review: bool  # it decides


@dataclass(frozen=True, slots=True)
class GoldRow:
    item_id: int
    class_id: int | None  # None: the class was deleted since
    person_id: int
    created_at: datetime
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class FlagRow:
    id: int
    item_id: int
    path: str
    sha256: str
    person: str
    note: str
    created_at: datetime
    settled_by: str | None  # None: open
    settled_note: str | None
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class Share:
    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """Between 0 and 1; None of nothing."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class PersonCounts:
    id: int
    name: str
    answers: int  # events, also those corrected or undone later
    unusable: int
    later: int
    undone: int
    reviews: int
    last_at: datetime
    blind: Share  # votes that are the model's guess, which they had not seen
    seen: Share  # the same where they had seen it
    gold: Share  # votes on gold items that are the known answer


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
    skipped: int  # pool items that stand as unusable
    leased: int  # items on somebody's screen
    validation: int
    test: int
    problems: int
    answers_by_person: dict[str, int]  # name → standing answers in the pool
    later: int = 0  # pool items that somebody passed for now and of which nothing stands


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
    class_version: int  # of the project when it was made
