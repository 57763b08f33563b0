"""The first rows of a source as they are understood, before anything is taken from it."""

from __future__ import annotations

import itertools
from pathlib import Path

from core.data.dataset import Record
from core.data.formats import csv_file, flat
from core.data.formats.base import Format, Preview
from core.data.formats.table import recognise
from core.data.table_file import look, rows

COLUMNS = ("path", "domain", "split", "class", "answers")


def preview(path: Path, rows: int = 5) -> Preview:
    """The first rows as they are understood, a table with its own columns; not all is read. Raises InputError."""
    format = recognise(path)
    return _table(path, format, rows) if format.name == "csv" else _records(path, format, rows)


def _table(path: Path, format: Format, most: int) -> Preview:
    file = path / csv_file.NAME if path.is_dir() else path
    how = look(file)
    columns, headed = csv_file.header(file, how)
    ours = frozenset(columns) >= flat.OURS
    known = dict.fromkeys(columns, "") | (dict(zip(columns, columns, strict=True)) if ours else flat.roles(columns))
    found = itertools.islice(rows(file, how), int(headed), most + int(headed))
    cells = [csv_file.values(columns, row) for _, row in found]
    shown = tuple(tuple(row.get(name, "") for name in columns) for row in cells)
    first_line = (("First line", "names the columns" if headed else "is an image already"),)
    about = (("Format", format.title), *how.about, *first_line)
    return Preview(format.name, about, columns, tuple(known[name] for name in columns), shown)


def _records(path: Path, format: Format, most: int) -> Preview:
    found = list(itertools.islice(format.first(path), most))
    shown = tuple(_row(each) if isinstance(each, Record) else (each.path, "", "", "", each.reason) for each in found)
    return Preview(format.name, (("Format", format.title),), COLUMNS, COLUMNS, shown)


def _row(record: Record) -> tuple[str, ...]:
    said = "; ".join(f"{each.annotator}: {each.label or each.kind.value}" for each in record.events)
    name = record.label if record.label is not None else record.stated
    return (record.path, record.domain or "", record.split.value if record.split else "", name or "", said)
