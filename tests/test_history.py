"""What a round was asked, answers that changed since, and the way back to an earlier model."""

import pytest

from core import history, rounds, workspace
from core.choice import predict
from core.config import home
from core.errors import InputError, NotReady, UnknownName
from core.queue import queue_for
from db import repository
from db.repository import LabelKind, NewLabel
from tests.test_rounds import answer, ranked


def say(database, project, item, kind, position=None, person="Ada", key="x"):
    with database.write() as s:
        classes = {each.position: each.id for each in repository.project(s, project).classes}
        event = NewLabel(f"{key}:{item}", item, kind, classes.get(position), source="epig")
        (done,) = repository.record(s, project, repository.person(s, person), [event])
        assert done.accepted, done.reason


def rows_of(database, project):
    with database.read() as s:
        return repository.rounds(s, project)


def learn_twice(database, project):
    """Two rounds that learned, of 12 and of 20 answers."""
    for seed, n in enumerate((12, 8)):
        answer(database, project, ranked(database, project, limit=n), seed)
        rounds.run_round(database, project)


@pytest.fixture
def learned(database, project):
    learn_twice(database, project)
    return project


def test_rolling_back_adds_a_round_that_ranks_as_the_earlier_one(database, learned):
    rows = rows_of(database, learned)
    space = workspace.workspace(database, learned)
    with_second = predict(space.posterior, space.features, space.texts)
    before = ranked(database, learned, limit=15)
    row = history.roll_back(database, learned, 1)
    now = rows_of(database, learned)
    assert now[:-1] == rows  # only added to
    assert (row.number, row.labels, row.checkpoint, row.metrics["rolled_back_to"]) == (3, 12, rows[1].checkpoint, 1)
    space = workspace.workspace(database, learned)
    assert space.round.number == 3
    assert not predict(space.posterior, space.features, space.texts).equal(with_second)
    assert queue_for(database, learned, "epig").round_number == 3
    assert ranked(database, learned, limit=15) != before  # by model 1, given all 20 answers
    with database.read() as s:
        assert repository.answers_since(s, learned, row.label_watermark) == 8  # what model 1 has not learned
    again = history.roll_back(database, learned, 2)
    assert (again.number, again.metrics["rolled_back_to"]) == (4, 2)
    assert ranked(database, learned, limit=15) == before
    third = rounds.run_round(database, learned)
    assert (third.labels, history.copied(third)) == (20, None)


def test_a_copy_of_a_copy_names_the_round_that_learned(database, learned):
    history.roll_back(database, learned, 1)
    history.roll_back(database, learned, 2)
    row = history.roll_back(database, learned, 3)
    assert history.copied(row) == 1
    assert history.origin(row, rows_of(database, learned)).number == 1


def test_a_way_back_that_is_none_says_so(database, learned):
    with pytest.raises(UnknownName, match="no round 9"):
        history.roll_back(database, learned, 9)
    with pytest.raises(InputError, match="the one in use"):
        history.roll_back(database, learned, 2)
    (home() / rows_of(database, learned)[1].checkpoint).unlink()
    with pytest.raises(NotReady, match="is gone"):
        history.roll_back(database, learned, 1)
    assert len(rows_of(database, learned)) == 3


def test_a_round_was_asked_what_the_one_before_had_not_learned(database, learned):
    rows = rows_of(database, learned)
    with database.read() as s:
        first, second = repository.answers(s, learned, rows[1].label_watermark), repository.answers(s, learned)
    assert history.asked(database, rows[0], rows) == []
    assert {each.item_id for each in history.asked(database, rows[1], rows)} == first.keys()
    given = history.asked(database, rows[2], rows)
    assert {each.item_id for each in given} == second.keys() - first.keys()
    assert {(each.person, each.source) for each in given} == {("Ada", "oracle")}
    history.roll_back(database, learned, 1)
    rows = rows_of(database, learned)
    assert {each.item_id for each in history.asked(database, rows[3], rows)} == first.keys()


def test_an_undone_answer_was_not_asked_and_a_repeated_one_counts_once(database, project):
    gone, twice = ranked(database, project, limit=2)
    say(database, project, gone, LabelKind.ANSWER, 0, key="a")
    say(database, project, gone, LabelKind.UNDO, key="b")
    say(database, project, twice, LabelKind.ANSWER, 0, key="c")
    say(database, project, twice, LabelKind.ANSWER, 1, key="d")
    rounds.run_round(database, project)
    rows = rows_of(database, project)
    (given,) = history.asked(database, rows[1], rows)
    with database.read() as s:
        assert given.class_id == repository.project(s, project).classes[1].id
    assert given.item_id == twice


def test_what_a_round_was_asked_is_told_in_the_classes_of_now(database, project):
    """An answer of a merged class is its heir's; one of a deleted class keeps the class that is gone."""
    heir, merged, deleted, same = ranked(database, project, limit=4)
    for position, item in enumerate((heir, merged, deleted, same)):
        say(database, project, item, LabelKind.ANSWER, position)
    rounds.run_round(database, project)
    with database.write() as s:
        classes = [each.id for each in repository.project(s, project).classes]
        owner = repository.person(s, "Ada")
        repository.merge_class(s, project, owner, classes[1], classes[0])
        repository.delete_class(s, project, owner, classes[2])
    rows = rows_of(database, project)
    given = {each.item_id: each.class_id for each in history.asked(database, rows[1], rows)}
    assert given == {heir: classes[0], merged: classes[0], deleted: classes[2], same: classes[3]}


def test_a_model_is_stale_where_answers_that_it_learned_from_have_changed(database, learned):
    last = rows_of(database, learned)[-1]
    assert history.changed_answers(database, last) == []
    with database.read() as s:
        answers = repository.answers(s, learned)
    other, withdrawn, same = sorted(answers)[:3]
    say(database, learned, other, LabelKind.ANSWER, (answers[other] + 1) % 12, person="Bo")
    say(database, learned, withdrawn, LabelKind.UNDO)
    say(database, learned, same, LabelKind.ANSWER, answers[same], person="Bo", key="y")
    say(database, learned, ranked(database, learned, limit=1)[0], LabelKind.ANSWER, 0, key="new")
    changed = {each.item_id: (each.was, each.now) for each in history.changed_answers(database, last)}
    assert changed == {
        other: (answers[other], (answers[other] + 1) % 12),
        withdrawn: (answers[withdrawn], None),
    }
    assert history.changed_answers(database, rounds.run_round(database, learned)) == []
