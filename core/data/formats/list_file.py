"""A text with a path or an address on each line; one that is quoted is JSON, as a name may hold a line break."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from core.data.dataset import Dataset, Record
from core.data.formats import manifest
from core.data.formats.base import Payload, gathered, reported, total
from core.data.formats.places import is_address, placed
from core.data.scan import EXTENSIONS, Ignored
from core.data.table_file import look
from core.errors import InputError
from core.image_files import printable
from core.values import Progress

NAME = "images.txt"


def write(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """images.txt with every path."""
    written = 0
    with (folder / NAME).open("x", encoding="utf-8", newline="\n") as handle:
        for record in reported(dataset.records, total(dataset), on_progress, "Writing paths"):
            handle.write(f"{_line(record.path)}\n")
            written += 1
    return Payload(written)


def read(source: Path, *, root: Path | None = None) -> Dataset:
    """A record for each line; empty lines and those that begin with # are passed over. Raises InputError."""
    file = source / NAME if source.is_dir() else source
    start = root or file.parent
    return gathered(start, lambda: _entries(file, start), None, "List of paths")


def first(source: Path) -> Iterator[Record | Ignored]:
    """The first lines, with nothing of the rest read."""
    file = source / NAME if source.is_dir() else source
    return _entries(file, file.parent)


def recognises(source: Path) -> bool:
    """Whether it is a text that begins with the path of an image or an address."""
    if source.is_dir():
        return manifest.beside(source, "list") != {}
    if source.suffix.lower() not in (".txt", ".lst", ".list", ""):
        return False
    record = next((each for each in first(source) if isinstance(each, Record)), None)
    return record is not None and (is_address(record.path) or Path(record.path).suffix.lower() in EXTENSIONS)


def _entries(file: Path, root: Path) -> Iterator[Record | Ignored]:
    ours = manifest.beside(file, "list") != {}
    try:
        with file.open(encoding=look(file).encoding, newline=None if not ours else "\n") as handle:
            for number, line in enumerate(handle, 1):
                text = line.rstrip("\n") if ours else line.strip()
                if not text or text.startswith("#"):
                    continue
                try:
                    yield Record(placed(_path(text), root, exactly=ours))
                except InputError as error:
                    yield Ignored(f"line {number}: {printable(text[:60])}", str(error))
    except (OSError, UnicodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _line(path: str) -> str:
    plain = path == path.strip() and path.isprintable() and not path.startswith(('"', "#"))
    return path if plain else json.dumps(path)


def _path(text: str) -> str:
    if text.startswith('"') and text.endswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    return text
