"""What an import changed: counted while it runs, kept with the project, shown to people."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime

from db import repository
from db.session import Database

EXAMPLES = 20  # of each kind that are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What an import did: numbers of files, and for each kind the first of them."""

    at: str  # UTC
    files: int = 0  # that the source names
    new: int = 0  # at a path that was not known
    changed: int = 0  # another content at a path that was known
    vanished: int = 0
    moved: int = 0  # a known content at another path
    back: int = 0  # a content that was gone, at its own path
    restated: int = 0  # the source states another class, domain or split than before
    unreadable: int = 0
    kept: int = 0  # of those changed or vanished: images with answers, which are kept
    answers: int = 0  # stored now
    answers_there: int = 0  # stored before
    refused: list[str] = field(default_factory=list, hash=False)  # the first reasons why answers were not stored
    unknown_classes: dict[str, int] = field(default_factory=dict, hash=False)  # stated, but not in the project
    examples: dict[str, list[str]] = field(default_factory=dict, hash=False)
    seconds: float = 0.0
    complete: bool = True  # False: it was stopped, and goes on when started again

    @property
    def anything(self) -> bool:
        """Whether the project is another one than before."""
        return any((self.new, self.changed, self.vanished, self.moved, self.back, self.restated, self.answers))

    @classmethod
    def of(cls, stored: Mapping) -> Changes:
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


def last_changes(database: Database, project_id: int) -> Changes | None:
    """What the project's last import did; None before the first."""
    with database.read() as s:
        stored = repository.taken_in(s, project_id)
    return None if stored is None else Changes.of(stored)


class Tally:
    """Counts what an import that began `at` finds."""

    def __init__(self, at: datetime) -> None:
        self._at, self._started = at, time.monotonic()
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._unknown: Counter[str] = Counter()
        self.refused: list[str] = []

    def add(self, kind: str, number: int) -> None:
        """So many more of a kind, which is a field of `Changes`."""
        self._counts[kind] += number

    def note(self, kind: str, path: str) -> None:
        """One more of a kind, at this path."""
        self._counts[kind] += 1
        first = self._examples.setdefault(kind, [])
        if len(first) < EXAMPLES:
            first.append(path)

    def unknown(self, class_name: str) -> None:
        """One more file states a class that the project lacks."""
        self._unknown[class_name] += 1

    def changes(self, complete: bool) -> Changes:
        return Changes(
            at=self._at.isoformat(),
            refused=self.refused,
            unknown_classes=dict(self._unknown.most_common(EXAMPLES)),
            examples=self._examples,
            seconds=round(time.monotonic() - self._started, 3),
            complete=complete,
            **self._counts,
        )
