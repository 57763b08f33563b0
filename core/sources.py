"""Where a project's images come from and how that is read: a folder, or a file of any format; the project keeps it.

Names of classes are taken without spaces around them and with their accents in one way (NFC): nobody can tell them
apart otherwise.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from core.config import home
from core.data.dataset import Dataset, Event, Kind, Record, Status
from core.data.formats import FORMATS, recognise
from core.data.formats.base import Again
from core.data.remote import fetch_all, is_remote
from core.data.scan import Ignored
from core.errors import InputError
from core.storage import is_remote as in_store
from core.storage import scan_root
from core.values import Progress, silent
from db.repository import ProjectRow

NOBODY = "imported"  # who answered, where a source does not say


class Labels(StrEnum):
    """What a source's labels are to the project."""

    AS_FOUND = "as found"  # answers that name who gave them are answers, all else is a known class
    KNOWN = "known"  # classes to measure against, hidden in the pool
    ANSWERS = "answers"  # of the person who is named


@dataclass(frozen=True, slots=True)
class Source:
    """A folder or file, the name of its format ("": a folder, read by its folders) and what its labels are.

    `root` is where its paths start ("": the source's own); `private` lets addresses of private networks be fetched.
    """

    path: str
    format: str = ""
    labels: Labels = Labels.AS_FOUND
    annotator: str = ""
    root: str = ""
    private: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", Labels(self.labels))
        if self.format and self.format not in FORMATS:
            raise InputError(f"no format {self.format!r}: there are {', '.join(FORMATS)}")
        if self.labels is Labels.ANSWERS and not self.annotator.strip():
            raise InputError("answers need the name of who gave them (--annotator NAME)")

    def covers(self, project: ProjectRow) -> bool:
        """Whether it names all images that the project has: it is the project's own, or all of its folder."""
        own = of(project)
        same = (self.path, self.format, self.root) == (own.path, own.format, own.root)
        return same or os.path.realpath(self.path) == os.path.realpath(project.root)

    def as_json(self) -> dict:
        return asdict(self)


def of(project: ProjectRow) -> Source:
    """The project's source; of one that has none, its folder."""
    return Source(project.root) if project.source is None else _from(project.source)


def choose(path: Path | str, *, format: str | None = None, **options) -> Source:
    """The source at a path or in a store of objects, in the format named or recognised.

    Raises InputError for a file that none fits.
    """
    file = Path(path)
    if in_store(str(path)):
        return Source(str(path), format or "", **options)
    if format is None:
        try:
            format = recognise(file).name
        except InputError:
            if file.exists() and not file.is_dir():
                raise
            format = ""  # a folder without an order that a format has, or none: reading it says so
    return Source(str(file.resolve()), format, **options)


def open_source(source: Source) -> Dataset:
    """What the source holds, to be gone through as often as wanted. Raises InputError."""
    if not source.format:
        return _scanned(source.root or source.path)
    format = FORMATS[source.format]
    if format.read is None:
        raise InputError(f"{format.title} is written and not read: {source.path}")
    return format.read(Path(source.path), root=Path(source.root) if source.root else None)


def root_of(source: Source, dataset: Dataset) -> str:
    """The folder or place in a store that the images' paths start from: of addresses, where they are fetched to."""
    if not source.format and in_store(source.root or source.path):
        return (source.root or source.path).rstrip("/")
    if any(is_remote(record.path) for record in dataset.records):
        return str(_fetched_to(source))
    return str(dataset.root.resolve())


def _fetched_to(source: Source) -> Path:
    return home() / "images" / hashlib.sha256(source.path.encode(errors="surrogateescape")).hexdigest()[:16]


def fetched(source: Source, dataset: Dataset, on_progress: Progress = silent) -> Dataset:
    """The dataset with every address fetched, where it has any; those that could not be are left out."""
    addresses = [record.path for record in dataset.records if is_remote(record.path)]
    if not addresses:
        return dataset
    root = _fetched_to(source)
    found = fetch_all(addresses, root, allow_private=source.private, on_progress=on_progress)
    files = {address: path.name for address, path in found.items() if isinstance(path, Path)}
    refused = tuple(Ignored(address, reason) for address, reason in found.items() if isinstance(reason, str))
    return replace(
        dataset, root=root, records=Again(lambda: _named(dataset, files)), left_out=(*dataset.left_out, *refused)
    )


def clean(name: str) -> str:
    """The name of a class as a project keeps it."""
    return unicodedata.normalize("NFC", name).strip()


def classes_of(dataset: Dataset) -> tuple[str, ...]:
    """The classes that a source names, in its order, else by name; each once."""
    names = dataset.classes or sorted({name for record in dataset.records for name in _names(record)})
    return tuple(dict.fromkeys(filter(None, map(clean, names))))


def stated(record: Record, source: Source) -> str | None:
    """The class that the source states as known, which the pool hides."""
    if source.labels is Labels.KNOWN or (source.labels is Labels.AS_FOUND and not record.events):
        return record.stated or record.label
    if source.labels is Labels.ANSWERS and not record.events and record.label is None:
        return None  # it is what the annotator says
    return record.stated


def answers(record: Record, source: Source) -> tuple[Event, ...]:
    """What people said of the image, oldest first; where nobody is named, the source's annotator."""
    if source.labels is Labels.KNOWN:
        return ()
    who = source.annotator.strip() or NOBODY
    if record.events:
        return tuple(event if event.annotator.strip() else replace(event, annotator=who) for event in record.events)
    if record.status is Status.UNUSABLE:
        return (Event(who, Kind.UNUSABLE),)
    name = record.label or record.stated
    return (Event(who, Kind.ANSWER, name),) if name and source.labels is Labels.ANSWERS else ()


def _names(record: Record) -> set[str]:
    named = {record.stated, record.label, *(event.label for event in record.events)}
    return {name for name in named if name}


def _from(stored: Mapping) -> Source:
    known = Source.__slots__
    return Source(**{name: value for name, value in stored.items() if name in known})


def _scanned(root: str) -> Dataset:
    scan = scan_root(root)

    def records():
        return (Record(file.path, domain=file.domain, stated=file.class_name) for file in scan.files)

    return Dataset(
        Path(root), scan.classes, Again(records, len(scan.files)), scan.ignored, f"a folder, {scan.layout.value}"
    )


def _named(dataset: Dataset, files: Mapping[str, str]):
    return (replace(record, path=files[record.path]) for record in dataset.records if record.path in files)
