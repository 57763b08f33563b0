"""What stands together: the view in SQL against a loop over the log, on random logs of four people."""

import random

import pytest

from db.base import VerdictState
from db.repository import (
    NewLabel,
    Said,
    answers,
    answers_since,
    delete_class,
    heard,
    history,
    merge_class,
    person,
    record,
    review_queue,
    said,
    standing,
    verdict,
    verdict_counts,
    verdicts,
    want,
)
from tests.db.conftest import make_small

UNUSABLE = "unusable"


def decide(events, wanted, means):
    """(state, what stands, votes, uncounted) of one item's events, the slow way; None where nobody said anything."""
    streams = {}
    for event in sorted(events, key=lambda event: event.id):
        streams.setdefault((event.person_id, event.source == "review"), []).append(event)
    votes, reviews = [], []
    for (_, is_review), mine in sorted(streams.items(), key=lambda each: each[1][0].id):
        last = mine[-1]
        said = UNUSABLE if last.kind in ("skip", "unusable") else means.get(last.class_id)
        if last.kind not in ("undo", "later") and said is not None:
            (reviews if is_review else votes).append((last.id, said))
    counted = votes if wanted == 1 else votes[:wanted]
    beyond = len(votes) - len(counted)
    if not votes and not reviews:
        return None
    said = [what for _, what in counted]
    most = max((said.count(what) for what in said), default=0)
    leaders = {what for what in said if said.count(what) == most}
    if reviews:
        return VerdictState.REVIEWED, max(reviews)[1], len(counted), beyond
    stands = max(counted)[1] if wanted == 1 else (leaders.pop() if len(leaders) == 1 else None)
    if len(counted) < wanted and UNUSABLE not in said:
        state = VerdictState.WAITING
    elif stands is None:
        state = VerdictState.TIED
    elif len(set(said)) > 1:
        state = VerdictState.DISPUTED
    else:
        state = VerdictState.UNUSABLE if stands == UNUSABLE else VerdictState.AGREED
    return state, stands, len(counted), beyond


def fill(database, small, seed, n=400):
    """A random log; Ada, the owner, also reviews. Returns how many people are wanted of each item."""
    rng = random.Random(seed)
    wanted = {item: rng.choice([1, 1, 2, 3]) for item in small.items}
    with database.write() as s:
        people = [small.ada, small.bo, person(s, "Cy"), person(s, "Di")]
        for item, k in wanted.items():
            want(s, small.id, [item], k)
        for i in range(n):
            kind = rng.choice(["answer"] * 7 + ["skip", "later", "unusable", "undo", "undo"])
            who = rng.choice(people)
            source = rng.choice(["epig", "epig", "epig", "review"]) if who == small.ada and i % 3 == 0 else "epig"
            class_id = rng.choice(small.classes) if kind == "answer" else None
            record(s, small.id, who, [NewLabel(str(i), rng.choice(small.items), kind, class_id, source=source)])
    return wanted


def _log(database, small):
    with database.read() as s:
        return {item: history(s, item) for item in small.items}


def _check(database, small, wanted, means, up_to=None):
    log = {
        item: [e for e in events if up_to is None or e.id <= up_to] for item, events in _log(database, small).items()
    }
    expected = {item: found for item, k in wanted.items() if (found := decide(log[item], k, means)) is not None}
    with database.read() as s:
        if up_to is None:
            got = {row.item_id: row for row in verdicts(s, small.id, limit=100)}
            shown = {
                item: (row.state, row.class_id or (row.label_id and UNUSABLE), row.votes, row.uncounted)
                for item, row in got.items()
            }
            assert shown == expected
            assert {row.item_id: row.class_id for row in standing(s, small.id)} == {
                item: None if stands == UNUSABLE else stands for item, (_, stands, *_) in expected.items() if stands
            }
            assert [verdict(s, small.id, item) for item in small.items] == [got.get(item) for item in small.items]
        pool = set(small.items[:8])
        order = sorted(set(means.values()))  # positions of what is left, in the order of ids here
        assert answers(s, small.id, up_to) == {
            item: order.index(stands)
            for item, (_, stands, *_) in expected.items()
            if stands not in (None, UNUSABLE) and item in pool
        }


@pytest.mark.parametrize("seed", range(4))
def test_the_view_equals_a_loop_over_the_log(database, small, seed):
    wanted = fill(database, small, seed)
    means = {each: each for each in small.classes}
    _check(database, small, wanted, means)
    for up_to in (40, 150, 300):
        _check(database, small, wanted, means, up_to)


def test_so_it_does_after_a_class_was_merged_and_another_deleted(database, small):
    wanted = fill(database, small, 7)
    cat, dog, cow = small.classes
    with database.write() as s:
        merge_class(s, small.id, small.ada, dog, cow)
    _check(database, small, wanted, {cat: cat, dog: cow, cow: cow})
    with database.write() as s:
        delete_class(s, small.id, small.ada, cat)
    _check(database, small, wanted, {dog: cow, cow: cow})


@pytest.mark.parametrize("seed", [2, 5])
def test_what_each_person_says_equals_a_loop_over_the_log(database, small, seed):
    wanted = fill(database, small, seed)
    cat, dog, cow = small.classes
    with database.write() as s:
        merge_class(s, small.id, small.ada, dog, cow)
        delete_class(s, small.id, small.ada, cat)
    means, log = {dog: (cow, "cow"), cow: (cow, "cow"), None: (None, None)}, _log(database, small)
    expected = {item: [] for item in small.items}
    for item, events in log.items():
        streams = {}
        for event in events:
            streams.setdefault((event.person_id, event.source == "review"), []).append(event)
        turns = 0
        for (_, is_review), mine in streams.items():  # by their first event
            last = mine[-1]
            if last.kind in ("undo", "later") or last.class_id not in means:
                continue
            turns += not is_review
            counted = is_review or wanted[item] == 1 or turns <= wanted[item]
            what = (last.person_id, last.person, *means[last.class_id], last.created_at, counted, is_review)
            expected[item].append((last.id, Said(item, *what)))
    with database.read() as s:
        assert said(s, small.id, small.items) == {
            item: [each for _, each in sorted(those, key=lambda pair: pair[0])] for item, those in expected.items()
        }
        assert heard(s, small.id) == {
            item: any(each.class_id for _, each in those) for item, those in expected.items() if those
        }


def test_newer_answers_are_those_whose_standing_event_is_newer(database, small):
    fill(database, small, 3)
    with database.read() as s:
        pool = [row for row in standing(s, small.id) if row.item_id in small.items[:8] and row.class_id]
        for mark in (0, 100, 250, 399):
            assert answers_since(s, small.id, mark) == sum(row.label_id > mark for row in pool)


def test_states_are_counted_and_paged_with_ties_first(database):
    small = make_small(database, "many", pool=60)
    fill(database, small, 1, n=900)
    with database.read() as s:
        everything = verdicts(s, small.id, limit=1000)
        states = [row.state for row in everything]
        assert verdict_counts(s, small.id) == {state: states.count(state) for state in VerdictState}
        assert len(set(states)) >= 5
        pages = [row for offset in range(0, 80, 7) for row in review_queue(s, small.id, offset, 7)]
        assert pages == [row for row in everything if row.state in (VerdictState.TIED, VerdictState.DISPUTED)]
        tied = states.count(VerdictState.TIED)
        assert [row.state for row in pages[:tied]] == [VerdictState.TIED] * tied
        first = verdicts(s, small.id, [VerdictState.REVIEWED], limit=3)
        assert [row.state for row in first] == [VerdictState.REVIEWED] * 3


def _say(database, small, who, item, class_=0, kind="answer", source="epig"):
    with database.write() as s:
        key = f"{who}:{item}:{class_}:{kind}:{source}"
        return record(
            s,
            small.id,
            who,
            [NewLabel(key, item, kind, small.classes[class_] if kind == "answer" else None, source=source)],
        )[0]


def test_what_comes_beyond_the_people_asked_is_kept_and_not_counted(database, small):
    item = small.items[0]
    with database.write() as s:
        want(s, small.id, [item], 2)
        third = person(s, "Cy")
    for who, class_ in ((small.ada, 0), (small.bo, 0), (third, 1)):
        assert _say(database, small, who, item, class_).accepted
    with database.read() as s:
        row = verdict(s, small.id, item)
        assert (row.state, row.class_id, row.votes, row.uncounted) == ("agreed", small.classes[0], 2, 1)
        assert len(history(s, item)) == 3


def test_two_who_answer_one_image_at_once_are_both_in_the_history_and_the_conflict_shows(database, small):
    item = small.items[0]
    _say(database, small, small.ada, item, 0)
    _say(database, small, small.bo, item, 1)
    with database.read() as s:
        (row,) = review_queue(s, small.id)
        assert (row.item_id, row.state, row.class_id) == (item, "disputed", small.classes[1])
        assert [event.person for event in history(s, item)] == ["Ada", "Bo"]


def test_a_review_decides_and_leaves_the_votes(database, small):
    item = small.items[0]
    with database.write() as s:
        want(s, small.id, [item], 2)
    _say(database, small, small.ada, item, 0)
    _say(database, small, small.bo, item, 1)
    with database.read() as s:
        assert verdict(s, small.id, item).state == "tied"
        assert answers(s, small.id) == {}
    assert _say(database, small, small.ada, item, 2, source="review").accepted
    with database.read() as s:
        row = verdict(s, small.id, item)
        assert (row.state, row.class_id, row.votes, row.options) == ("reviewed", small.classes[2], 2, 2)
        assert answers(s, small.id) == {item: 2}
    assert _say(database, small, small.ada, item, kind="undo", source="review").accepted
    with database.read() as s:
        assert verdict(s, small.id, item).state == "tied"
