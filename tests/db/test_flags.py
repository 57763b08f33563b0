"""Flags: open, settled, paged, never rewritten."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from db.repository import add_flag, flags, flags_of, open_flags, resolve_flag
from tests.db.conftest import make_small


def test_a_flag_is_open_until_somebody_settles_it(database, small):
    with database.write() as s:
        first = add_flag(s, small.id, small.bo, small.items[0], "  two animals ")
        second = add_flag(s, small.id, small.ada, small.items[0], "blurred")
        assert [(row.id, row.note, row.person, row.settled_by) for row in flags(s, small.id)] == [
            (second, "blurred", "Ada", None),
            (first, "two animals", "Bo", None),
        ]
        resolve_flag(s, small.id, small.ada, first, "the larger one counts")
        assert ([row.id for row in flags(s, small.id)], open_flags(s, small.id)) == ([second], 1)
        (settled,) = flags(s, small.id, settled=True)
        assert (settled.id, settled.settled_by, settled.settled_note) == (first, "Ada", "the larger one counts")
        assert settled.settled_at >= settled.created_at
        assert [row.id for row in flags_of(s, small.items[0])] == [second, first]
        assert flags_of(s, small.items[1]) == []


def test_flags_come_in_pages(database, small):
    with database.write() as s:
        ids = [add_flag(s, small.id, small.ada, small.items[i % 8], f"note {i}") for i in range(10)]
        assert [row.id for offset in range(0, 12, 4) for row in flags(s, small.id, False, offset, 4)] == ids[::-1]


def test_what_cannot_be_flagged_or_settled_is_refused(database, small):
    other = make_small(database, "other")
    with database.write() as s:
        flag = add_flag(s, small.id, small.ada, small.items[0], "odd")
        resolve_flag(s, small.id, small.ada, flag)
        with pytest.raises(ValueError, match="settled this flag already"):
            resolve_flag(s, small.id, small.bo, flag)
        with pytest.raises(LookupError, match="no flag"):
            resolve_flag(s, other.id, small.bo, flag)
        with pytest.raises(LookupError, match="not in this project"):
            add_flag(s, small.id, small.ada, other.items[0], "odd")
        for note, reason in (("  ", "says why"), ("x" * 2001, "2000 characters at most")):
            with pytest.raises(ValueError, match=reason):
                add_flag(s, small.id, small.ada, small.items[0], note)


@pytest.mark.parametrize("change", ["UPDATE flag SET note = 'x'", "DELETE FROM flag"])
def test_the_log_of_flags_refuses_change(database, small, change):
    with database.write() as s:
        add_flag(s, small.id, small.ada, small.items[0], "odd")
    with pytest.raises(DBAPIError, match="append-only"), database.write() as s:
        s.execute(text(change))


def test_a_flag_that_is_sent_again_is_stored_once(database, small):
    first, other = small.items[:2]
    with database.write() as s:
        flag = add_flag(s, small.id, small.ada, first, "odd", event_key="a:1")
        assert add_flag(s, small.id, small.ada, first, "odd", event_key="a:1") == flag
        assert add_flag(s, small.id, small.ada, first, "odd", event_key="a:2") != flag
        assert len({add_flag(s, small.id, small.ada, first, "odd") for _ in range(2)}) == 2
        resolve_flag(s, small.id, small.bo, flag)
        assert add_flag(s, small.id, small.ada, first, "odd", event_key="a:1") == flag  # settled meanwhile
        for person, item in ((small.bo, first), (small.ada, other)):
            with pytest.raises(ValueError, match="belongs to another event"):
                add_flag(s, small.id, person, item, "odd", event_key="a:1")
        for key in ("", "x" * 81):
            with pytest.raises(ValueError, match="1 to 80 characters"):
                add_flag(s, small.id, small.ada, first, "odd", event_key=key)
    with database.read() as s:
        assert [row.id for row in flags_of(s, first)][-1] == flag
        assert len(flags_of(s, first)) == 4


def test_two_that_send_one_flag_at_once_store_one(database, small):
    def send(_):
        with database.write() as s:
            return add_flag(s, small.id, small.ada, small.items[0], "odd", event_key="a:1")

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(send, range(16)))) == 1
    with database.read() as s:
        assert open_flags(s, small.id) == 1
