"""A team on one project: settings, shared images, reviews, gold, rounds that start by themselves."""

import pytest
from sqlalchemy import update

from core import jobs, team, workspace
from core.acquisition.table import Acquisition
from core.errors import InputError, NotAllowed
from core.projects import get_project
from core.queue import queue_for
from core.team import Overlap, TeamSettings, change_settings, gold_due, review, share_images, start_round_if_due
from db import repository
from db.base import LabelKind, Role
from db.models import Person
from db.repository import NewItem, NewLabel


@pytest.fixture
def people(database, project):
    with database.write() as s:
        return [repository.person(s, name) for name in ("Ada", "Bo", "Cy")]


def _pool(database, project):
    with database.read() as s:
        return [item.id for item in repository.items(s, project, "pool")]


def _shared(database, project):
    with database.read() as s:
        return repository.shared(s, project)


def _answer(database, project, who, item, class_=0, kind=LabelKind.ANSWER):
    class_id = get_project(database, project).classes[class_].id if kind == LabelKind.ANSWER else None
    with database.write() as s:
        key = f"{who}:{item}:{repository.last_label_id(s, project)}"
        assert repository.record(s, project, who, [NewLabel(key, item, kind, class_id, source="epig")])[0].accepted


def _sign_in(database, person_id, role):
    with database.write() as s:
        s.execute(update(Person).where(Person.id == person_id).values(password_hash="x", role=role))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"overlap": 1.5}, "from 0 to 1"),
        ({"gold": 0.6}, "from 0 to 0.5"),
        ({"votes": 1}, "2 to 10 people"),
        ({"retrain_every": -1}, "or 0 for never"),
        ({"by": "luck"}, "by random or uncertain"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_reason(wrong, reason):
    with pytest.raises(InputError, match=reason):
        TeamSettings(**wrong)


def test_settings_come_back_as_they_were_stored(database, project, people):
    assert TeamSettings.of(get_project(database, project).team) == TeamSettings()
    chosen = TeamSettings(overlap=0.25, by="uncertain", votes=3, blind=True, retrain_every=20, gold=0.1)
    change_settings(database, project, people[0], chosen)
    assert TeamSettings.of(get_project(database, project).team) == chosen
    assert TeamSettings.of({"overlap": 0.5, "of a later version": 1}) == TeamSettings(overlap=0.5)


def test_a_share_of_the_pool_is_asked_of_several_and_always_the_same(database, project, people):
    n = len(_pool(database, project))
    some = change_settings(database, project, people[0], TeamSettings(overlap=0.4, votes=3))
    first = _shared(database, project)
    assert first.keys() <= set(_pool(database, project))
    assert set(first.values()) == {3}
    assert len(first) == some == pytest.approx(0.4 * n, abs=3 * (0.24 * n) ** 0.5)
    assert share_images(database, project) == some
    assert _shared(database, project) == first
    change_settings(database, project, people[0], TeamSettings(overlap=0.7, votes=2))
    assert first.keys() <= _shared(database, project).keys()  # a larger share contains the smaller one
    change_settings(database, project, people[0], TeamSettings())
    assert _shared(database, project) == {}


def test_what_somebody_answered_keeps_the_number_of_people_it_has(database, project, people):
    change_settings(database, project, people[0], TeamSettings(overlap=1.0, votes=2))
    begun, *_ = _pool(database, project)
    _answer(database, project, people[1], begun)
    change_settings(database, project, people[0], TeamSettings())
    assert _shared(database, project) == {begun: 2}
    change_settings(database, project, people[0], TeamSettings(overlap=1.0, votes=3))
    assert _shared(database, project)[begun] == 2


def test_the_uncertain_ones_are_those_of_the_greatest_entropy(database, project, people):
    change_settings(database, project, people[0], TeamSettings(overlap=0.2, by=Overlap.UNCERTAIN))
    ranked = [item.id for item in workspace.rank(database, project, score=Acquisition.ENTROPY, limit=1000)]
    shared = _shared(database, project)
    assert len(shared) == round(0.2 * len(ranked))
    assert set(ranked[: len(shared)]) == shared.keys()


def test_new_images_are_shared_when_the_queue_meets_them(database, project, people):
    change_settings(database, project, people[0], TeamSettings(overlap=1.0))
    queue_for(database, project, "random")
    with database.write() as s:
        repository.add_items(s, project, [NewItem("new.png", "f" * 64, None, 8, 8, "pool")])
    queue_for(database, project, "random")
    assert max(_pool(database, project)) in _shared(database, project)


def test_only_an_owner_changes_settings_and_only_a_reviewer_reviews_where_people_sign_in(database, project, people):
    ada, bo, cy = people
    _sign_in(database, ada, Role.OWNER)
    _sign_in(database, bo, Role.REVIEWER)
    item, *_ = _pool(database, project)
    with pytest.raises(NotAllowed, match="takes the role owner"):
        change_settings(database, project, bo, TeamSettings())
    with pytest.raises(NotAllowed, match="takes the role reviewer"):
        review(database, project, cy, item, None)
    with pytest.raises(NotAllowed):
        team.mark_gold(database, project, cy, {item: get_project(database, project).classes[0].id})
    assert review(database, project, bo, item, None).state == "reviewed"


def test_a_review_settles_a_tie(database, project, people):
    ada, bo, cy = people
    item, other, *_ = _pool(database, project)
    change_settings(database, project, ada, TeamSettings(overlap=1.0))
    _answer(database, project, bo, item, 0)
    _answer(database, project, cy, item, 1)
    classes = get_project(database, project).classes
    with database.read() as s:
        assert [row.state for row in repository.review_queue(s, project)] == ["tied"]
    found = review(database, project, ada, item, classes[2].id)
    assert (found.state, found.class_id) == ("reviewed", classes[2].id)
    with database.read() as s:
        assert repository.review_queue(s, project) == []
        assert repository.answers(s, project) == {item: 2}
    with pytest.raises(InputError, match="is not in this project"):
        review(database, project, ada, other, 99)


def test_gold_comes_as_often_as_was_asked_for(database, project, people):
    ada, bo, _ = people
    known = _pool(database, project)[:20]
    change_settings(database, project, ada, TeamSettings(gold=0.25))
    team.mark_gold(database, project, ada, dict.fromkeys(known, get_project(database, project).classes[0].id))
    queue, served = queue_for(database, project, "random"), []
    for _ in range(24):
        card = queue.serve(bo, 1)[0]
        served.append(card.item_id)
        _answer(database, project, bo, card.item_id)
    assert sum(item in known for item in served) == 6
    assert len(set(served)) == 24
    with pytest.raises(InputError, match=r"nothing was marked.*99"):
        team.mark_gold(database, project, ada, {99: 1, known[0]: get_project(database, project).classes[1].id})
    with database.read() as s:
        assert {row.class_id for row in repository.gold(s, project)} == {get_project(database, project).classes[0].id}
    team.unmark_gold(database, project, ada, known)
    assert not set(known) & {card.item_id for card in queue.serve(bo, 1000)}  # their answer stands: nobody is asked


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_gold_is_due_at_even_distances(share):
    checked = 0
    for given in range(100):
        checked += gold_due(given, checked, share)
    assert checked == int(100 * share)


def test_a_round_starts_by_itself_after_so_many_answers(database, project, people):
    items = _pool(database, project)
    assert start_round_if_due(database, project) is None
    change_settings(database, project, people[0], TeamSettings(retrain_every=3))
    for item in items[:2]:
        _answer(database, project, people[1], item)
    assert start_round_if_due(database, project) is None
    _answer(database, project, people[1], items[2])
    job = start_round_if_due(database, project)
    assert jobs.job(database, job).kind == "round"
    assert start_round_if_due(database, project) is None  # it is queued already
