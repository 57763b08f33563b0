"""A dataset out of a project: every image with all that is known of it, read some rows at a time from one snapshot."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace as but
from pathlib import Path

from sqlalchemy.orm import Session

from core import storage
from core.data import formats
from core.data.dataset import Dataset, Event, Kind, Record, Status
from core.data.formats import FORMATS, Written
from core.data.formats.base import Again
from core.data.scan import Split
from core.errors import InputError
from core.projects import get_project
from core.scored import Scored, scored
from core.values import Progress, silent
from db import repository
from db.base import VerdictState
from db.models import LabelKind
from db.repository import ItemRow, LabelRow, ProjectRow, Verdict
from db.session import Database

AT_ONCE = 500  # images
KINDS = {
    LabelKind.ANSWER: Kind.ANSWER,
    LabelKind.LATER: Kind.LATER,
    LabelKind.UNUSABLE: Kind.UNUSABLE,
    LabelKind.SKIP: Kind.UNUSABLE,  # as earlier versions wrote it
    LabelKind.UNDO: Kind.UNDO,
}


def export(
    database: Database,
    project_id: int,
    name: str,
    folder: Path,
    *,
    replace: bool = False,
    on_progress: Progress = silent,
) -> Written:
    """Write the project in a format (of FORMATS) into a folder, whole or not at all. Raises InputError."""
    if name not in FORMATS or FORMATS[name].write is None:
        writable = ", ".join(each.name for each in FORMATS.values() if each.write is not None)
        raise InputError(f"no format {name!r} is written: there are {writable}")
    on_progress(0, 0, "Scoring images")
    dataset = dataset_of(database, project_id)
    return formats.write(dataset, name, folder, replace=replace, on_progress=on_progress)


def export_answers(database: Database, project_id: int, file: Path) -> int:
    """Write every image whose answer stands, of any split, as one CSV file that `label` reads; how many."""
    everything = dataset_of(database, project_id)
    answered = Again(lambda: (each for each in everything.records if each.status is Status.LABELLED))
    with tempfile.TemporaryDirectory(dir=file.resolve().parent, prefix=".export-") as folder:
        made = formats.write(but(everything, records=answered), "csv", Path(folder) / "csv")
        os.replace(made.folder / "labels.csv", file)
    return made.written


def dataset_of(database: Database, project_id: int) -> Dataset:
    """The project as a dataset: every image that is there, and those whose content is gone but was answered."""
    project = get_project(database, project_id)
    said = scored(database, project_id)
    with database.read() as s:
        number, _ = repository.extent(s, project_id)

    def records() -> Iterator[Record]:
        with database.read() as s:
            yield from _Reader(s, project, said).records()

    def local(record: Record) -> Path:
        return storage.local(project.root, record.path, record.sha256 or "")

    return Dataset(
        Path(project.root),
        tuple(each.name for each in project.classes),
        Again(records, number),
        title=project.name,
        local=local if storage.is_remote(project.root) else None,
    )


class _Reader:
    """Reads a project within one session: all pages are of one moment."""

    def __init__(self, s: Session, project: ProjectRow, said: Scored | None) -> None:
        self._s, self._project, self._scored = s, project, said
        self._means = repository.class_map(s, project.id)
        self._names = repository.class_names(s, project.id)

    def records(self) -> Iterator[Record]:
        after = 0
        while page := repository.items_after(self._s, self._project.id, after, AT_ONCE):
            after = page[-1].id
            yield from self._page(page)

    def _page(self, items: Sequence[ItemRow]) -> Iterator[Record]:
        ids = [item.id for item in items]
        stated = repository.stated(self._s, self._project.id, ids)
        verdicts = {
            each.item_id: each for each in repository.verdicts(self._s, self._project.id, among=ids, limit=None)
        }
        events: dict[int, list[LabelRow]] = defaultdict(list)
        for row in repository.events_of(self._s, self._project.id, ids):
            events[row.item_id].append(row)
        for item in items:
            if item.gone_at is None or events[item.id]:
                yield self._record(item, stated.get(item.id), verdicts.get(item.id), events[item.id])

    def _record(self, item: ItemRow, stated: int | None, verdict: Verdict | None, log: Sequence[LabelRow]) -> Record:
        status, label = self._stands(verdict, log)
        said = self._scored and self._scored.of(item.id)
        guess, figures = said or (None, {})
        return Record(
            path=item.path,
            sha256=item.sha256,
            domain=item.domain,
            split=Split(item.split),
            stated=self._name(stated),
            status=status,
            label=label,
            events=tuple(map(self._event, log)),
            guess=guess,
            figures={"item_id": item.id, **figures}
            | ({} if item.gone_at is None else {"gone": item.gone_at.isoformat()}),
        )

    def _stands(self, verdict: Verdict | None, log: Sequence[LabelRow]) -> tuple[Status, str | None]:
        if verdict is None or (verdict.label_id is None and verdict.state is not VerdictState.TIED):
            last = {row.person_id: row.kind for row in log}
            return (Status.SKIPPED if LabelKind.LATER in last.values() else Status.UNLABELLED), None
        if verdict.label_id is None:
            return Status.CONFLICT, None
        if verdict.class_id is None:
            return Status.UNUSABLE, None
        return Status.LABELLED, self._name(verdict.class_id)

    def _name(self, class_id: int | None) -> str | None:
        """What the class is called now; of one deleted since, what it was called."""
        if class_id is None:
            return None
        return self._means[class_id].name if class_id in self._means else self._names[class_id]

    def _event(self, row: LabelRow) -> Event:
        return Event(row.person, KINDS[row.kind], self._name(row.class_id), row.created_at, row.lead_ms, row.source)
