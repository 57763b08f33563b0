"""Images into an export: copies, never links, checked against the hash they were taken in with.

Only files below the dataset's root are read, and only new files below the export's folder are written.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.data.dataset import Dataset, Record
from core.data.formats import manifest
from core.data.formats.places import is_address
from core.data.names import FileNames
from core.data.scan import Ignored
from core.data.table_file import neutral
from core.errors import InputError
from core.image_files import printable

_PIECE = 1 << 20
_NAMED = 100  # of the images left out for one reason


class Copies:
    """Puts records' images into folders of an export, each under a free name, and lists them in files.csv."""

    def __init__(self, dataset: Dataset, folder: Path, list_of_files: csv.DictWriter, by_stem: bool) -> None:
        self._dataset, self._folder, self._list = dataset, folder, list_of_files
        self._root = os.path.realpath(dataset.root)
        self._names = FileNames(by_stem)
        self._left_out: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}
        self.written = 0

    def place(self, record: Record, below: str) -> str | None:
        """Copy the record's image into the folder `below`; its path in the export, None where it has to be left out."""
        try:
            source = self._source(record)
            target = f"{below}/{self._names.of(below, record.path)}"
            (self._folder / below).mkdir(parents=True, exist_ok=True)
            found = _copy(source, self._folder / target, record.sha256)
        except (OSError, InputError) as error:
            self._leave_out(record, error)
            return None
        self.written += 1
        self._list.writerow({"file": neutral(target), "path": neutral(record.path), "sha256": found})
        return target

    @property
    def left_out(self) -> tuple[Ignored, ...]:
        """What could not be copied: the first of each reason by name, all counted."""
        some = [(reason, path) for reason, paths in self._left_out.items() for path in paths]
        rest = {reason: self._counts[reason] - len(paths) for reason, paths in self._left_out.items()}
        named = [Ignored(path, reason) for reason, path in some]
        return (*named, *(Ignored("…", reason, count) for reason, count in rest.items() if count))

    def _source(self, record: Record) -> Path:
        if self._dataset.local is not None:
            return self._dataset.local(record)
        if is_address(record.path):
            raise InputError("it is an address: only images that were taken in can be copied")
        source = os.path.realpath(os.path.join(self._root, record.path))
        if not Path(source).is_relative_to(self._root):
            raise InputError("it leads out of the images' folder")
        if not os.path.isfile(source):
            raise InputError("the file is gone")
        return Path(source)

    def _leave_out(self, record: Record, error: Exception) -> None:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        self._counts[reason] = self._counts.get(reason, 0) + 1
        paths = self._left_out.setdefault(reason, [])
        if len(paths) < _NAMED:
            paths.append(printable(record.path))


@contextmanager
def copies(dataset: Dataset, folder: Path, *, by_stem: bool = False) -> Iterator[Copies]:
    """Copies into `folder` with the list of files beside them. `by_stem`: no two files differ by extension alone."""
    with (folder / manifest.FILES).open("x", encoding="utf-8", newline="") as handle:
        listing = csv.DictWriter(handle, ["file", "path", "sha256"])
        listing.writeheader()
        yield Copies(dataset, folder, listing, by_stem)


def _copy(source: Path, target: Path, expected: str | None) -> str:
    """Copy a file to one that is not there yet and return its SHA-256; nothing stays where it is not the expected."""
    digest = hashlib.sha256()
    with source.open("rb") as read, target.open("xb") as write:
        try:
            while piece := read.read(_PIECE):
                digest.update(piece)
                write.write(piece)
            if expected is not None and digest.hexdigest() != expected:
                raise InputError("the file has changed since it was taken in")
        except BaseException:
            target.unlink()
            raise
    return digest.hexdigest()
