"""What a simulation picked, with the class as it is known now, and how much an oracle knows."""

from datetime import UTC, datetime

import pytest

from db import repository
from db.repository import LabelKind, NewItem, NewLabel, PointRow
from tests.db.conftest import make_small


def point(strategy="epig", seed=0, round_=0, picked=()):
    return PointRow(strategy, seed, round_, 10 * round_, {"accuracy": 0.5, "ece": None}, "map", 3.0, list(picked))


@pytest.fixture
def simulation(database, small) -> int:
    with database.write() as s:
        key = repository.simulation(s, small.id, {"images": 12}, {"batch": 2})
        repository.add_curve(s, key, [point(round_=0), point(round_=1, picked=["cat/0.png"])])
        repository.add_curve(s, key, [point("random", 1)])
    return key


def test_curves_are_counted_and_read_back(database, small, simulation):
    with database.write() as s:
        assert repository.count_simulated(s, simulation) == 2
        repository.add_curve(s, simulation, [point(round_=0)])  # in place of the two points
        assert repository.count_simulated(s, simulation) == 2
        assert repository.simulation_points(s, simulation) == [point(round_=0), point("random", 1)]
        assert repository.count_simulated(s, simulation + 1) == 0


def test_the_newest_simulation_comes_first_and_another_projects_not(database, small, simulation):
    other = make_small(database, "other")
    with database.write() as s:
        same = repository.simulation(s, small.id, {"images": 12}, {"batch": 2})
        newer = repository.simulation(s, small.id, {"images": 12}, {"batch": 3})
        elsewhere = repository.simulation(s, other.id, {"images": 12}, {"batch": 2})
        rows = repository.simulations(s, small.id)
    assert (same, [row.id for row in rows]) == (simulation, [newer, simulation])
    assert elsewhere not in (newer, simulation)
    assert abs((datetime.now(UTC) - rows[0].created_at).total_seconds()) < 3600


def say(s, small, item, class_number, key):
    event = NewLabel(key, small.items[item], LabelKind.ANSWER, small.classes[class_number], source="epig")
    (done,) = repository.record(s, small.id, small.ada, [event])
    assert done.accepted


def test_picked_images_come_with_the_class_as_it_is_known_now(database, small):
    make_small(database, "other")  # has the same paths
    with database.write() as s:
        repository.add_items(s, small.id, [NewItem("new.png", "f" * 64, "photo", 9, 9, "pool")])
        say(s, small, 1, 2, "a:1")
        rows = repository.picked(s, small.id, ["dog/1.png", "new.png", "cat/0.png", "gone.png", "new.png"])
    assert [(row.path, row.position, row.domain) for row in rows] == [
        ("cat/0.png", 0, "photo"),
        ("dog/1.png", 2, None),  # answered as a cow
        ("new.png", None, "photo"),
    ]
    assert [row.item_id for row in rows[:2]] == small.items[:2]


def test_more_images_than_a_statement_has_room_for(database, small):
    rows = [NewItem(f"{i:05d}.png", f"{i:064x}", None, 9, 9, "pool") for i in range(1100)]
    with database.write() as s:
        repository.add_items(s, small.id, rows)
        found = repository.picked(s, small.id, [row.path for row in rows])
    assert [row.path for row in found] == [row.path for row in rows]


def test_an_oracle_knows_what_was_answered_and_what_the_folder_says(database, small):
    with database.write() as s:
        unknown = [NewItem(f"{i}.png", f"{i:063x}a", "mars", 9, 9, "test") for i in range(3)]
        repository.add_items(s, small.id, unknown)
        first = next(row.id for row in repository.items(s, small.id) if row.domain == "mars")
        before = repository.known_parts(s, small.id)
        event = NewLabel("a:9", first, LabelKind.ANSWER, small.classes[0], source="measure")
        assert repository.record(s, small.id, small.ada, [event])[0].accepted
        after = repository.known_parts(s, small.id)
    assert before == {
        ("pool", "photo"): 4,
        ("pool", None): 4,
        ("validation", "photo"): 1,
        ("validation", None): 1,
        ("test", "photo"): 1,
        ("test", None): 1,
    }
    assert after == before | {("test", "mars"): 1}
