"""Answers from and to CSV where people share images and classes change."""

import csv

import pytest

from core.answers import store_labels
from core.classes import ClassChange, change_classes
from core.errors import InputError
from core.export import export_answers
from core.projects import get_project
from db import repository
from db.base import ClassChangeKind as Kind
from db.repository import NewLabel


@pytest.fixture
def rows(database, project, tmp_path):
    """Ada's answers on six images: path and the name of its class, as a file."""
    with database.read() as s:
        items = repository.items(s, project, "pool")[:6]
        names = [each.name for each in repository.project(s, project).classes]
    file = tmp_path / "answers.csv"
    given = {item.path: names[i % 3] for i, item in enumerate(items)}
    file.write_text("path,label\n" + "".join(f"{path},{name}\n" for path, name in given.items()))
    assert _stored(database, project, file) == (6, 0)
    return file, given


def _stored(database, project, file):
    done = store_labels(database, project, file, "Ada")
    return done.stored, done.there


def _exported(database, project, tmp_path):
    out = tmp_path / "out.csv"
    export_answers(database, project, out)
    with out.open(newline="") as handle:
        return {row["path"]: row["label"] for row in csv.DictReader(handle)}


def test_a_file_read_again_adds_nothing_whatever_others_answered_meanwhile(database, project, rows):
    file, _ = rows
    with database.write() as s:
        bo, item = repository.person(s, "Bo"), repository.items(s, project, "pool")[0]
        other = repository.project(s, project).classes[1].id
        repository.record(s, project, bo, [NewLabel("b", item.id, "answer", other, source="epig")])
    assert _stored(database, project, file) == (0, 6)


def test_a_file_may_use_the_names_of_before_and_what_goes_out_has_those_of_now(database, project, rows, tmp_path):
    file, given = rows
    ada = 1
    first, second, third = (each for each in get_project(database, project).classes[:3])
    changes = [
        ClassChange(Kind.RENAME, first.id, "renamed"),
        ClassChange(Kind.MERGE, second.id, heir_id=first.id),
        ClassChange(Kind.DELETE, third.id),
    ]
    change_classes(database, project, ada, changes)
    kept = {path: "renamed" for path, name in given.items() if name != third.name}
    assert _exported(database, project, tmp_path) == kept
    file.write_text("path,label\n" + "".join(f"{path},{given[path]}\n" for path in kept))
    assert _stored(database, project, file) == (0, 4)
    file.write_text(f"path,label\n{next(iter(given))},{third.name}\n")
    with pytest.raises(InputError, match=f"no class '{third.name}'"):
        _stored(database, project, file)


def test_what_goes_out_is_what_stands(database, project, rows, tmp_path):
    _, given = rows
    first, *_ = given
    with database.write() as s:
        item = repository.items(s, project, "pool")[0].id
        repository.want(s, project, [item], 2)
        other = next(each.id for each in repository.project(s, project).classes if each.name != given[first])
        repository.record(s, project, repository.person(s, "Bo"), [NewLabel("b", item, "answer", other, source="epig")])
    assert _exported(database, project, tmp_path) == {path: name for path, name in given.items() if path != first}
