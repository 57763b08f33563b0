"""Who has which image: rules one by one; many processes at once are in test_processes.py."""

from datetime import timedelta

from db.models import now
from db.repository import LEASE, NewLabel, claim, counts, leased, record, release
from tests.db.conftest import make_small

NOW = now()
LATER = NOW + timedelta(minutes=5)


def _claim(database, small, who, n, wishes=None, at=NOW, until=LATER):
    with database.write() as s:
        return claim(s, small.id, who, wishes or small.items[:8], n, until, at)


def _say(database, small, who, key, item, kind, at=None):
    class_id = small.classes[0] if kind == "answer" else None
    with database.write() as s:
        (stored,) = record(s, small.id, who, [NewLabel(key, item, kind, class_id, source="epig")], at)
    assert stored.accepted


def test_images_are_given_in_the_order_of_wish(database, small):
    wishes = small.items[7::-1]
    assert _claim(database, small, small.ada, 3, wishes) == wishes[:3]
    assert _claim(database, small, small.bo, 3, wishes) == wishes[3:6]
    with database.read() as s:
        assert leased(s, small.id, NOW) == dict.fromkeys(wishes[:3], small.ada) | dict.fromkeys(wishes[3:6], small.bo)
        assert counts(s, small.id, NOW).leased == 6


def test_ones_own_images_come_back_first_and_in_order(database, small):
    a, b, c, *rest = small.items[:8]
    assert _claim(database, small, small.ada, 2, [c, b]) == [c, b]
    assert _claim(database, small, small.ada, 4, [a, b, c, *rest]) == [b, c, a, rest[0]]


def test_an_image_is_given_once_even_if_wished_twice(database, small):
    a, b = small.items[:2]
    assert _claim(database, small, small.ada, 3, [a, a, b, a]) == [a, b]


def test_leases_end(database, small):
    assert _claim(database, small, small.ada, 8) == small.items[:8]
    assert _claim(database, small, small.bo, 8, at=LATER - timedelta(seconds=1)) == []
    assert _claim(database, small, small.bo, 2, at=LATER, until=LATER + LEASE) == small.items[:2]
    with database.read() as s:
        assert leased(s, small.id, LATER) == dict.fromkeys(small.items[:2], small.bo)


def test_claiming_again_prolongs_the_lease(database, small):
    a = small.items[0]
    _claim(database, small, small.ada, 1)
    assert _claim(database, small, small.ada, 1, until=LATER + LEASE) == [a]
    assert a not in _claim(database, small, small.bo, 8, at=LATER)


def test_released_images_are_free(database, small):
    _claim(database, small, small.ada, 8)
    with database.write() as s:
        release(s, small.id, small.ada)
    assert _claim(database, small, small.bo, 8) == small.items[:8]


def test_answered_and_skipped_images_are_not_given_to_anybody(database, small):
    a, b, c = small.items[:3]
    _claim(database, small, small.ada, 2)
    _say(database, small, small.ada, "1", a, "answer")
    _say(database, small, small.ada, "2", b, "skip")
    with database.read() as s:
        assert leased(s, small.id, NOW) == {}
    for who in (small.ada, small.bo):
        assert _claim(database, small, who, 1, [a, b, c], until=NOW) == [c]


def test_an_undo_gives_the_image_back_to_the_same_person(database, small):
    a, b = small.items[:2]
    _say(database, small, small.ada, "1", a, "answer", NOW)
    _say(database, small, small.ada, "2", a, "undo", NOW)
    assert _claim(database, small, small.bo, 1) == [b]
    assert _claim(database, small, small.ada, 1) == [a]
    assert _claim(database, small, small.bo, 1, [a], at=NOW + 2 * LEASE) == [a]


def test_an_undo_does_not_take_the_image_from_another_person(database, small):
    a = small.items[0]
    _claim(database, small, small.bo, 1)
    _say(database, small, small.ada, "1", a, "answer", NOW)
    _say(database, small, small.ada, "2", a, "undo", NOW)
    with database.read() as s:
        assert leased(s, small.id, NOW) == {a: small.bo}


def test_an_undone_image_that_another_person_answered_is_not_free(database, small):
    a = small.items[0]
    _say(database, small, small.bo, "1", a, "answer")
    _say(database, small, small.ada, "2", a, "answer")
    _say(database, small, small.ada, "3", a, "undo")
    assert _claim(database, small, small.ada, 1, [a]) == []


def test_an_answer_of_one_person_leaves_the_lease_of_another(database, small):
    a = small.items[0]
    _claim(database, small, small.ada, 1)
    _say(database, small, small.bo, "1", a, "answer")
    with database.read() as s:
        assert leased(s, small.id, NOW) == {a: small.ada}


def test_images_of_another_project_are_not_given(database, small):
    other = make_small(database, "other")
    assert _claim(database, small, small.ada, 2, [other.items[0], small.items[0]]) == [small.items[0]]


def test_many_wishes_are_gone_through_to_the_end(database):
    many = make_small(database, "many", pool=1200)
    assert _claim(database, many, many.ada, 1150, many.items[:1200]) == many.items[:1150]
    assert _claim(database, many, many.bo, 100, many.items[:1200]) == many.items[1150:1200]
