"""What is known of files: one path, several contents one after the other, one of them there."""

from datetime import timedelta

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from db import repository
from db.models import Item, now
from db.repository import NewItem


def _add(database, project, path, number, **more):
    with database.write() as s:
        repository.add_items(s, project, [NewItem(path, f"{number:064x}", None, 8, 8, "pool", **more)])
        return repository.files_at(s, project, [path])[path].id


def test_a_path_has_one_content_at_a_time(database, small):
    first = _add(database, small.id, "x.png", 100, size=5, mtime_ns=2**60, phash=-(2**63))
    with database.write() as s:
        repository.set_gone(s, [first], now())
    second = _add(database, small.id, "x.png", 101)
    with database.read() as s:
        assert repository.files_at(s, small.id, ["x.png"])["x.png"].id == second != first
        assert [file.id for file in repository.files_like(s, small.id, [f"{100:064x}"])[f"{100:064x}"]] == [first]
        assert repository.item(s, first).gone_at is not None
    twice = {"project_id": small.id, "path": "x.png", "sha256": "0" * 64, "width": 1, "height": 1, "split": "pool"}
    with pytest.raises(IntegrityError), database.write() as s:
        s.execute(insert(Item).values(**twice))


def test_large_numbers_come_back_as_they_were(database, small):
    _add(database, small.id, "x.png", 100, size=2**40, mtime_ns=2**62, phash=-(2**63))
    with database.read() as s:
        file = repository.files_at(s, small.id, ["x.png"])["x.png"]
        phashes = {item_id: phash for item_id, _, phash, _ in repository.prints(s, small.id)}
    assert (file.size, file.mtime_ns, phashes[file.id]) == (2**40, 2**62, -(2**63))


def test_what_is_gone_is_counted_only_where_somebody_spoke_of_it(database, small):
    at = now()
    with database.write() as s:
        cat = small.classes[0]
        repository.record(
            s, small.id, small.ada, [repository.NewLabel("k", small.items[0], "answer", cat, source="epig")]
        )
        repository.set_gone(s, small.items[:3], at)
    with database.read() as s:
        assert [item for item, _ in repository.gone_since(s, small.id, at)] == small.items[:3]
        counts = repository.counts(s, small.id)
        assert (counts.pool, counts.answered) == (6, 1)
        assert repository.pool_size(s, small.id) == 5
        assert repository.with_history(s, small.items) == {small.items[0]}
        assert [item for item, _ in repository.unanswered(s, small.id)] == small.items[3:8]
        assert repository.extent(s, small.id)[0] == 9
    with database.write() as s:
        until = now() + timedelta(minutes=1)
        assert repository.claim(s, small.id, small.bo, small.items, 20, until)[0] == small.items[3]
        repository.place(s, small.items[1], "elsewhere.png", 5, 6, None)
        assert repository.files_at(s, small.id, ["elsewhere.png"])["elsewhere.png"].id == small.items[1]
        assert repository.pool_size(s, small.id) == 6


def test_only_what_was_said_directly_counts_as_spoken_of(database, small):
    one, two = small.items[:2]
    with database.write() as s:
        for item, key in ((one, "own"), (two, "twin:x")):
            event = repository.NewLabel(key, item, "answer", small.classes[0], source="duplicate")
            repository.record(s, small.id, small.ada, [event])
        assert repository.spoken_of(s, small.id, [one, two]) == {one}
