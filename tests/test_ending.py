"""Why a queue has nothing more: each reason on its own, with its counts."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, update

from core.queue import MEASURE, SELECTION, End, Narrow, ending, queue_for
from core.team import TeamSettings, change_settings
from db import repository
from db.models import Item, Lease, Reference, now
from db.repository import LabelKind
from tests.test_queue import event, people  # noqa: F401 (a fixture)


@pytest.fixture
def queue(database, project):
    return queue_for(database, project, "random")


@pytest.fixture
def pool(queue):
    return len(queue.space.pool)


def leave(queue, person, n, kind=None):
    """Answer all that is served but for n cards, and say `kind` of those."""
    cards = queue.serve(person, 1000)
    queue.apply(person, [event(card) for card in cards[n:]])
    if kind:
        queue.apply(person, [event(card, kind) for card in cards[:n]])
    return cards[:n]


def counts(found):
    return {name: value for name in found.__slots__ if name != "kind" and (value := getattr(found, name))}


def test_all_done(queue, people, pool):  # noqa: F811
    leave(queue, people[0], 0)
    found = ending(queue, people[1])
    assert (found.kind, counts(found)) == (End.DONE, {"total": pool, "answered": pool})


def test_all_done_but_for_unusable_ones(queue, people, pool):  # noqa: F811
    leave(queue, people[0], 3, LabelKind.UNUSABLE)
    found = ending(queue, people[1])
    assert (found.kind, found.set_aside, found.answered) == (End.SET_ASIDE, 3, pool - 3)


def test_held_by_others_until_their_last_lease_really_ends(database, project, queue, people):  # noqa: F811
    first, second = leave(queue, people[0], 2)
    ends = {first.item_id: now() + timedelta(minutes=3), second.item_id: now() + timedelta(minutes=2)}
    with database.write() as s:
        for item, until in ends.items():
            s.execute(update(Lease).where(Lease.item_id == item).values(until=until))
    found = ending(queue, people[1])
    assert (found.kind, found.held, found.until) == (End.HELD, 2, ends[first.item_id])
    with database.write() as s:
        s.execute(update(Lease).values(until=now() - timedelta(seconds=1)))
    found = ending(queue, people[1])  # the page asks before it serves again
    assert (found.kind, found.held) == (End.HELD, 2)
    assert found.until <= now()


def test_filtered_out_with_how_many_there_would_be(database, project, people):  # noqa: F811
    with database.write() as s:
        items = [item.id for item in repository.items(s, project, "pool")]
        s.execute(update(Item).where(Item.id.in_(items[:10])).values(domain="art"))
    queue = queue_for(database, project, "random")
    cards = queue.serve(people[0], 1000, Narrow("art"))
    queue.apply(people[0], [event(card) for card in cards[1:]])
    queue.apply(people[0], [event(cards[0], LabelKind.LATER)])
    other = queue.serve(people[1], 4, Narrow("nowhere"))
    assert other == []
    found = ending(queue, people[0], Narrow("nowhere"))
    assert (found.kind, found.left, found.later) == (End.FILTERED, len(items) - 9, 0)
    leave(queue, people[1], 0)
    assert ending(queue, people[0], Narrow("nowhere")).kind == End.DONE  # without the filter there is nothing either


def test_only_what_the_person_passed_for_now(queue, people):  # noqa: F811
    passed = leave(queue, people[0], 2, LabelKind.LATER)
    assert len(queue.serve(people[0], 9)) == len(passed)  # they come again
    found = ending(queue, people[0])
    assert (found.kind, found.later) == (End.LATER, 2)
    queue.apply(people[0], [event(card, number=2) for card in passed])
    assert ending(queue, people[0]).kind == End.DONE


def test_what_one_passed_and_another_has_on_the_screen_is_held(queue, people):  # noqa: F811
    leave(queue, people[0], 2, LabelKind.LATER)
    queue.serve(people[1], 9)
    found = ending(queue, people[0])
    assert (found.kind, found.held, found.later) == (End.HELD, 2, 0)


def test_ties_that_wait_for_a_review_and_answers_that_wait_for_others(database, project, people, pool):  # noqa: F811
    change_settings(database, project, people[0], TeamSettings(overlap=1.0))
    queue = queue_for(database, project, "random")
    cards = queue.serve(people[0], 1000)
    queue.apply(people[0], [event(card) for card in cards])
    alone = ending(queue, people[0])
    assert (alone.kind, alone.waiting, alone.review) == (End.DONE, pool, 0)
    cards = queue.serve(people[1], 1000)
    queue.apply(people[1], [event(card, number=1, guess=int(i < 3)) for i, card in enumerate(cards)])
    found = ending(queue, people[1])
    assert (found.kind, found.review, found.answered, found.waiting) == (End.REVIEW, 3, pool - 3, 0)


def test_all_that_measures_is_answered(database, project, people):  # noqa: F811
    with database.write() as s:
        s.execute(delete(Reference))
    queue = queue_for(database, project, MEASURE)
    leave(queue, people[0], 0)
    found = ending(queue, people[0])
    assert (found.kind, found.total) == (End.MEASURED, len(queue.space.pool))


def test_a_selection_is_through(database, project, people):  # noqa: F811
    with database.write() as s:
        items = [item.id for item in repository.items(s, project, "pool")][:4]
        key = repository.add_selection(s, project, items)
    queue = queue_for(database, project, SELECTION + key)
    leave(queue, people[0], 1, LabelKind.UNUSABLE)
    found = ending(queue, people[0])
    assert (found.kind, counts(found)) == (End.SELECTION, {"total": 4, "answered": 3, "set_aside": 1})


def test_ties_are_those_of_the_order(database, project, people):  # noqa: F811
    change_settings(database, project, people[0], TeamSettings(overlap=1.0))
    queue = queue_for(database, project, "random")
    cards = sorted(queue.serve(people[0], 1000), key=lambda card: card.item_id)
    with database.write() as s:
        repository.release(s, project, people[0])
        key = repository.add_selection(s, project, [card.item_id for card in cards[-2:]])
    for number, person in enumerate(people):  # five ties; the selection's are the last by id
        queue.apply(person, [event(card, number=number, guess=number) for card in (*cards[:3], *cards[-2:])])
    found = ending(queue_for(database, project, SELECTION + key), people[0])
    assert (found.kind, found.total, found.review) == (End.SELECTION, 2, 2)
