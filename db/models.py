"""The tables. The database is the only truth; labels are an append-only log and the current answer is a view on it.

    project ─┬─< project_class
             ├─< item ──── reference (the folder's own class: read by metrics and the oracle, never by a ranking)
             │     └────< label >── person
             ├─< problem (a file that could not be taken in, and why)
             ├─< round   (one posterior: settings, labels' snapshot, checkpoint, metrics; number 0 is the pre-trained model)
             └─< job     (work for the worker process)
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import JSON, DateTime, ForeignKey, Index, String, TypeDecorator, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


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


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcTime, dict: JSON}


class Project(Base):
    __tablename__ = "project"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    root: Mapped[str]  # the folder of images, which stay where they are
    model: Mapped[str]  # an encoder's name: "mini" or "architecture/pretrained"
    prompt: Mapped[str]  # "a photo of a {class}"
    target_domain: Mapped[str | None]  # None: all domains are the target
    seed: Mapped[int] = mapped_column(default=0)
    drawn: Mapped[bool] = mapped_column(default=False)  # demo data, drawn by the program
    created_at: Mapped[datetime] = mapped_column(default=now)

    classes: Mapped[list[ProjectClass]] = relationship(order_by="ProjectClass.position", cascade="all, delete-orphan")


class ProjectClass(Base):
    __tablename__ = "project_class"
    __table_args__ = (UniqueConstraint("project_id", "name"), UniqueConstraint("project_id", "position"))

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
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
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    path: Mapped[str]  # relative to the project's root, posix
    sha256: Mapped[str] = mapped_column(String(64))
    domain: Mapped[str | None]
    width: Mapped[int]
    height: Mapped[int]
    split: Mapped[str]  # Split
    lease_by: Mapped[int | None] = mapped_column(ForeignKey("person.id"))
    lease_until: Mapped[datetime | None]


class Reference(Base):
    """The class that a folder's layout states: hidden in the pool, the measure in validation and test."""

    __tablename__ = "reference"

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), primary_key=True)
    class_id: Mapped[int] = mapped_column(ForeignKey("project_class.id"))


class Problem(Base):
    __tablename__ = "problem"
    __table_args__ = (UniqueConstraint("project_id", "path"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    path: Mapped[str]
    reason: Mapped[str]


class Label(Base):
    """One event of the append-only log; the last event of a person on an item is what stands."""

    __tablename__ = "label"
    __table_args__ = (Index("label_by_item", "item_id", "person_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"))
    kind: Mapped[str]  # LabelKind
    class_id: Mapped[int | None] = mapped_column(ForeignKey("project_class.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    lead_ms: Mapped[int | None]  # from the image on screen to the key
    round_number: Mapped[int | None]  # the model whose queue served the item
    source: Mapped[str]  # queue: "epig", "bald", …; "csv" for an import, "oracle" in tests
    suggested_class_id: Mapped[int | None] = mapped_column(ForeignKey("project_class.id"))
    suggested_probability: Mapped[float | None]
    suggestion_seen: Mapped[bool] = mapped_column(default=False)  # the "why" panel was open
    event_key: Mapped[str] = mapped_column(String(80), unique=True)  # "<browser session>:<seq>": sent twice, stored once


class Round(Base):
    __tablename__ = "round"
    __table_args__ = (UniqueConstraint("project_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
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
        Index(
            "one_active_job_of_a_kind",
            "project_id",
            "kind",
            unique=True,
            sqlite_where=text("state IN ('queued', 'running')"),
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    kind: Mapped[str]  # "prepare" | "round"
    payload: Mapped[dict]
    state: Mapped[str] = mapped_column(default=JobState.QUEUED)
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    message: Mapped[str] = mapped_column(default="")
    error: Mapped[str | None]
    cancel_asked: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
    started_at: Mapped[datetime | None]
    heartbeat_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
