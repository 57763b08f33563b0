"""What a format is, and what is said of a source before anything is taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import length_hint
from pathlib import Path
from typing import Protocol

from core.data.dataset import Dataset, Holds, Record
from core.data.scan import Ignored
from core.values import Progress

_TELL_EVERY = 32


class Reader(Protocol):
    """Reads a file or folder lazily; `root` is the folder that its paths start from, its own where None."""

    def __call__(self, source: Path, *, root: Path | None = None) -> Dataset: ...


class Writer(Protocol):
    """Fills an empty folder; says what was written and what had to be left out."""

    def __call__(self, dataset: Dataset, folder: Path, on_progress: Progress) -> Payload: ...


@dataclass(frozen=True, slots=True)
class Payload:
    """What a writer made: how many images it wrote, those left out and why, and what the manifest has to keep."""

    written: int
    left_out: tuple[Ignored, ...] = ()
    kept: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Format:
    """One way to keep labelled images. `read` or `write` is None where that direction makes no sense.

    `recognises` looks at names and first lines alone. `first` yields the records in order without going through all.
    """

    name: str
    title: str
    what: str
    extensions: tuple[str, ...]
    recognises: Callable[[Path], bool]
    read: Reader | None
    write: Writer | None
    holds: frozenset[Holds]
    first: Callable[[Path], Iterator[Record | Ignored]]
    copies_images: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """Records that are made anew each time they are gone through, so that none is kept in memory."""

    make: Callable[[], Iterator[Record]]
    count: int = 0

    def __iter__(self) -> Iterator[Record]:
        return self.make()

    def __length_hint__(self) -> int:
        return self.count


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a source as it was understood.

    `about` are pairs for people: format, delimiter, encoding. `roles` tells for each column what it is taken for, ""
    for one that is kept as it is.
    """

    format: str
    about: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    roles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A finished export: where it is, what is in it and what is not."""

    folder: Path
    written: int
    snapshot: str
    lost: tuple[str, ...] = ()
    left_out: tuple[Ignored, ...] = ()


def total(dataset: Dataset) -> int:
    """How many records there are, 0 where that is not known beforehand."""
    return length_hint(dataset.records)


def gathered(
    root: Path, entries: Callable[[], Iterator[Record | Ignored]], classes: tuple[str, ...] | None, title: str
) -> Dataset:
    """The dataset of entries that can be made again: gone through once here, for the classes and what is left out.

    `classes` None takes those that the records name, sorted; else theirs come behind the ones given.
    """
    named: set[str] = set()
    left_out: dict[str, Ignored] = {}
    count = 0
    for entry in entries():
        if isinstance(entry, Record):
            count += 1
            named.update(name for name in (entry.stated, entry.label, *(e.label for e in entry.events)) if name)
        elif entry.reason in left_out:
            left_out[entry.reason] = replace(left_out[entry.reason], count=left_out[entry.reason].count + 1)
        else:
            left_out[entry.reason] = entry
    order = classes or ()
    return Dataset(
        root=root,
        classes=(*order, *sorted(named - set(order))),
        records=Again(lambda: (entry for entry in entries() if isinstance(entry, Record)), count),
        left_out=tuple(left_out.values()),
        title=title,
    )


def reported(records: Iterable[Record], total: int, on_progress: Progress, message: str) -> Iterator[Record]:
    """The records as they come, telling now and then how many there were."""
    done = 0
    for done, record in enumerate(records, 1):
        yield record
        if done % _TELL_EVERY == 0:
            on_progress(done, max(total, done), message)
    on_progress(done, max(total, done), message)
