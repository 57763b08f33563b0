"""Images asked of several people: who may have them, what a desk sees, gold."""

import subprocess
import sys
from collections import defaultdict
from datetime import timedelta

from sqlalchemy import select

from db.models import Label, now
from db.repository import (
    LEASE,
    NewLabel,
    claim,
    desk,
    gold,
    leases,
    mark_gold,
    person,
    person_counts,
    record,
    shared,
    standing,
    unanswered,
    unmark_gold,
    want,
)
from tests.conftest import ROOT
from tests.db.conftest import make_small
from tests.db.test_processes import HEAD

NOW = now()
LATER = NOW + timedelta(minutes=5)


def _claim(database, small, who, n=8, wishes=None, at=NOW):
    with database.write() as s:
        return claim(s, small.id, who, wishes or small.items[:8], n, at + LEASE, at)


def _say(database, small, who, key, item, kind="answer", source="epig", class_=0):
    class_id = small.classes[class_] if kind == "answer" else None
    with database.write() as s:
        (stored,) = record(s, small.id, who, [NewLabel(key, item, kind, class_id, source=source)], NOW)
    assert stored.accepted, stored.reason


def _share(database, small, items, k):
    with database.write() as s:
        want(s, small.id, items, k)
        return person(s, "Cy"), person(s, "Di")


def test_an_image_is_on_as_many_screens_as_people_are_asked(database, small):
    a = small.items[0]
    cy, di = _share(database, small, [a], 2)
    assert [_claim(database, small, who, 1, [a]) for who in (small.ada, small.bo, cy, di)] == [[a], [a], [], []]
    assert _claim(database, small, small.ada, 1, [a]) == [a]
    with database.read() as s:
        assert leases(s, small.id, NOW) == [(a, small.ada), (a, small.bo)]
        assert leases(s, small.id, LATER) == []


def test_an_answer_takes_the_place_of_a_screen_and_nobody_is_asked_twice(database, small):
    a = small.items[0]
    cy, di = _share(database, small, [a], 2)
    _claim(database, small, small.ada, 1, [a])
    _say(database, small, small.ada, "1", a)
    assert _claim(database, small, small.ada, 1, [a]) == []
    assert _claim(database, small, cy, 1, [a]) == [a]
    assert _claim(database, small, small.bo, 1, [a]) == []
    assert _claim(database, small, small.bo, 1, [a], at=LATER) == [a]
    _say(database, small, small.bo, "2", a)
    assert _claim(database, small, di, 1, [a], at=LATER + LEASE) == []


def test_later_is_no_answer_and_unusable_is_one_for_everybody(database, small):
    a, b = small.items[:2]
    _share(database, small, [b], 3)
    _say(database, small, small.ada, "1", a, "later")
    _say(database, small, small.ada, "2", b, "unusable")
    assert _claim(database, small, small.bo, 2, [a, b]) == [a]
    _say(database, small, small.bo, "3", a, "later")
    assert _claim(database, small, small.ada, 2, [a, b]) == [a]
    with database.read() as s:
        assert [row.item_id for row in standing(s, small.id)] == [b]
        assert desk(s, small.id, small.ada, NOW).later == [a]
        assert desk(s, small.id, small.bo, NOW).closed == {a, b}  # a is on Ada's screen now


def test_a_reviewed_image_is_asked_of_nobody(database, small):
    a = small.items[0]
    _share(database, small, [a], 3)
    _say(database, small, small.bo, "1", a)
    _say(database, small, small.ada, "2", a, source="review")
    assert _claim(database, small, small.ada, 1, [a]) == []
    _say(database, small, small.ada, "3", a, "undo", source="review")
    assert _claim(database, small, small.ada, 1, [a]) == [a]


def test_a_gold_image_is_asked_of_everybody_once_and_its_answer_stands(database, small):
    a, b = small.items[:2]
    cy, _ = _share(database, small, [], 1)
    with database.write() as s:
        assert mark_gold(s, small.id, small.ada, [(a, small.classes[2]), (99, small.classes[0])]) == [
            "image 99 is not in this project"
        ]
        assert [(row.item_id, row.class_id) for row in gold(s, small.id)] == [(a, small.classes[2])]
    for who in (small.bo, cy):
        assert _claim(database, small, who, 1, [a]) == [a]
    assert _claim(database, small, small.ada, 1, [a]) == []
    _say(database, small, small.bo, "1", a, class_=0)
    _say(database, small, cy, "2", a, class_=2)
    assert _claim(database, small, small.bo, 1, [a, b]) == [b]
    with database.write() as s:
        assert [(row.item_id, row.class_id) for row in standing(s, small.id)] == [(a, small.classes[2])]
        checked = {row.name: (row.gold.hits, row.gold.of) for row in person_counts(s, small.id)}
        assert checked == {"Ada": (0, 0), "Bo": (0, 1), "Cy": (1, 1)}
        assert (desk(s, small.id, small.bo).checked, desk(s, small.id, small.bo).given) == (1, 1)
        unmark_gold(s, small.id, [a])
        assert gold(s, small.id) == []


def test_a_desk_says_what_a_person_may_be_asked(database, small):
    a, b, c, d, e, *_ = small.items
    _share(database, small, [a, b, c], 2)
    _say(database, small, small.bo, "1", b)
    _say(database, small, small.bo, "2", a)
    _say(database, small, small.ada, "3", c)
    _say(database, small, small.ada, "4", d, "later")
    _claim(database, small, small.bo, 1, [e])
    with database.read() as s:
        ada, bo = desk(s, small.id, small.ada, NOW), desk(s, small.id, small.bo, NOW)
        assert (ada.again, ada.later, ada.mine, ada.closed) == ([b, a], [d], [], {c, e})
        assert (bo.again, bo.later, bo.mine, bo.closed) == ([c], [], [e], {a, b})
        assert ada.answered == bo.answered == {a, b, c}
        assert ada.leased == {e}
        free = {item for item, _ in unanswered(s, small.id)}
    assert free == set(small.items[3:8])


def test_a_desk_and_a_claim_agree_on_random_logs(database):
    from tests.db.test_consensus import fill

    small = make_small(database, "random", pool=40)
    fill(database, small, 11, n=300)
    for who in (small.ada, small.bo):
        with database.write() as s:
            asked = set(small.items) - desk(s, small.id, who, NOW).closed
            assert set(claim(s, small.id, who, small.items, 100, LATER, NOW)) == asked


def test_who_is_asked_how_often_is_stored(database, small):
    with database.write() as s:
        want(s, small.id, small.items[:3], 2)
        want(s, small.id, small.items[2:4], 3)
        assert shared(s, small.id) == dict(zip(small.items, (2, 2, 3, 3), strict=False))


SHARING = """
while True:
    with database.write() as s:
        got = claim(s, project, me, items, 5, now() + LEASE)
    if not got:
        break
    os.write(1, "".join(f"{each}\\n" for each in got).encode())
    with database.write() as s:
        answered = [NewLabel(f"{name}:{each}", each, "answer", int(class_id), source="epig") for each in got]
        record(s, project, me, answered)
"""


def test_six_processes_serve_each_image_to_as_many_people_as_are_asked(database):
    project = make_small(database, "many", pool=148)
    wanted = {item: 1 + i % 3 for i, item in enumerate(project.items)}
    with database.write() as s:
        for k in (2, 3):
            want(s, project.id, [item for item, each in wanted.items() if each == k], k)
    items = ",".join(map(str, project.items))
    command = [sys.executable, "-c", HEAD + SHARING, database.url, str(project.id), items, str(project.classes[0])]
    children = [subprocess.Popen([*command, f"person {i}"], cwd=ROOT, stdout=subprocess.PIPE) for i in range(6)]
    served = [[int(line) for line in child.communicate(timeout=120)[0].split()] for child in children]
    assert [child.returncode for child in children] == [0] * 6
    assert all(len(each) == len(set(each)) for each in served)  # nobody twice
    times = defaultdict(int)
    for item in (item for each in served for item in each):
        times[item] += 1
    assert times == wanted
    with database.read() as s:
        assert len(list(s.scalars(select(Label.id)))) == sum(wanted.values())
        assert leases(s, project.id) == []
