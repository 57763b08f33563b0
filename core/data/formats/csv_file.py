"""CSV and TSV: one row for one image, with all that is known of it; other people's tables by what their columns say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from core.data.dataset import Dataset, Record
from core.data.formats import flat, manifest
from core.data.formats.answers import settled
from core.data.formats.base import Payload, gathered, reported, total
from core.data.formats.places import is_address
from core.data.scan import EXTENSIONS, Ignored
from core.data.table_file import Look, look, neutral, restored, rows, write_rows
from core.errors import InputError
from core.image_files import printable
from core.values import Progress

NAME = "labels.csv"
NUMBERS = frozenset({"votes", "agreement", "lead_ms", "probability", *flat.FIGURES})
_HEADLESS = ("path", "label")


def write(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """labels.csv with the columns of core/data/formats/flat.py."""
    written = 0

    def cells() -> Iterator[list[str]]:
        nonlocal written
        for record in reported(dataset.records, total(dataset), on_progress, "Writing rows"):
            values = flat.row(record)
            yield [_cell(name, values[name]) for name in flat.COLUMNS]
            written += 1

    write_rows(folder / NAME, flat.COLUMNS, cells())
    return Payload(written)


def read(source: Path, *, root: Path | None = None, found: Look | None = None) -> Dataset:
    """The table's records; `root` is the folder of the images, by default the one the table lies in.

    `found` says what delimiter and encoding it has where a person knows better. Raises InputError.
    """
    file = source / NAME if source.is_dir() else source
    start, how = root or file.parent, found or look(file)
    title = "CSV" if how.delimiter != "\t" else "TSV"
    columns, _ = header(file, how)
    if "path" not in flat.roles(columns).values():
        raise InputError(
            f"{file} lacks a column with the paths of the images: its first line has to name one of "
            f"{', '.join(flat.ROLES['path'][:5])}; it is {how.delimiter.join(columns)[:80]!r}"
        )
    return gathered(start, lambda: entries(file, start, how), manifest.classes(manifest.beside(source, "csv")), title)


def first(source: Path) -> Iterator[Record | Ignored]:
    """The first records, with nothing of the rest read."""
    file = source / NAME if source.is_dir() else source
    return entries(file, file.parent, look(file))


def recognises(source: Path) -> bool:
    """Whether it is a table by its name, or a text with several columns, one of them of paths."""
    if source.is_dir():
        return manifest.beside(source, "csv") != {}
    if source.suffix.lower() in (".csv", ".tsv", ".tab"):
        return True
    if source.suffix.lower() not in (".txt", ""):
        return False
    columns, _ = header(source, look(source))
    return len(columns) > 1 and "path" in flat.roles(columns).values()


def header(file: Path, how: Look) -> tuple[tuple[str, ...], bool]:
    """(the columns' names, whether the first line names them); a table of paths without names has path and label."""
    _, cells = next(rows(file, how), (0, []))
    columns = tuple(cell.strip() for cell in cells)
    if "path" not in flat.roles(columns).values() and cells and _is_image(cells[0]):
        return (*_HEADLESS, *(f"column {n + 1}" for n in range(2, len(cells))))[: len(cells)], False
    return columns, True


def entries(file: Path, root: Path, how: Look) -> Iterator[Record | Ignored]:
    """A record for each row, or why there is none; others' rows in a run that answer for one image are one record."""
    if _is_ours(header(file, how)[0]):
        yield from _rows(file, root, how)
        return
    waiting: Record | None = None
    for record in _rows(file, root, how):
        if isinstance(record, Record) and waiting is not None and _continues(waiting, record):
            waiting = _joined(waiting, record)
            continue
        if waiting is not None:
            yield waiting
        waiting = record if isinstance(record, Record) else None
        if waiting is None:
            yield record
    if waiting is not None:
        yield waiting


def _rows(file: Path, root: Path, how: Look) -> Iterator[Record | Ignored]:
    columns, headed = header(file, how)
    ours = _is_ours(columns)
    known = flat.roles(columns)
    for number, (line, cells) in enumerate(rows(file, how)):
        if headed and not number:
            continue
        try:
            if len(cells) > len(columns):
                raise InputError(f"it has {len(cells)} cells, more than the {len(columns)} columns")
            found = values(columns, cells)
            yield flat.record(found, root) if ours else flat.foreign(found, known, root)
        except InputError as error:
            yield Ignored(f"line {line}: {printable(how.delimiter.join(cells)[:60])}", str(error))


def _is_ours(columns: tuple[str, ...]) -> bool:
    return frozenset(columns) >= flat.OURS


def values(columns: tuple[str, ...], cells: list[str]) -> Mapping[str, str]:
    """A row by column, its cells as they were before they were made safe for spreadsheets."""
    ours = _is_ours(columns)
    return {
        name: cell if ours and name in NUMBERS else restored(cell, exactly=ours)
        for name, cell in zip(columns, cells, strict=False)
        if name
    }


def _cell(name: str, value: object) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value) if name in NUMBERS else neutral(str(value))


def _continues(before: Record, record: Record) -> bool:
    return bool(before.events and record.events) and before.path == record.path and before.sha256 == record.sha256


def _joined(before: Record, record: Record) -> Record:
    events = (*before.events, *record.events)
    status, label = settled(events)
    return replace(before, events=events, status=status, label=label)


def _is_image(cell: str) -> bool:
    return Path(cell).suffix.lower() in EXTENSIONS or is_address(cell)
