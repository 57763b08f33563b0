"""The few things that SQLite and PostgreSQL share in meaning but not in SQLAlchemy's portable constructs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

T = TypeVar("T")
_ONE_AT_A_TIME = 0x50656E76  # any number, the same in every process: the first half of PostgreSQL's advisory locks


def insert(s: Session, table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT into `table` that knows ON CONFLICT."""
    dialect = postgresql if s.get_bind().dialect.name == "postgresql" else sqlite
    return dialect.insert(table)


def one_at_a_time(s: Session, what: str) -> None:
    """Wait until no other transaction that named the same `what` is open; SQLite lets one write at a time anyway."""
    if s.get_bind().dialect.name == "postgresql":
        s.execute(select(func.pg_advisory_xact_lock(_ONE_AT_A_TIME, func.hashtext(what))))


def chunks(values: Sequence[T], size: int = 1000) -> Iterator[Sequence[T]]:
    """`values` in runs of `size`: a statement has room for a limited number of parameters."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
