"""Labels from a CSV file (columns path, label) into the log, all or nothing."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

from core.errors import InputError
from core.rounds import get_project
from db import repository
from db.models import LabelKind
from db.repository import NewLabel
from db.session import Database


def import_labels(database: Database, project_id: int, file: Path, annotator: str) -> int:
    """Store the file's labels as one person's answers; returns how many are stored. The same file twice stores once.

    Raises InputError, naming lines, for a missing column, an unknown path or class; nothing is stored then.
    """
    project = get_project(database, project_id)
    rows = _read(file)
    classes = {each.name: each.id for each in project.classes}
    with database.write() as s:
        items = {item.path: item.id for item in repository.items(s, project_id)}
        wrong = [reason for line, row in rows if (reason := _problem(line, row, items, classes))]
        if wrong:
            more = f" (and {len(wrong) - 5} more)" if len(wrong) > 5 else ""
            raise InputError(f"{file}: nothing was stored. {'; '.join(wrong[:5])}{more}")
        events = [
            NewLabel(
                _key(annotator, row["path"], row["label"], line),
                items[row["path"]],
                LabelKind.ANSWER,
                classes[row["label"]],
                source="csv",
            )
            for line, row in rows
        ]
        try:
            person = repository.person(s, annotator)
        except ValueError as error:
            raise InputError(str(error)) from error
        return sum(each.accepted for each in repository.record(s, project_id, person, events))


def _read(file: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle)
            missing = {"path", "label"} - set(reader.fieldnames or ())
            if missing:
                raise InputError(f"{file} lacks the column {' and '.join(sorted(missing))}: its first line names them")
            return [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read as CSV in UTF-8: {error}") from error


def _problem(line: int, row: dict, items: dict[str, int], classes: dict[str, int]) -> str | None:
    if row["path"] not in items:
        return f"line {line}: no image {row['path']!r} in the project"
    if row["label"] not in classes:
        return f"line {line}: no class {row['label']!r}; there are {', '.join(map(repr, list(classes)[:10]))}"
    return None


def _key(annotator: str, path: str, label: str, line: int) -> str:
    return "csv:" + hashlib.sha256("\0".join((annotator, path, label, str(line))).encode()).hexdigest()
