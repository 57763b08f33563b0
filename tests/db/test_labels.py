"""What stands in the log: every query against a loop over all events."""

import random

import pytest
from sqlalchemy import event

from db.repository import (
    LabelKind,
    NewLabel,
    Recorded,
    answers,
    answers_since,
    counts,
    history,
    last_label_id,
    leased,
    measured,
    record,
    reference,
    standing,
)
from tests.db.conftest import make_small


def _say(database, small, who, key, item, kind="answer", class_=0, **columns):
    class_id = small.classes[class_] if kind == "answer" else None
    with database.write() as s:
        return record(s, small.id, who, [NewLabel(key, item, kind, class_id, **{"source": "epig"} | columns)])[0]


def _standing(events):
    """One event an item: of each person's last events, undone ones left out, the latest."""
    last = {(event.item_id, event.person_id): event for event in sorted(events, key=lambda event: event.id)}
    kept = sorted((event for event in last.values() if event.kind != LabelKind.UNDO), key=lambda event: event.id)
    return {event.item_id: event for event in kept}


def _random_log(database, small, n=300):
    rng = random.Random(0)
    for i in range(n):
        kind = rng.choice(["answer", "answer", "skip", "undo"])
        _say(
            database, small, rng.choice([small.ada, small.bo]), f"{i}", rng.choice(small.items), kind, rng.randrange(3)
        )
    with database.read() as s:
        return [event for item in small.items for event in history(s, item)]


def test_what_stands_equals_a_loop_over_the_log(database, small):
    log = _random_log(database, small)
    other = make_small(database, "other")
    _say(database, other, small.ada, "elsewhere", other.items[0])
    position = {class_id: i for i, class_id in enumerate(small.classes)}
    pool, test = set(small.items[:8]), small.items[10:]
    middle = sorted(event.id for event in log)[len(log) // 2]

    def answered(events):
        kept = _standing(events).values()
        return {
            each.item_id: position[each.class_id] for each in kept if each.kind == "answer" and each.item_id in pool
        }

    now = _standing(log)
    with database.read() as s:
        got = standing(s, small.id)
        assert {each.item_id: (each.label_id, each.kind, each.person_id, each.class_id) for each in got} == {
            item: (event.id, event.kind, event.person_id, event.class_id) for item, event in now.items()
        }
        assert all(each.position == position.get(each.class_id) for each in got)
        assert answers(s, small.id) == answered(log)
        assert answers(s, small.id, middle) == answered([event for event in log if event.id <= middle])
        newer = [event for event in now.values() if event.kind == "answer" and event.item_id in pool]
        for mark in (0, middle, max(event.id for event in log)):
            assert answers_since(s, small.id, mark) == sum(event.id > mark for event in newer)
        stated = reference(s, small.id)
        given = {event.item_id: position[event.class_id] for event in now.values() if event.kind == "answer"}
        assert measured(s, small.id, "test") == {item: given.get(item, stated[item]) for item in test}
        assert last_label_id(s, small.id) == max(event.id for event in log)


def test_counts_equal_a_loop_over_the_log(database, small):
    now = _standing(_random_log(database, small))
    pool = [event for event in now.values() if event.item_id in small.items[:8]]
    given = [event.person for event in pool if event.kind == "answer"]
    with database.read() as s:
        got = counts(s, small.id)
        assert got.leased == len(leased(s, small.id))
    assert (got.pool, got.validation, got.test, got.problems) == (8, 2, 2, 0)
    assert (got.answered, got.skipped) == (len(given), len(pool) - len(given))
    assert got.answers_by_person == {name: given.count(name) for name in sorted(set(given))}


def test_a_label_keeps_what_was_known_when_it_was_given(database, small):
    known = {
        "lead_ms": 850,
        "round_number": 3,
        "source": "bald",
        "suggested_class_id": small.classes[1],
        "suggested_probability": 0.75,
        "suggestion_seen": True,
    }
    _say(database, small, small.bo, "tab:1", small.items[0], class_=2, **known)
    with database.read() as s:
        (event,) = history(s, small.items[0])
    assert {name: getattr(event, name) for name in known} == known
    assert (event.person, event.kind, event.class_id, event.event_key) == ("Bo", "answer", small.classes[2], "tab:1")


def test_an_event_sent_again_is_stored_once(database, small):
    events = [NewLabel(f"tab:{i}", small.items[i], "answer", small.classes[0], source="epig") for i in range(3)]
    with database.write() as s:
        first = record(s, small.id, small.ada, events[:2])
        again = record(s, small.id, small.ada, [*events, events[2]])
    assert [each.accepted for each in first + again] == [True] * 6
    assert [each.reason for each in again] == ["stored before", "stored before", "", "stored before"]
    with database.read() as s:
        assert [len(history(s, item)) for item in small.items[:4]] == [1, 1, 1, 0]


def test_an_undo_sent_again_does_not_undo_what_came_after(database, small):
    item = small.items[0]
    for key, kind in [("1", "answer"), ("2", "undo"), ("3", "answer"), ("2", "undo")]:
        assert _say(database, small, small.ada, key, item, kind).accepted
    with database.read() as s:
        assert answers(s, small.id) == {item: 0}


def test_an_undo_uncovers_what_another_person_said(database, small):
    item = small.items[0]
    _say(database, small, small.ada, "1", item, class_=1)
    _say(database, small, small.bo, "2", item, class_=2)
    with database.read() as s:
        assert answers(s, small.id) == {item: 2}
    _say(database, small, small.bo, "3", item, "undo")
    with database.read() as s:
        assert answers(s, small.id) == {item: 1}


def test_what_cannot_be_stored_is_refused_with_a_reason(database, small):
    other = make_small(database, "other")
    item, class_id = small.items[0], small.classes[0]
    _say(database, small, small.bo, "taken", item)
    bad = {
        "kind": (NewLabel("a", item, "maybe", class_id, source="x"), "not 'maybe'"),
        "item": (NewLabel("b", other.items[0], "answer", class_id, source="x"), "is not in this project"),
        "class": (NewLabel("c", item, "answer", other.classes[0], source="x"), "is not in this project"),
        "no class": (NewLabel("d", item, "answer", source="x"), "class None"),
        "suggestion": (
            NewLabel("e", item, "skip", source="x", suggested_class_id=other.classes[0]),
            "the suggested class",
        ),
        "undo": (NewLabel("f", item, "undo", source="x"), "nothing of yours to undo"),
        "key": (NewLabel("", item, "skip", source="x"), "1 to 80 characters"),
        "another's key": (NewLabel("taken", item, "skip", source="x"), "belongs to another event"),
    }
    good = NewLabel("good", small.items[1], "answer", class_id, source="x")
    with database.write() as s:
        *refused, stored = record(s, small.id, small.ada, [event for event, _ in bad.values()] + [good])
    assert stored == Recorded("good", True)
    for outcome, (_, reason) in zip(refused, bad.values(), strict=True):
        assert not outcome.accepted
        assert reason in outcome.reason


def test_labels_of_nobody_or_of_no_project_are_refused(database, small):
    for project_id, person_id in [(99, small.ada), (small.id, 99)]:
        with pytest.raises(LookupError), database.write() as s:
            record(s, project_id, person_id, [])


@pytest.mark.one_database
def test_what_stands_is_read_by_an_index(database, small):
    """A project among many is never read by going through the images or the log of all of them."""
    plans = []

    def explain(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith(("SELECT", "WITH")):
            found = connection.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            plans.extend(row[-1] for row in found)

    with database.read() as s:
        event.listen(s.connection(), "before_cursor_execute", explain)
        for query in (standing, answers, counts, last_label_id, lambda s, id: measured(s, id, "test")):
            query(s, small.id)
    assert len(plans) > 10
    assert [plan for plan in plans if plan.startswith(("SCAN label", "SCAN item"))] == []
