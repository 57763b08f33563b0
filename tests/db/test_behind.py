"""The images behind the team's figures: as many as the figures count, what differs first; what may become gold."""

from itertools import count

import pytest

from db.repository import (
    NewLabel,
    add_flag,
    delete_class,
    flags,
    mark_gold,
    merge_class,
    person,
    person_counts,
    record,
    resolve_flag,
    unmark_gold,
    votes,
    want,
)
from db.repository.behind import Behind, class_pairs, differing, pressed, settled_flags
from db.repository.known import answered, gold_page

KEYS = count()


def _say(database, small, who, item, class_=0, kind="answer", source="epig", guess=None, seen=False, ms=None):
    class_id = small.classes[class_] if kind == "answer" else None
    suggested = None if guess is None else small.classes[guess]
    more = {"suggested_class_id": suggested, "suggestion_seen": seen, "lead_ms": ms}
    event = NewLabel(f"b{next(KEYS)}", small.items[item], kind, class_id, source=source, **more)
    with database.write() as s:
        (stored,) = record(s, small.id, who, [event])
    assert stored.accepted, stored.reason


@pytest.fixture
def told(database, small):
    """Ada: 5 answers (one corrected), an unusable one, a later, an undo, a review; Bo: 3 answers, one unusable."""
    ada, bo = small.ada, small.bo
    with database.write() as s:
        want(s, small.id, small.items[:8], 2)
    _say(database, small, ada, 0, 0, guess=0, ms=500)
    _say(database, small, ada, 1, 1, guess=0, ms=9000)
    _say(database, small, ada, 2, 2, guess=2, seen=True, ms=700)
    _say(database, small, ada, 3, 0, guess=1, seen=True)
    _say(database, small, ada, 3, 1, guess=1, seen=True, ms=100)
    _say(database, small, ada, 4, kind="unusable")
    _say(database, small, ada, 5, kind="later")
    _say(database, small, ada, 6, 0, ms=300)
    _say(database, small, ada, 6, kind="undo")
    _say(database, small, ada, 7, 2, source="review")
    _say(database, small, bo, 0, 0)
    _say(database, small, bo, 1, 2)
    _say(database, small, bo, 2, 1)
    _say(database, small, bo, 4, 1)
    return small


def _events(counts, which):
    return {
        Behind.ANSWERS: counts.answers,
        Behind.SLOW: counts.answers - 1,  # one came without its time
        Behind.UNUSABLE: counts.unusable,
        Behind.LATER: counts.later,
        Behind.UNDONE: counts.undone,
        Behind.REVIEWS: counts.reviews,
        Behind.BLIND: counts.blind.of,
        Behind.SEEN: counts.seen.of,
        Behind.GOLD: counts.gold.of,
    }[which]


@pytest.mark.parametrize("which", list(Behind))
def test_as_many_images_as_the_figure_counts(database, told, which):
    with database.write() as s:
        mark_gold(s, told.id, told.bo, [(told.items[0], told.classes[0]), (told.items[1], told.classes[2])])
    with database.read() as s:
        (counts,) = [each for each in person_counts(s, told.id) if each.id == told.ada]
        shown = pressed(s, told.id, told.ada, which, 0, 100)
        paged = [row for offset in range(0, 100, 2) for row in pressed(s, told.id, told.ada, which, offset, 2)]
    assert len(shown) == _events(counts, which) > 0
    assert paged == shown
    if which in (Behind.BLIND, Behind.SEEN, Behind.GOLD):
        hits = {Behind.BLIND: counts.blind, Behind.SEEN: counts.seen, Behind.GOLD: counts.gold}[which].hits
        assert sum(bool(row.agrees) for row in shown) == hits
        assert [row.agrees for row in shown] == sorted(row.agrees for row in shown)  # what differs first
    if which is Behind.SLOW:
        assert [row.lead_ms for row in shown] == [9000, 700, 500, 300, 100]


def test_a_merged_class_agrees_with_its_heir(database, told):
    def agrees():
        with database.read() as s:
            return {row.item_id: row.agrees for row in pressed(s, told.id, told.ada, Behind.BLIND)}

    assert agrees() == {told.items[0]: True, told.items[1]: False}
    with database.write() as s:
        merge_class(s, told.id, told.ada, told.classes[1], told.classes[0])
    assert agrees() == {told.items[0]: True, told.items[1]: True}


def test_pairs_of_classes_are_counted_with_unusable_and_by_what_classes_are_now(database, told):
    cat, dog, cow = told.classes

    def found():
        with database.read() as s:
            return {(each.one, each.other): each.images for each in class_pairs(s, told.id)}

    assert found() == {(dog, cow): 2, (None, dog): 1}
    _say(database, told, told.bo, 3, 0)
    assert found() == {(dog, cow): 2, (None, dog): 1, (cat, dog): 1}
    with database.write() as s:
        merge_class(s, told.id, told.ada, cow, dog)
    assert found() == {(None, dog): 1, (cat, dog): 1}
    with database.write() as s:
        delete_class(s, told.id, told.ada, dog)
    assert found() == {}


def test_the_images_people_differ_on_are_those_of_their_votes(database, told):
    cy = None
    with database.write() as s:
        cy = person(s, "Cy")
    _say(database, told, cy, 0, 1)
    with database.read() as s:
        said = votes(s, told.id)
        by_item = {}
        for vote in said:
            by_item.setdefault(vote.item_id, {})[vote.person_id] = vote.class_id
        slow = sorted(item for item, given in by_item.items() if len(set(given.values())) > 1)
        two = sorted(
            item for item, given in by_item.items()
            if {told.ada, told.bo} <= given.keys() and given[told.ada] != given[told.bo]
        )  # fmt: skip
        everybody = differing(s, told.id)
        pair = differing(s, told.id, people=(told.ada, told.bo))
        assert (everybody[0], [item for item, _ in everybody[1]]) == (len(slow), slow)
        assert (pair[0], [item for item, _ in pair[1]]) == (len(two), two)
        assert [item for item, _ in differing(s, told.id, offset=1, limit=1)[1]] == slow[1:2]
        dog, cow = told.classes[1:]
        assert [item for item, _ in differing(s, told.id, classes=(dog, cow))[1]] == told.items[1:3]
        assert [item for item, _ in differing(s, told.id, classes=(None, dog))[1]] == [told.items[4]]


def test_settled_flags_are_counted(database, small):
    with database.write() as s:
        first = add_flag(s, small.id, small.ada, small.items[0], "blurred")
        add_flag(s, small.id, small.ada, small.items[1], "cut")
        assert settled_flags(s, small.id) == 0
        resolve_flag(s, small.id, small.bo, first)
        assert settled_flags(s, small.id) == len(flags(s, small.id, settled=True)) == 1


def test_what_may_become_gold_are_standing_answers_of_the_pool(database, told):
    """Ada's and Bo's ties on 1, 2 and 4 stand for nothing; 3 waits, and stands; 9 is a validation image."""
    _say(database, told, told.ada, 9, 0)
    with database.read() as s:
        total, rows = answered(s, told.id, 0, 100)
        assert total == len(rows)
        assert {row.item_id: row.class_id for row in rows} == {
            told.items[0]: told.classes[0],
            told.items[3]: told.classes[1],
            told.items[7]: told.classes[2],
        }
        assert answered(s, told.id, 1, 1) == (3, rows[1:2])
    with database.write() as s:
        mark_gold(s, told.id, told.bo, [(told.items[0], told.classes[0]), (told.items[8], told.classes[2])])
    with database.read() as s:
        assert answered(s, told.id)[0] == 2
        assert gold_page(s, told.id)[0] == 2
        assert {row.item_id for row in gold_page(s, told.id)[1]} == {told.items[0], told.items[8]}
        assert len(gold_page(s, told.id, 1, 5)[1]) == 1
    with database.write() as s:
        unmark_gold(s, told.id, [told.items[0]])
        delete_class(s, told.id, told.ada, told.classes[2])
        assert [row.class_id for row in gold_page(s, told.id)[1]] == [None]
