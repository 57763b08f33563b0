"""The tables. The database is the only truth; labels are an append-only log and the current answer is a view on it.

A trigger (db/migrations) refuses UPDATE and DELETE on `label`, `flag` and `class_change`. A deleted project is
therefore only archived: its rows stay, its name is free again, and no query of db/repository shows it.

    project ─┬─< project_class ──< class_change (who renamed, merged, added or deleted which class)
             ├─< item ─┬── reference (the folder's own class: read by metrics and the oracle, never by a ranking)
             │         ├── gold (an answer that is known, to check people with)
             │         ├─< lease >── person (on whose screen it is)
             │         ├─< flag >── person (a note; resolved by a later row)
             │         └─< label >── person
             ├─< problem (a file that could not be taken in, and why)
             ├─< round   (one posterior: settings, labels' snapshot, checkpoint, metrics; number 0: as pre-trained)
             └─< job     (work for the worker process)
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from db.base import Base, ClassChangeKind, JobState, LabelKind, Role, Split, index_where, now
from db.login_models import Login, LoginFailure
from db.simulation_models import Simulation, SimulationPoint

__all__ = ["Base", "ClassChangeKind", "JobState", "LabelKind", "Login", "LoginFailure", "Role"]
__all__ += ["Simulation", "SimulationPoint", "Split", "now"]


class Project(Base):
    __tablename__ = "project"
    __table_args__ = (index_where("one_project_of_a_name", "name", where="archived_at IS NULL", unique=True),)

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
    team: Mapped[dict] = mapped_column(default=dict, server_default="{}")  # core/team.py's settings
    class_version: Mapped[int] = mapped_column(default=0, server_default="0")  # grows with every change of the classes
    source: Mapped[dict | None]  # where the images come from and how that is read (core/intake.py); None: from `root`
    taken_in: Mapped[dict | None]  # what the last import changed (core/intake.py)


class ProjectClass(Base):
    """A class. A label keeps the class it was given: one merged since stands for its heir, one deleted for nothing."""

    __tablename__ = "project_class"
    __table_args__ = (
        index_where("one_class_of_a_name", "project_id", "name", where="retired_at IS NULL", unique=True),
        UniqueConstraint("project_id", "position"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    position: Mapped[int | None]  # row of the class in logits and in the text embeddings; None: retired
    name: Mapped[str]
    heir_id: Mapped[int | None] = mapped_column(ForeignKey("project_class.id"))  # merged into this one, never retired
    retired_at: Mapped[datetime | None]


class ClassChange(Base):
    """One event of the append-only history of a project's classes."""

    __tablename__ = "class_change"
    __table_args__ = (Index("class_change_by_project", "project_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"))
    kind: Mapped[ClassChangeKind]
    class_id: Mapped[int] = mapped_column(ForeignKey("project_class.id"))
    heir_id: Mapped[int | None] = mapped_column(ForeignKey("project_class.id"))
    before: Mapped[str | None]  # the name until then
    after: Mapped[str | None]  # the name since; of a merge the heir's
    version: Mapped[int]  # the project's class_version since
    created_at: Mapped[datetime] = mapped_column(default=now)


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    role: Mapped[Role] = mapped_column(default=Role.ANNOTATOR, server_default=Role.ANNOTATOR)  # the first is the owner
    password_hash: Mapped[str | None]  # None: no password lets this person in
    email: Mapped[str | None] = mapped_column(unique=True)  # which a login provider vouches for
    disabled: Mapped[bool] = mapped_column(default=False, server_default=false())
    preferences: Mapped[dict] = mapped_column(default=dict, server_default="{}")  # keys and the like, of the pages


class Item(Base):
    """One content of a file. Where a file changes, its item is gone, with its answers, and another one is there."""

    __tablename__ = "item"
    __table_args__ = (
        index_where("one_item_of_a_path", "project_id", "path", where="gone_at IS NULL", unique=True),
        Index("item_by_split", "project_id", "split", "domain"),
        Index("item_by_sha256", "sha256"),
        index_where("item_by_overlap", "project_id", where="wanted > 1"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    path: Mapped[str]  # relative to the project's root, posix
    sha256: Mapped[str] = mapped_column(String(64))
    domain: Mapped[str | None]
    width: Mapped[int]
    height: Mapped[int]
    split: Mapped[Split]
    wanted: Mapped[int] = mapped_column(default=1, server_default="1")  # how many people are to be asked
    size: Mapped[int | None] = mapped_column(BigInteger)  # bytes; with the next, tells that a file is as it was
    mtime_ns: Mapped[int | None] = mapped_column(BigInteger)  # when it was last written to
    phash: Mapped[int | None] = mapped_column(BigInteger)  # perceptual hash (core/fingerprints.py), as a signed number
    gone_at: Mapped[datetime | None]  # the content lies there no more: not to be shown, its answers stay


class Lease(Base):
    """An image on a person's screen, until then."""

    __tablename__ = "lease"
    __table_args__ = (Index("lease_by_person", "project_id", "person_id"),)

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))  # the item's
    until: Mapped[datetime]


class Gold(Base):
    """An answer that an owner or a reviewer stated as known: people are checked with it."""

    __tablename__ = "gold"

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), primary_key=True)
    class_id: Mapped[int] = mapped_column(ForeignKey("project_class.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)


class Flag(Base):
    """A note on an image. Append-only: what resolves a flag is a row of its own that names it."""

    __tablename__ = "flag"
    __table_args__ = (
        Index("flag_by_project", "project_id", "id"),
        Index("flag_by_item", "item_id"),
        Index("flag_by_key", "event_key", unique=True),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))  # the item's
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"))
    note: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
    resolves_id: Mapped[int | None] = mapped_column(ForeignKey("flag.id"), unique=True)
    event_key: Mapped[str | None] = mapped_column(String(80))  # as a label's: sent twice, stored once


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
        index_where("label_by_review", "project_id", "item_id", where="source = 'review'"),
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
    source: Mapped[str]  # queue: "epig", "bald", …; "review": it decides; "csv": an import; "oracle" in tests
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
    class_version: Mapped[int] = mapped_column(default=0, server_default="0")  # of the project: an older one is stale


class Job(Base):
    __tablename__ = "job"
    __table_args__ = (
        index_where(
            "one_active_job_of_a_kind", "project_id", "kind", where="state IN ('queued', 'running')", unique=True
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    kind: Mapped[str]  # of core/handlers.py
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


class Selection(Base):
    """Images that a person chose, in the order to ask them; never changed, as labels name it as their source."""

    __tablename__ = "selection"

    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(16), primary_key=True)  # of the content
    item_ids: Mapped[list[int]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)
