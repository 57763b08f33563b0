"""What the grid's component is told, what a browser may ask of it, and when there is no grid."""

from types import SimpleNamespace

import pytest

from core.grid import Page, Pile, Tile, Wish
from core.queue import DISAGREEMENTS, MEASURE, SELECTION
from db.repository import ClassRow, Counts, ItemRow, NewLabel, Recorded
from pages.parts import grid_turn
from pages.parts.grid_turn import Granted

CLASSES = (ClassRow(4, 0, "guitar"), ClassRow(9, 1, "<img src=x>"))
COUNTS = Counts(20, 8, 0, 3, 0, 0, 0, {})


def item(number: int) -> ItemRow:
    return ItemRow(number, f"guitar/{number}.jpg", f"{number:064x}", "sketch", 60, 40, "pool", 1)


class FakeGrid:
    """Shows what it is asked for."""

    def __init__(self):
        self.wishes: list[Wish] = []
        self.stored: list[NewLabel] = []

    def apply(self, person_id, events):
        self.stored += events
        return [Recorded(event.event_key, True) for event in events]

    def page(self, person_id, wish):
        self.wishes.append(wish)
        tiles = tuple(Tile(item(each), 4, 0.97) for each in wish.screen or (1, 2))
        return Page(wish.pile or "class-4", (Pile("class-4", None, 4, 212, 0.97),), tiles, (item(7),), 5)


def project(**team):
    return SimpleNamespace(classes=CLASSES, team=team)


def turn(report, before=None, pile=None):
    grid = FakeGrid()
    return grid, *grid_turn.turn(grid, project(), 3, report, before, pile)


def test_a_turn_stores_the_batch_and_shows_the_page():
    events = [
        {"key": f"abc:{i}", "item": i, "kind": "answer", "class": 4, "source": "grid", "seen": True} for i in (1, 2)
    ]
    events.append({"key": "?", "item": 3, "kind": "answer"})
    grid, data, granted = turn({"turn": 8, "events": events, "pile": "class-9", "passed": [5], "screen": []})
    assert [event.item_id for event in grid.stored] == [1, 2]
    assert data["saved"] == ["abc:1", "abc:2"]
    assert [each["key"] for each in data["refused"]] == ["?"]
    assert grid.wishes == [Wish("class-9", frozenset({5}), ())]
    assert (data["turn"], data["fresh"], data["round"]) == (8, True, 5)
    assert granted == Granted(8, "class-9", (1, 2))
    assert [tile["item"] for tile in data["tiles"]] == [1, 2]
    assert "guitar/" not in str(data["tiles"]), "a path can name the class"


def test_a_rerun_of_the_same_turn_holds_the_page_that_it_gave():
    report = {"turn": 8, "events": [], "pile": "class-9", "passed": [], "screen": []}
    grid, data, _ = turn(report, Granted(8, "class-9", (6, 4)))
    assert grid.wishes == [Wish("class-9", frozenset(), (6, 4))]
    assert data["fresh"], "it still answers the question for a new page"
    grid, data, _ = turn(report | {"turn": 9, "screen": [6]}, Granted(8, "class-9", (6, 4)))
    assert (grid.wishes[0].screen, data["fresh"]) == ((6,), False)


def test_without_a_report_the_address_says_which_pile():
    grid, data, granted = turn(None, None, "cluster-3")
    assert grid.wishes == [Wish("cluster-3")]
    assert (data["turn"], granted.turn) == (0, 0)


@pytest.mark.parametrize(
    "report",
    [
        {"turn": "x", "events": 3, "pile": 7, "passed": "all", "screen": {"a": 1}},
        {"turn": -4, "events": None, "pile": None, "passed": [True, -1, "2"], "screen": [None, 2**60]},
        [],
        "report",
        {},
    ],
)
def test_an_odd_report_is_an_ordinary_page(report):
    grid, data, _ = turn(report, None, "class-4")
    assert grid.wishes == [Wish("class-4")]
    assert data["turn"] == 0


def test_a_screen_of_a_browser_has_no_more_than_a_page():
    assert len(grid_turn.screen_of({"screen": list(range(500))})) == 60
    assert len(grid_turn.passed({"passed": list(range(9000))})) == grid_turn.MOST_PASSED


def test_a_pile_says_its_count_and_its_likeliest():
    names = {each.id: each.name for each in CLASSES}
    told = grid_turn.told_of(Pile("class-4", None, 4, 1212, 0.97), names)
    assert told == {
        "key": "class-4", "name": "guitar", "text": "guitar · 1,212 open, likeliest 0.97", "class": 4, "open": 1212,
    }  # fmt: skip
    cluster = grid_turn.told_of(Pile("cluster-2", 2, 9, 41, 0.7), names)
    assert cluster["text"] == "cluster 3 · 41 open, 70 % look like <img src=x>"
    assert cluster["class"] is None, "a cluster is of no class before a person says so"


def test_the_chosen_pile_stays_in_the_list_when_it_is_empty():
    _, data, _ = turn(None, None, "class-9")
    assert [each["text"] for each in data["piles"]] == [
        "<img src=x> · none open",
        "guitar · 212 open, likeliest 0.97",
    ]


EMPTY = {"key": "class-4", "name": "guitar", "text": "guitar · none open", "class": 4, "open": 0}
OTHER = {"key": "class-9", "name": "dog", "text": "dog · 3 open", "class": 9, "open": 3}


@pytest.mark.parametrize(
    ("piles", "passed", "title", "again", "onward"),
    [
        ([EMPTY, OTHER], 0, "guitar: none left", False, "class-9"),
        ([EMPTY, OTHER], 2, "guitar: only what you left out", True, "class-9"),
        ([EMPTY], 2, "guitar: only what you left out", True, None),
        ([EMPTY], 0, "Nothing left to confirm", False, None),
        ([], 0, "Nothing left to confirm", False, None),
    ],
)
def test_an_empty_page_says_why_and_what_is_next(piles, passed, title, again, onward):
    page = {"tiles": [], "piles": piles, "pile": "class-4"}
    found = grid_turn.end(page, passed, COUNTS, 0)
    assert (found["title"], found["again"], (found["next"] or {}).get("key")) == (title, again, onward)
    assert grid_turn.end(page | {"tiles": [1]}, passed, COUNTS, 0) is None


def test_nothing_to_confirm_names_the_numbers():
    said = grid_turn.end({"tiles": [], "piles": [], "pile": None}, 0, COUNTS, 4)["text"]
    assert "8 answers of 20. 3 images on other screens. 4 images for several people" in said
    none = grid_turn.end({"tiles": [], "piles": [], "pile": None}, 0, Counts(0, 0, 0, 0, 0, 0, 0, {}), 0)["text"]
    assert "no images in its pool" in none


@pytest.mark.parametrize(
    ("team", "source", "said"),
    [
        ({"blind": True}, "epig", "answered blind"),
        ({}, MEASURE, "measure the model by itself"),
        ({}, DISAGREEMENTS, "decisions"),
        ({}, "epig", None),
        ({}, f"{SELECTION}abc", None),
    ],
)
def test_where_there_is_no_grid_the_reason_is_said(team, source, said):
    refused = grid_turn.refusal(project(**team), source)
    assert refused is None if said is None else said in refused


def test_facts_say_how_far_it_is():
    told = grid_turn.facts(Counts(1933, 212, 0, 0, 0, 0, 0, {}), 7, 12, None)
    assert told["count"] == "212 of 1,933 answered"
    assert told["model"] == "model 7 · 12 labels newer than model 7"
