"""Answers from and to a CSV file (columns path, label): in, all or nothing; out, everything that stands."""

from __future__ import annotations

import csv
import uuid
from pathlib import Path

from core.errors import InputError
from core.projects import get_project
from db import repository
from db.models import LabelKind
from db.repository import NewLabel
from db.session import Database


def import_labels(database: Database, project_id: int, file: Path, annotator: str) -> tuple[int, int]:
    """Store the file's labels as one person's answers; (stored now, given already). A changed answer is a new one.

    Raises InputError, naming lines, for a missing column, an unknown path or class, or two labels for one path;
    nothing is stored then.
    """
    get_project(database, project_id)
    rows = _read(file)
    with database.write() as s:
        classes = repository.class_by_name(s, project_id)
        items = {item.path: item.id for item in repository.items(s, project_id)}
        _refuse(file, rows, items, classes)
        try:
            person = repository.person(s, annotator)
        except ValueError as error:
            raise InputError(str(error)) from error
        standing = repository.own_answers(s, project_id, person)
        wanted = {items[row["path"]]: classes[row["label"]] for _, row in rows}
        new = {item: class_id for item, class_id in wanted.items() if standing.get(item) != class_id}
        events = [
            NewLabel(f"csv:{uuid.uuid4().hex}", item, LabelKind.ANSWER, class_id, source="csv")
            for item, class_id in new.items()
        ]
        refused = [each.reason for each in repository.record(s, project_id, person, events) if not each.accepted]
        if refused:
            raise InputError(f"{file}: nothing was stored. {'; '.join(refused[:5])}")
        return len(new), len(wanted) - len(new)


def export_labels(database: Database, project_id: int, file: Path) -> int:
    """Write every standing answer, also of validation and test images, as CSV that `import_labels` reads; how many."""
    names = {each.id: each.name for each in get_project(database, project_id).classes}
    with database.read() as s:
        items = {item.id: item for item in repository.items(s, project_id)}
        people = repository.people(s)
        rows = [(each, each.class_id) for each in repository.standing(s, project_id)]
    with file.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["path", "label", "annotator", "utc", "split", "domain", "sha256"])
        answered = [(row, names[class_id]) for row, class_id in rows if class_id is not None]
        for row, name in answered:
            item = items[row.item_id]
            about = (item.split, item.domain or "", item.sha256)
            writer.writerow([item.path, name, people[row.person_id], row.created_at.isoformat(), *about])
    return len(answered)


def _refuse(file: Path, rows: list[tuple[int, dict[str, str]]], items: dict[str, int], classes: dict[str, int]) -> None:
    wrong = [reason for line, row in rows if (reason := _problem(line, row, items, classes))]
    labels: dict[str, str] = {}
    for line, row in rows:
        if labels.setdefault(row["path"], row["label"]) != row["label"]:
            wrong.append(f"line {line}: another label for {row['path']!r} than above")
    if wrong:
        more = f" (and {len(wrong) - 5} more)" if len(wrong) > 5 else ""
        raise InputError(f"{file}: nothing was stored. {'; '.join(wrong[:5])}{more}")


def _read(file: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle)
            found = [name.strip() for name in reader.fieldnames or ()]
            reader.fieldnames = found
            if missing := {"path", "label"} - set(found):
                raise InputError(
                    f"{file} lacks the column {' and '.join(sorted(missing))}: its first line has to name path and "
                    f"label, with a comma between; it is {','.join(found)[:80]!r}"
                )
            return [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise InputError(f"{file} cannot be opened: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read as CSV in UTF-8: {error}") from error


def _problem(line: int, row: dict, items: dict[str, int], classes: dict[str, int]) -> str | None:
    if row["path"] not in items:
        return f"line {line}: no image {row['path']!r} in the project"
    if row["label"] not in classes:
        return f"line {line}: no class {row['label']!r}; there are {', '.join(map(repr, list(classes)[:10]))}"
    return None
