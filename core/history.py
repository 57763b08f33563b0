"""A project's rounds behind one another: what each was asked, which answers have changed since, and the way back.

Rounds are only ever added. Rolling back adds a round that has the earlier one's checkpoint and figures, so that all
that reads the newest round reads that model again, and the history says when this was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.config import home
from core.errors import InputError, NotReady, UnknownName
from db import repository
from db.repository import Given, RoundRow
from db.session import Database

ROLLED_BACK = "rolled_back_to"  # in a round's metrics: the number of the round that it copies
OWN = ("id", "project_id", "number", "seconds", "created_at")  # what a copy has of its own


@dataclass(frozen=True, slots=True)
class Changed:
    """An answer that a model learned from and that is another one now; positions of classes, None where withdrawn."""

    item_id: int
    sha256: str
    was: int
    now: int | None


def copied(row: RoundRow) -> int | None:
    """The number of the round that this one copies, or None: it learned."""
    return row.metrics.get(ROLLED_BACK)


def roll_back(database: Database, project_id: int, number: int) -> RoundRow:
    """Make an earlier round's model the newest again, as a new round. Raises UnknownName, InputError, NotReady."""
    with database.write() as s:
        rows = repository.rounds(s, project_id)
        row = next((row for row in rows if row.number == number), None)
        if row is None:
            raise UnknownName(f"project {project_id} has no round {number}: it has {len(rows)}, from 0")
        if row.checkpoint == rows[-1].checkpoint:
            raise InputError(f"model {number} is the one in use: choose an earlier one")
        if not (home() / row.checkpoint).is_file():
            raise NotReady(f"the file of model {number} is gone ({row.checkpoint}): start a round to learn it again")
        columns = {name: getattr(row, name) for name in RoundRow.__slots__ if name not in OWN}
        origin = row.number if copied(row) is None else copied(row)
        columns["metrics"] = row.metrics | {ROLLED_BACK: origin}
        repository.add_round(s, project_id, **columns, seconds=0.0)
        return repository.rounds(s, project_id)[-1]


def origin(row: RoundRow, rows: Sequence[RoundRow]) -> RoundRow:
    """The round that learned this round's model: itself, unless it is a copy."""
    number = copied(row)
    return row if number is None else next(each for each in rows if each.number == number)


def asked(database: Database, row: RoundRow, rows: Sequence[RoundRow]) -> list[Given]:
    """The answers that a round learned from and none before it, in their order; of a copy, those of what it copies."""
    made = origin(row, rows)
    before = [each.label_watermark for each in rows if each.number < made.number]
    with database.read() as s:
        return repository.given(s, row.project_id, max(before, default=made.label_watermark), made.label_watermark)


def changed_answers(database: Database, row: RoundRow) -> list[Changed]:
    """The answers that a round learned from and that are others now, or withdrawn, by image."""
    with database.read() as s:
        then = repository.answers(s, row.project_id, row.label_watermark)
        now = repository.answers(s, row.project_id)
        different = [item for item, was in then.items() if now.get(item) != was]
        return [Changed(item, repository.item(s, item).sha256, then[item], now.get(item)) for item in different]
