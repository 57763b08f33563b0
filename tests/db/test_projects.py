"""People, projects, items, problems, rounds."""

import pytest

from core import jobs
from db.models import JobState
from db.repository import (
    NewItem,
    add_items,
    add_problems,
    add_round,
    card,
    claim,
    create_project,
    delete_project,
    domains,
    item,
    items,
    latest_round,
    measured,
    path_of,
    people,
    person,
    problems,
    project,
    project_by_name,
    projects,
    reference,
    rounds,
)
from tests.db.conftest import make_small

ROUND = {
    "label_watermark": 0,
    "labels": 0,
    "settings": {"score": "epig"},
    "seed": 1,
    "fingerprint": "f",
    "checkpoint": "0.safetensors",
    "metrics": {"accuracy": 0.5},
    "versions": {},
    "seconds": 0.25,
}


def test_a_person_is_known_by_name(database):
    with database.write() as s:
        ada = person(s, " Ada ")
        assert person(s, "Ada") == ada != person(s, "ada")
        assert people(s)[ada] == "Ada"


@pytest.mark.parametrize("name", ["", "  ", "a" * 101, "two\nlines"])
def test_a_persons_name_is_one_visible_line(database, name):
    with database.write() as s, pytest.raises(ValueError, match="1 to 100 visible characters"):
        person(s, name)


def test_a_project_comes_back_as_it_was_made(database, small):
    with database.read() as s:
        row = project(s, small.id)
        assert row == project_by_name(s, "small") == projects(s)[0]
    assert (row.root, row.model, row.prompt, row.target_domain) == ("/images", "mini", "a {class}", None)
    assert [(each.position, each.name) for each in row.classes] == [(0, "cat"), (1, "dog"), (2, "cow")]
    assert row.created_at.utcoffset().total_seconds() == 0


def test_a_project_that_does_not_exist_names_those_that_do(database, small):
    with database.read() as s:
        with pytest.raises(LookupError, match=rf"no project 99; there are: small \({small.id}\)"):
            project(s, 99)
        with pytest.raises(LookupError, match="no project “large”"):
            project_by_name(s, "large")


@pytest.mark.parametrize(
    ("name", "classes", "reason"),
    [("small", ["a"], "already"), ("new", ["a", "b", "a"], "come twice: a"), ("new", ["a", " "], "a class name has")],
)
def test_a_project_that_cannot_be_told_apart_is_refused(database, small, name, classes, reason):
    with pytest.raises(ValueError, match=reason), database.write() as s:
        create_project(s, name=name, root="/", model="mini", prompt="{class}", classes=classes)


def test_a_deleted_project_is_gone_and_its_name_is_free(database, small):
    queued, running = (jobs.enqueue(database, small.id, kind, {}) for kind in ("prepare", "round"))
    jobs.take(database, running)
    with database.write() as s:
        delete_project(s, small.id)
    with database.read() as s:
        assert projects(s) == []
        assert path_of(s, f"{0:064x}") == []
        with pytest.raises(LookupError):
            project(s, small.id)
    assert jobs.job(database, queued).state == JobState.CANCELLED
    assert jobs.job(database, running).cancel_asked
    assert make_small(database).id != small.id


def test_an_item_at_a_known_path_is_renewed(database, small):
    new = NewItem("cat/0.png", "f" * 64, "sketch", 5, 6, "test", "dog")
    with database.write() as s:
        add_problems(s, small.id, [("cat/0.png", "broken")])
        add_items(s, small.id, [new])
        row = item(s, small.items[0])
        assert (row.path, row.sha256, row.domain, row.width, row.height, row.split) == (
            *("cat/0.png", "f" * 64, "sketch"),
            *(5, 6, "test"),
        )
        assert row.project_id == small.id
        assert len(items(s, small.id)) == 12
        assert reference(s, small.id)[row.id] == 1
        assert problems(s, small.id) == []


def test_an_item_without_a_class_has_no_reference(database, small):
    with database.write() as s:
        add_items(s, small.id, [NewItem("cat/0.png", "f" * 64, None, 5, 6, "pool")])
        assert reference(s, small.id) == {item: i % 3 for i, item in enumerate(small.items) if i}


def test_an_item_of_an_unknown_class_or_split_stores_nothing(database, small):
    with pytest.raises(LookupError, match=r"x\.png: the project has no class “hen”"), database.write() as s:
        add_items(s, small.id, [NewItem("x.png", "f" * 64, None, 5, 6, "pool", "hen")])
    with pytest.raises(ValueError, match="train"), database.write() as s:
        add_items(s, small.id, [NewItem("x.png", "f" * 64, None, 5, 6, "train")])
    with database.read() as s:
        assert len(items(s, small.id)) == 12


def test_items_come_by_split_in_the_order_of_ids(database, small):
    with database.read() as s:
        assert [row.id for row in items(s, small.id)] == small.items == sorted(small.items)
        assert [row.id for row in items(s, small.id, "validation")] == small.items[8:10]
        assert domains(s, small.id) == {"photo": 6, None: 6}
        with pytest.raises(LookupError, match="no image 999"):
            item(s, 999)


def test_a_file_in_two_projects_is_found_in_both(database, small):
    make_small(database, "again")
    with database.read() as s:
        assert path_of(s, f"{1:064x}") == [("/images", "dog/1.png")] * 2


def test_the_newest_reason_of_a_problem_counts(database, small):
    with database.write() as s:
        add_problems(s, small.id, [("b.png", "empty"), ("a.png", "too large"), ("b.png", "no image")])
        add_problems(s, small.id, [("a.png", "broken")])
        assert [(row.path, row.reason) for row in problems(s, small.id)] == [("a.png", "broken"), ("b.png", "no image")]


def test_the_pools_classes_are_hidden(database, small):
    with database.read() as s:
        assert measured(s, small.id, "test") == {small.items[10]: 1, small.items[11]: 2}
        with pytest.raises(ValueError, match="hidden"):
            measured(s, small.id, "pool")


def test_rounds_are_numbered_from_zero(database, small):
    with database.write() as s:
        assert latest_round(s, small.id) is None
        assert [add_round(s, small.id, **ROUND) for _ in range(3)] == [0, 1, 2]
        assert [row.number for row in rounds(s, small.id)] == [0, 1, 2]
        last = latest_round(s, small.id)
        assert {name: getattr(last, name) for name in ROUND} == ROUND
        assert (last.number, last.project_id) == (2, small.id)


def test_a_card_names_who_labels_now(database, small):
    later = jobs.now() + jobs.STALE
    with database.write() as s:
        claim(s, small.id, small.bo, small.items, 2, later)
        shown = card(s, small.id, images=2)
        assert (shown.project.name, shown.cover, shown.active) == ("small", (f"{0:064x}", f"{1:064x}"), ("Bo",))
        assert card(s, small.id, now=later).active == ()
