"""What a format is, and what is said of a source before anything is taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.data.dataset import Dataset, Holds, Record
from core.data.scan import Ignored
from core.values import Progress


class Reader(Protocol):
    """Reads a file or folder lazily; `root` is the folder that its paths start from, its own where None."""

    def __call__(self, source: Path, *, root: Path | None = None) -> Dataset: ...


class Writer(Protocol):
    """Fills an empty folder; says what was written and what had to be left out."""

    def __call__(self, dataset: Dataset, folder: Path, on_progress: Progress) -> Payload: ...


@dataclass(frozen=True, slots=True)
class Payload:
    """What a writer made: `written` images, those left out with the reason, and `folders` → true names of classes."""

    written: int
    left_out: tuple[Ignored, ...] = ()
    folders: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One way to keep labelled images. `read` or `write` is None where that direction makes no sense."""

    name: str
    title: str
    what: str
    extensions: tuple[str, ...]
    recognises: Callable[[Path], bool]
    read: Reader | None
    write: Writer | None
    holds: frozenset[Holds]
    copies_images: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """Records that are made anew each time they are gone through, so that none is kept in memory."""

    make: Callable[[], Iterator[Record]]

    def __iter__(self) -> Iterator[Record]:
        return self.make()


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
    return len(dataset.records) if isinstance(dataset.records, Sized) else 0
