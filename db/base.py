"""What all tables share: times in UTC, choices kept as text, names for constraints, and the base class."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import ClassVar

from sqlalchemy import JSON, DateTime, Enum, Index, MetaData, TypeDecorator, text
from sqlalchemy.orm import DeclarativeBase


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
    """What a person said of an image.

    LATER: the person passes for now, others may answer; the image comes back to the person at the end.
    UNUSABLE: nobody is asked again. SKIP is how earlier versions wrote UNUSABLE, and is read as that: it then meant,
    and still means, that nobody is asked again. The log is never rewritten.
    """

    ANSWER = "answer"
    SKIP = "skip"
    LATER = "later"
    UNUSABLE = "unusable"
    UNDO = "undo"


class Role(StrEnum):
    """What a person may do: answer; also decide where answers differ; also change the project and its people."""

    ANNOTATOR = "annotator"
    REVIEWER = "reviewer"
    OWNER = "owner"


class VerdictState(StrEnum):
    """How far the people are with an image that somebody answered."""

    WAITING = "waiting"  # fewer people answered than are asked; what they say so far stands, unless it is a tie
    AGREED = "agreed"
    DISPUTED = "disputed"  # something stands, and somebody said otherwise
    TIED = "tied"  # nothing stands before a review
    REVIEWED = "reviewed"
    UNUSABLE = "unusable"


class ClassChangeKind(StrEnum):
    ADD = "add"
    RENAME = "rename"
    MERGE = "merge"
    DELETE = "delete"


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


def choice(kind: type[StrEnum]) -> Enum:
    """A column of text that takes and gives members of `kind`."""
    return Enum(
        kind, native_enum=False, length=16, values_callable=lambda members: [member.value for member in members]
    )


def index_where(name: str, *columns: str, where: str, unique: bool = False) -> Index:
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
        ClassChangeKind: choice(ClassChangeKind),
        JobState: choice(JobState),
        LabelKind: choice(LabelKind),
        Role: choice(Role),
        Split: choice(Split),
    }
