"""The tables. The database is the only truth; labels are an append-only log and the current answer is a view on it.

A trigger (db/migrations) refuses UPDATE and DELETE on `label`. A deleted project is therefore only archived: its rows
stay, its name is free again, and no query of db/repository shows it.

    project ─┬─< project_class
             ├─< item ──── reference (the folder's own class: read by metrics and the oracle, never by a ranking)
             │     └────< label >── person
             ├─< problem (a file that could not be taken in, and why)
             ├─< round   (one posterior: settings, labels' snapshot, checkpoint, metrics; number 0: as pre-trained)
             └─< job     (work for the worker process)
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import ClassVar

from sqlalchemy import (
    JSON,
    CheckConstraint,
    DateTime,
    Enum,
    ForeignKey,
    Index,
    MetaData,
    String,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class UtcTime(TypeDecorator):
    """A point in time: aware UTC in Python, naive UTC in the database (SQLite keeps no zone)."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value, dialect):
        return None if value is None else value.replace(tzinfo=UTC)


def now() -> datetime:
    return datetime.now(UTC)


class Split(StrEnum):
    POOL = "pool"
    VALIDATION = "validation"
    TEST = "test"


class LabelKind(StrEnum):
    ANSWER = "answer"
    SKIP = "skip"
    UNDO = "undo"


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


def _choice(kind: type[StrEnum]) -> Enum:
    """A column of text that takes and gives members of `kind`."""
    return Enum(
        kind, native_enum=False, length=16, values_callable=lambda members: [member.value for member in members]
    )


def _index_where(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={  # a later migration can only change what has a name
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        }
    )
    type_annotation_map: ClassVar = {
        datetime: UtcTime,
        dict: JSON,
        JobState: _choice(JobState),
        LabelKind: _choice(LabelKind),
        Split: _choice(Split),
    }


class Project(Base):
    __tablename__ = "project"
    __table_args__ = (_index_where("one_project_of_a_name", "name", where="archived_at IS NULL", unique=True),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    root: Mapped[str]  # the folder of images, which stay where they are
    model: Mapped[str]  # an encoder's name: "mini" or "architecture/pretrained"
    prompt: Mapped[str]  # "a photo of a {class}"
    prompt_weights: Mapped[dict | None]  # adopted prompts and their weights (core/prompting.py); None: `prompt` alone
    target_domain: Mapped[str | None]  # None: all domains are the target
    seed: Mapped[int] = mapped_column(default=0)
    drawn: Mapped[bool] = mapped_column(default=False)  # demo data, drawn by the program
    created_at: Mapped[datetime] = mapped_column(default=now)
    archived_at: Mapped[datetime | None]  # deleted by a person; the log of labels stays


class ProjectClass(Base):
    __tablename__ = "project_class"
    __table_args__ = (UniqueConstraint("project_id", "name"), UniqueConstraint("project_id", "position"))

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    position: Mapped[int]  # row of the class in logits and in the text embeddings
    name: Mapped[str]


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Item(Base):
    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("project_id", "path"),
        Index("item_by_split", "project_id", "split", "domain"),
        Index("item_by_sha256", "sha256"),
        _index_where("item_by_lease", "project_id", "lease_by", where="lease_by IS NOT NULL"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    path: Mapped[str]  # relative to the project's root, posix
    sha256: Mapped[str] = mapped_column(String(64))
    domain: Mapped[str | None]
    width: Mapped[int]
    height: Mapped[int]
    split: Mapped[Split]
    lease_by: Mapped[int | None] = mapped_column(ForeignKey("person.id"))
    lease_until: Mapped[datetime | None]


class Reference(Base):
    """The class that a folder's layout states: hidden in the pool, the measure in validation and test."""

    __tablename__ = "reference"

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), primary_key=True)
    class_id: Mapped[int] = mapped_column(ForeignKey("project_class.id"))


class Problem(Base):
    __tablename__ = "problem"
    __table_args__ = (UniqueConstraint("project_id", "path"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    path: Mapped[str]
    reason: Mapped[str]


class Label(Base):
    """One event of the append-only log; the last event of a person on an item is what stands."""

    __tablename__ = "label"
    __table_args__ = (
        Index(
            "label_by_item", "project_id", "item_id", "person_id", "id", "kind", "class_id"
        ),  # what stands, in one scan
        Index("label_by_project", "project_id", "id"),
        CheckConstraint("(kind = 'answer') = (class_id IS NOT NULL)", name="answer_has_class"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))  # the item's: read per project at every turn
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"))
    kind: Mapped[LabelKind]
    class_id: Mapped[int | None] = mapped_column(ForeignKey("project_class.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    lead_ms: Mapped[int | None]  # from the image on screen to the key
    round_number: Mapped[int | None]  # the model whose queue served the item
    source: Mapped[str]  # queue: "epig", "bald", …; "csv" for an import, "oracle" in tests
    suggested_class_id: Mapped[int | None] = mapped_column(ForeignKey("project_class.id"))
    suggested_probability: Mapped[float | None]
    suggestion_seen: Mapped[bool] = mapped_column(default=False)  # the "why" panel was open
    event_key: Mapped[str] = mapped_column(
        String(80), unique=True
    )  # "<browser session>:<seq>": sent twice, stored once


class Round(Base):
    __tablename__ = "round"
    __table_args__ = (UniqueConstraint("project_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    number: Mapped[int]  # 0: the pre-trained model
    label_watermark: Mapped[int]  # labels with a greater id came after this round
    labels: Mapped[int]  # answers used
    settings: Mapped[dict]
    seed: Mapped[int]
    fingerprint: Mapped[str]  # of the encoder
    checkpoint: Mapped[str]  # file name under the data folder
    metrics: Mapped[dict]
    versions: Mapped[dict]
    seconds: Mapped[float]
    created_at: Mapped[datetime] = mapped_column(default=now)


class Job(Base):
    __tablename__ = "job"
    __table_args__ = (
        _index_where(
            "one_active_job_of_a_kind", "project_id", "kind", where="state IN ('queued', 'running')", unique=True
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    kind: Mapped[str]  # "prepare" | "round" | "gaussians"
    payload: Mapped[dict]
    state: Mapped[JobState] = mapped_column(default=JobState.QUEUED)
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    message: Mapped[str] = mapped_column(default="")
    error: Mapped[str | None]
    cancel_asked: Mapped[bool] = mapped_column(default=False)
    attempts: Mapped[int] = mapped_column(default=0)  # a worker's death is forgiven once
    created_at: Mapped[datetime] = mapped_column(default=now)
    started_at: Mapped[datetime | None]
    heartbeat_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
