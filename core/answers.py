"""What people said, from a source into the log: with its history where the source has one, and each event once.

An event that says when it was is the same as one of the log by its image, person, kind, class and second. One that does
not say so is somebody's answer as it stands: it is stored unless the person says that already.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path

from sqlalchemy.orm import Session

from core import sources
from core.data.dataset import Dataset, Event, Kind, Record
from core.data.formats.base import Again, total
from core.errors import InputError
from core.sources import Source
from core.values import Progress, silent
from db import repository
from db.models import LabelKind
from db.repository import IMPORTED, REVIEW, ClassRow, LabelRow, NewLabel
from db.session import Database

AT_ONCE = 500  # records
NAMED = 5  # reasons that are given
KINDS = {Kind.ANSWER: LabelKind.ANSWER, Kind.LATER: LabelKind.LATER, Kind.UNUSABLE: LabelKind.UNUSABLE}
KINDS |= {Kind.UNDO: LabelKind.UNDO}


@dataclass(frozen=True, slots=True)
class Stored:
    """How many events were stored now and how many were there before; the first reasons why others were not."""

    stored: int
    there: int
    refused: tuple[str, ...]


def store(
    database: Database, project_id: int, dataset: Dataset, source: Source, on_progress: Progress = silent
) -> Stored:
    """Store what people said of the images, each event once; what cannot be stored stops nothing."""
    teller, number, done = _Teller(project_id, source), total(dataset), 0
    for some in _runs(dataset.records):
        with database.write() as s:
            teller.tell(s, some)
        done += len(some)
        on_progress(done, max(done, number), "Storing answers")
    return teller.stored()


def store_all_or_none(database: Database, project_id: int, dataset: Dataset, source: Source) -> Stored:
    """The same in one transaction; raises InputError, and stores nothing, where one answer cannot be stored."""
    teller = _Teller(project_id, source)
    twice = _contradictions(dataset.records, source)
    with database.write() as s:
        for some in _runs(dataset.records):
            teller.tell(s, some)
        refused, number = [*twice, *teller.refused], len(twice) + teller.number_refused
        if refused:
            more = f" (and {number - NAMED} more)" if number > NAMED else ""
            raise InputError(f"{source.path}: nothing was stored. {'; '.join(refused[:NAMED])}{more}")
    return teller.stored()


def store_labels(database: Database, project_id: int, file: Path, annotator: str) -> Stored:
    """The labels of a file (CSV or another format) as one person's answers, whoever gave them there; all or none.

    Raises InputError as `store_all_or_none` does, or for a file that cannot be read.
    """
    source = sources.choose(file, labels=sources.Labels.ANSWERS, annotator=annotator)
    dataset = sources.open_source(source)
    plain = Again(lambda: (replace(each, events=(), label=each.label or each.stated) for each in dataset.records))
    return store_all_or_none(database, project_id, replace(dataset, records=plain), source)


def _contradictions(records: Iterable[Record], source: Source) -> list[str]:
    """Images to which one person gives two labels at no time that is said."""
    labels: dict[tuple[str, str], str | None] = {}
    wrong = []
    for record in records:
        for event in sources.answers(record, source):
            if event.at is None and labels.setdefault((record.path, event.annotator), event.label) != event.label:
                wrong.append(f"another label for {record.path!r} than above")
    return wrong


@dataclass(frozen=True, slots=True)
class _Said:
    """One event, with the ids that the project has for what it names."""

    item_id: int
    person_id: int
    kind: LabelKind
    class_id: int | None
    event: Event

    @property
    def trace(self) -> tuple:
        """What makes two events with a time one."""
        return self.item_id, self.person_id, self.kind, self.class_id, _second(self.event.at)


class _Teller:
    """Stores runs of records, and counts."""

    def __init__(self, project_id: int, source: Source) -> None:
        self._project_id, self._source = project_id, source
        self._people: dict[str, int] = {}
        self._stored = self._there = 0
        self.refused: list[str] = []  # the first
        self.number_refused = 0

    def stored(self) -> Stored:
        return Stored(self._stored, self._there, tuple(self.refused))

    def _refuse(self, reason: str) -> None:
        self.number_refused += 1
        if len(self.refused) < NAMED:
            self.refused.append(reason)

    def tell(self, s: Session, records: Sequence[Record]) -> None:
        """Store what is said of these images: each one's events in their order."""
        classes = repository.class_by_name(s, self._project_id)
        items = self._items(s, records)
        said: dict[int, list[_Said]] = defaultdict(list)
        for record in records:
            events = sources.answers(record, self._source)
            if events and key_of(record) not in items:
                which = "" if record.sha256 is None else " with the content that was answered"
                self._refuse(f"no image {record.path!r}{which} in the project")
                continue
            for event in events:
                found = self._one(s, items[key_of(record)], record, event, classes)
                if found is not None:
                    said[found.item_id].append(found)
        self._record(s, said)

    def _items(self, s: Session, records: Sequence[Record]) -> dict[tuple[str, str | None], int]:
        """The project's image for each record: at its path if it is the record's content, else the only one of that."""
        here = repository.files_at(s, self._project_id, [record.path for record in records])
        found, other = {}, {}
        for record in records:
            file = here.get(record.path)
            if file is not None and record.sha256 in (None, file.sha256):
                found[key_of(record)] = file.id
            elif record.sha256:
                other[key_of(record)] = record.sha256
        like = repository.files_like(s, self._project_id, list(other.values()))
        return found | {key: like[sha][0].id for key, sha in other.items() if len(like.get(sha, ())) == 1}

    def _one(self, s: Session, item_id: int, record: Record, event: Event, classes: dict[str, int]) -> _Said | None:
        name = event.label or ""
        class_id = classes.get(name, classes.get(sources.clean(name)))
        if event.kind is Kind.ANSWER and class_id is None:
            known = ", ".join(map(repr, list(classes)[:10]))
            self._refuse(f"{record.path}: no class {name!r}; there are {known}")
            return None
        if event.annotator not in self._people:
            try:
                self._people[event.annotator] = repository.person(s, event.annotator)
            except ValueError as error:
                raise InputError(str(error)) from error
        kind = KINDS[event.kind]
        answer = class_id if kind is LabelKind.ANSWER else None
        return _Said(item_id, self._people[event.annotator], kind, answer, event)

    def _record(self, s: Session, said: dict[int, list[_Said]]) -> None:
        """First the first event of every image, then the second ones: the log keeps an image's events in order."""
        means = repository.class_map(s, self._project_id)
        logged = [_as_now(row, means) for row in repository.events_of(s, self._project_id, list(said))]
        last = {(row.item_id, row.person_id): row for row in logged if row.source != REVIEW}
        traces = {(row.item_id, row.person_id, row.kind, row.class_id, _second(row.created_at)) for row in logged}
        for turn in range(max(map(len, said.values()), default=0)):
            people: dict[int, list[NewLabel]] = defaultdict(list)
            for each in (events[turn] for events in said.values() if len(events) > turn):
                before = last.get((each.item_id, each.person_id))
                if each.event.at is not None:
                    known = each.trace in traces
                else:
                    known = before is not None and (before.kind, before.class_id) == (each.kind, each.class_id)
                if known:
                    self._there += 1
                else:
                    people[each.person_id].append(self._label(each, turn, before.id if before else 0))
            for person, events in people.items():
                self._keep(s, person, events)

    def _label(self, each: _Said, turn: int, after: int) -> NewLabel:
        event = each.event
        parts = (self._project_id, *each.trace, turn) if event.at else (self._project_id, *each.trace, "after", after)
        key = hashlib.sha256(repr(parts).encode()).hexdigest()
        return NewLabel(
            f"import:{key[:56]}",
            each.item_id,
            each.kind,
            each.class_id,
            source=event.source or IMPORTED,
            lead_ms=event.lead_ms,
            at=event.at,
        )

    def _keep(self, s: Session, person_id: int, events: Sequence[NewLabel]) -> None:
        for outcome in repository.record(s, self._project_id, person_id, events):
            self._stored += outcome.accepted and not outcome.reason
            self._there += outcome.accepted and bool(outcome.reason)
            if not outcome.accepted:
                self._refuse(outcome.reason)


def key_of(record: Record) -> tuple[str, str | None]:
    """A path may be that of several contents, one after the other."""
    return record.path, record.sha256


def _as_now(row: LabelRow, means: dict[int, ClassRow]) -> LabelRow:
    """With the class that its own stands for today; one deleted since stays as it was given."""
    return replace(row, class_id=means[row.class_id].id) if row.class_id in means else row


def _second(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp())


def _runs(records: Iterable[Record]) -> Iterator[list[Record]]:
    coming = iter(records)
    while some := list(islice(coming, AT_ONCE)):
        yield some
