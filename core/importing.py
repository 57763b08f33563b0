"""Take images into a project, and again: read only what is new or changed, and say what is different.

Two passes over the source, some rows at a time, so memory stays constant. The first compares each file's size and time
with what is known and finds what vanished; the second reads the rest. A file that changed is another image: the old one
is gone and keeps its answers. An image that is gone and whose content turns up anywhere is there again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import compress, islice

from sqlalchemy.orm import Session

from core import answers, sources
from core.changes import Changes, Tally
from core.confined import files_of
from core.data.dataset import Dataset, Record
from core.data.formats.base import total
from core.data.scan import FoundFile, Ignored, ReadFile, assign_splits
from core.errors import InputError
from core.image_files import printable
from core.images import ImageInfo
from core.sources import Source
from core.storage import read_files
from core.values import Progress, silent
from db import repository
from db.models import now
from db.repository import CHANGED, KnownFile, NewItem, ProjectRow
from db.repository.classes import lock_project
from db.session import Database

COMPARED_AT_ONCE, READ_AT_ONCE = 1000, 512
VANISHED = "the file is gone: its answers are kept, and it is asked no more until it is back"
REPLACED = f"{CHANGED}: the answers stay with the old content, and the new one is asked as an image of its own"


def take_in(
    database: Database, project: ProjectRow, on_progress: Progress = silent, *, source: Source | None = None
) -> Changes:
    """Take in what the project's source, or another one on the same folder, has and the project has not.

    Files that cannot be read become problems. Stopped and called again it goes on; what is known is not read again.
    Raises InputError for a source that cannot be read or whose images lie elsewhere.
    """
    source = sources.of(project) if source is None else source
    dataset = sources.open_source(source)
    root = sources.root_of(source, dataset)
    if root != project.root and os.path.realpath(root) != os.path.realpath(project.root):
        raise InputError(
            f"project {project.name!r} is on {project.root} already, and the images of {source.path} lie in {root}: "
            "choose another name"
        )
    run = _Import(database, project, sources.fetched(source, dataset, on_progress), source, on_progress)
    try:
        run.note_left_out()
        run.compare(all_of_it=source.covers(project))
        run.read()
        run.store_answers()
    except BaseException:
        run.report(complete=False)
        raise
    return run.report(complete=True)


class _Import:
    """One import: what it looks at, and what it found so far."""

    def __init__(
        self, database: Database, project: ProjectRow, dataset: Dataset, source: Source, on_progress: Progress
    ) -> None:
        self._database, self._project, self._dataset, self._source = database, project, dataset, source
        self._on_progress, self._files = on_progress, files_of(project.root)
        self._at = now()
        self._tally = Tally(self._at)
        with database.read() as s:
            self._classes = repository.class_by_name(s, project.id)
        self._todo = bytearray()  # 1 for each record that has to be read
        self._answered = False  # whether the source has answers to store

    # --- first pass ---

    def note_left_out(self) -> None:
        """Images that the source names or holds and that cannot be taken in."""
        self._problems([_left_out(each) for each in self._dataset.left_out if each.is_image])

    def compare(self, all_of_it: bool) -> None:
        """Find what is to be read, what is stated differently and, of `all_of_it`, what vanished."""
        seen, number = set(), total(self._dataset)
        for some in _runs(self._dataset.records, COMPARED_AT_ONCE):
            seen |= self._compared(some)
            self._on_progress(len(self._todo), max(number, len(self._todo)), "Comparing files")
        if all_of_it:
            self._find_vanished(seen)

    def _compared(self, some: Sequence[Record]) -> set[int]:
        """Ids of the images that are there."""
        with self._database.read() as s:
            known = repository.files_at(s, self._project.id, [record.path for record in some])
        problems, same, there = [], [], set()
        for record in some:
            self._answered = self._answered or bool(sources.answers(record, self._source))
            file, found = known.get(record.path), self._files.found(record.path)
            if isinstance(found, str):
                problems.append((printable(record.path), found))
                self._todo.append(0)
                continue
            is_same = file is not None and found == (file.size, file.mtime_ns)
            self._todo.append(not is_same)
            if file is not None:
                there.add(file.id)
            if file is not None and is_same:
                same.append((file, record))
        self._problems(problems)
        self._restate(same)
        return there

    def _find_vanished(self, seen: set[int]) -> None:
        after = 0
        while True:
            with self._database.read() as s:
                page = repository.files_after(s, self._project.id, after)
            if not page:
                return
            after = page[-1][0]
            lost = {item: path for item, path in page if item not in seen}
            if lost:
                with self._database.write() as s:
                    lock_project(s, self._project.id)
                    repository.set_gone(s, list(lost), self._at)
                    kept = repository.with_history(s, lost)
                    repository.add_problems(s, self._project.id, [(lost[item], VANISHED) for item in sorted(kept)])

    # --- second pass ---

    def read(self) -> None:
        """Read what is new or changed, some files at a time, each lot stored before the next is read."""
        number, done = sum(self._todo), 0
        for some in _runs(compress(self._dataset.records, self._todo), READ_AT_ONCE):
            latest = list({record.path: record for record in some}.values())
            files = [FoundFile(record.path, None, None) for record in latest]
            read = read_files(self._project.root, files, on_progress=self._after(done, number))
            self._store(list(zip(latest, read, strict=True)))
            done += len(some)

    def _after(self, before: int, number: int) -> Progress:
        return lambda done, _, message: self._on_progress(before + done, number, message)

    def _store(self, some: Sequence[tuple[Record, ReadFile]]) -> None:
        good = [(record, each.info) for record, each in some if each.info is not None]
        bad = {record.path: each.reason or "" for record, each in some if each.info is None}
        with self._database.write() as s:
            lock_project(s, self._project.id)  # else it and `record` could wait for each other's images
            here = repository.files_at(s, self._project.id, [record.path for record, _ in some])
            like = repository.files_like(s, self._project.id, [info.sha256 for _, info in good])
            other = {
                record.path
                for record, info in good
                if here.get(record.path) and here[record.path].sha256 != info.sha256
            }
            kept = self._retire(s, [here[path] for path in (other | bad.keys()) & here.keys()])
            for path in sorted(other):
                self._tally.note("changed", path)
            placed = self._put_back(s, good, {path: file for path, file in here.items() if path not in other}, like)
            new = [self._new_item(record, info) for record, info in good if record.path not in placed]
            repository.add_items(s, self._project.id, new)
            repository.add_problems(s, self._project.id, [(printable(path), why) for path, why in bad.items()])
            repository.add_problems(s, self._project.id, [(path, REPLACED) for path in sorted(other & kept)])
        for item in new:
            if item.path not in other:
                self._tally.note("new", item.path)
        self._tally.add("unreadable", len(bad))
        self._restate([(placed[record.path], record) for record, _ in good if record.path in placed])

    def _put_back(
        self,
        s: Session,
        good: Sequence[tuple[Record, ImageInfo]],
        here: dict[str, KnownFile],
        like: dict[str, list[KnownFile]],
    ) -> dict[str, KnownFile]:
        """The images that are no new ones, by the path where they are now: still there, back, or moved."""
        placed: dict[str, KnownFile] = {}
        taken = {file.id for file in here.values()}
        for record, info in good:
            file = here.get(record.path)
            if file is None:
                file = self._lost_copy(
                    record.path, [each for each in like.get(info.sha256, ()) if each.id not in taken]
                )
                if file is None:
                    continue
                taken.add(file.id)
                self._tally.note("back" if file.path == record.path else "moved", record.path)
            repository.place(s, file.id, record.path, *self._files.state(record.path, info), info.phash)
            repository.forget_problems(s, self._project.id, [file.path, record.path])
            placed[record.path] = file
        return placed

    def _retire(self, s: Session, files: Sequence[KnownFile]) -> set[str]:
        """The contents at these paths are gone; the paths of those with which answers are kept."""
        ids = [file.id for file in files]
        repository.set_gone(s, ids, self._at + timedelta(microseconds=1))  # apart from what vanished
        with_answers = repository.with_history(s, ids)
        self._tally.add("kept", len(with_answers))
        return {file.path for file in files if file.id in with_answers}

    def _lost_copy(self, path: str, alike: Iterable[KnownFile]) -> KnownFile | None:
        """Of the images of one content, one that lies nowhere any more: that of this path before others."""
        lost = [each for each in alike if each.gone_at is not None or not self._files.has(each)]
        return min(lost, key=lambda each: (each.path != path, each.id), default=None)

    def _new_item(self, record: Record, info: ImageInfo) -> NewItem:
        split = record.split or assign_splits([info.sha256], seed=self._project.seed)[0]
        stated = self._class_of(record)
        name = None if stated is None else stated[0]
        size = (info.width, info.height)
        file = (*self._files.state(record.path, info), info.phash)
        return NewItem(record.path, info.sha256, record.domain, *size, split, name, *file)

    # --- both ---

    def _class_of(self, record: Record) -> tuple[str, int] | None:
        """Name and id of the class that the source states, as the project has it; one that it lacks is counted."""
        stated = sources.stated(record, self._source)
        if stated is None:
            return None
        name = stated if stated in self._classes else sources.clean(stated)
        if name not in self._classes:
            self._tally.unknown(name)
            return None
        return name, self._classes[name]

    def _restate(self, rows: Sequence[tuple[KnownFile, Record]]) -> None:
        classes: dict[int, int] = {}
        places: dict[int, tuple[str | None, str]] = {}
        for file, record in rows:
            stated = self._class_of(record)
            if stated is not None and stated[1] != file.class_id:
                classes[file.id] = stated[1]
            place = (record.domain or file.domain, str(record.split or file.split))
            if place != (file.domain, file.split):
                places[file.id] = place
            if file.id in classes or file.id in places:
                self._tally.note("restated", record.path)
        if classes or places:
            with self._database.write() as s:
                lock_project(s, self._project.id)
                repository.state(s, classes)
                repository.restate(s, [(item, *place) for item, place in places.items()])

    def _problems(self, rows: Sequence[tuple[str, str]]) -> None:
        if rows:
            self._tally.add("unreadable", len(rows))
            with self._database.write() as s:
                repository.add_problems(s, self._project.id, rows)

    def store_answers(self) -> None:
        """What people said, where the source says it."""
        if self._answered:
            stored = answers.store(self._database, self._project.id, self._dataset, self._source, self._on_progress)
            self._tally.add("answers", stored.stored)
            self._tally.add("answers_there", stored.there)
            self._tally.refused = list(stored.refused)

    def report(self, complete: bool) -> Changes:
        """Keep what was found, and give it back."""
        with self._database.write() as s:
            repository.forget_answered_changes(s, self._project.id)
            vanished = repository.gone_since(s, self._project.id, self._at)
            for _, path in vanished:
                self._tally.note("vanished", path)
            self._tally.add("kept", len(repository.with_history(s, [item for item, _ in vanished])))
            self._tally.add("files", len(self._todo))
            changes = self._tally.changes(complete)
            repository.set_taken_in(s, self._project.id, asdict(changes))
        return changes


def _left_out(ignored: Ignored) -> tuple[str, str]:
    more = f" ({ignored.count - 1} more of the kind)" if ignored.count > 1 else ""
    return ignored.path, ignored.reason + more


def _runs(records: Iterable[Record], size: int) -> Iterator[list[Record]]:
    coming = iter(records)
    while some := list(islice(coming, size)):
        yield some
