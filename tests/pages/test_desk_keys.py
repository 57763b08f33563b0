"""A person's keys: what the desk asks is done once, kept for the person alone, and refused in words."""

import pytest

from db import repository
from pages.parts import desk_asks, desk_keys
from pages.parts.labelling import MOST_ASKS


@pytest.fixture
def row(database, project):
    with database.read() as s:
        return repository.project(s, project)


def people(database) -> tuple[int, int]:
    with database.write() as s:
        return repository.person(s, "Ada"), repository.person(s, "Bo")


def told(database, row, person) -> dict:
    return desk_keys.told(desk_keys.keys_for(database, row, person))


def test_a_changed_key_is_kept_for_the_person_alone_and_nothing_else_of_theirs_is_lost(database, row):
    ada, bo = people(database)
    with database.write() as s:
        repository.set_preferences(s, ada, {"theme": "dark"})
    first = row.classes[0].id
    assert desk_keys.change(database, row, ada, {"do": "class", "class": first, "key": "q"}) == ""
    assert desk_keys.change(database, row, ada, {"do": "act", "act": "undo", "key": "x"}) == ""
    assert dict(told(database, row, ada)["classes"])[first] == "q"
    assert told(database, row, ada)["acts"]["undo"] == "x"
    assert dict(told(database, row, bo)["classes"])[first] == "1"
    with database.read() as s:
        assert repository.person_row(s, ada).preferences["theme"] == "dark"
    assert desk_keys.change(database, row, ada, {"do": "usual"}) == ""
    assert told(database, row, ada) == told(database, row, bo)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        ({"do": "act", "act": "undo", "key": "s"}, "“s” is for “later”"),
        ({"do": "act", "act": "undo"}, "cannot be chosen"),
        ({"do": "act", "act": ["undo"], "key": "x"}, "nothing is called"),
        ({"do": "act", "key": "x"}, "nothing is called"),
        ({"do": "class", "class": "1 or 1=1", "key": "x"}, "not in the project any more"),
        ({"do": "class", "class": [1], "key": "x"}, "not in the project any more"),
        ({"do": "delete everything"}, "cannot be asked"),
        ({}, "cannot be asked"),
    ],
)
def test_what_cannot_be_is_refused_in_words_and_changes_nothing(database, row, ask, said):
    ada, _ = people(database)
    before = told(database, row, ada)
    assert said in desk_keys.change(database, row, ada, ask)
    assert told(database, row, ada) == before


def test_letters_type_where_the_person_says_so(database, row):
    ada, _ = people(database)
    desk_keys.change(database, row, ada, {"do": "typing", "on": True})
    assert told(database, row, ada)["typing"]
    assert told(database, row, ada)["acts"]["later"] == "S"


def test_what_is_asked_twice_is_done_once(database, row, monkeypatch):
    done, kept = [], {}
    monkeypatch.setattr(desk_asks, "database", lambda: database)
    monkeypatch.setattr(desk_asks.st, "session_state", kept)
    monkeypatch.setattr(desk_asks.working, "start", lambda project_id, kind: done.append((project_id, kind)))
    ada, _ = people(database)
    asks = [{"id": "abc:a1", "do": "round"}, {"id": "abc:a2", "do": "act", "act": "undo", "key": "s"}]
    for _ in range(2):
        replies = desk_asks.answer(row, ada, asks)
    assert done == [(row.id, "round")]
    assert replies["abc:a1"] == ""
    assert "“s” is for “later”" in replies["abc:a2"]
    for start in range(0, 300, MOST_ASKS):
        desk_asks.answer(row, ada, [{"id": f"abd:a{start + n}", "do": "x"} for n in range(MOST_ASKS)])
    assert len(kept["desk-asks"]) == desk_asks.KEPT
