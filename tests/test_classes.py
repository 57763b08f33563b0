"""Classes of a project with a model: what a preview counts is what the change does, and the desk goes on after it."""

import pytest
from sqlalchemy import update

from core import classes, jobs, rounds
from core.classes import ClassChange, change_classes, preview, texts_missing
from core.errors import InputError, NotAllowed, NotReady, TooFewClasses, UnknownName
from core.projects import get_project
from core.queue import queue_for
from db import repository
from db.base import ClassChangeKind as Kind
from db.base import JobState, Role
from db.models import Person
from db.repository import NewLabel


@pytest.fixture
def owner(database, project):
    """Ada, who answered 12 images, each of the first three classes four times."""
    with database.write() as s:
        ada = repository.person(s, "Ada")
        ids = [each.id for each in repository.project(s, project).classes]
        for i, item in enumerate(repository.items(s, project, "pool")[:12]):
            repository.record(s, project, ada, [NewLabel(f"{i}", item.id, "answer", ids[i % 3], source="epig")])
        return ada


def _ids(database, project):
    return [each.id for each in get_project(database, project).classes]


def _everything(database, project):
    with database.read() as s:
        return repository.project(s, project), repository.answers(s, project), repository.class_changes(s, project)


def test_a_preview_is_the_change_and_keeps_nothing(database, project, owner):
    one, two, three, *_ = _ids(database, project)
    changes = [
        ClassChange(Kind.MERGE, one, heir_id=two),
        ClassChange(Kind.DELETE, three),
        ClassChange(Kind.RENAME, two, "both"),
        ClassChange(Kind.ADD, name="new"),
    ]
    before = _everything(database, project)
    shown = preview(database, project, owner, changes)
    assert _everything(database, project) == before
    assert change_classes(database, project, owner, changes) == shown
    assert (shown.answers, shown.moved, shown.lost, shown.stale_rounds) == (12, 4, 4, 1)
    assert shown.after == ("both", *shown.before[3:], "new")
    assert shown.new_texts == ("both", "new")
    assert shown.references_lost > 0
    after, answers, history = _everything(database, project)
    assert tuple(each.name for each in after.classes) == shown.after
    assert [each.position for each in after.classes] == list(range(len(after.classes)))
    assert sorted(answers.values()) == [0] * 8
    assert [row.kind for row in reversed(history)] == [change.kind for change in changes]


def test_either_all_changes_are_made_or_none(database, project, owner):
    one, two, *_ = _ids(database, project)
    before = _everything(database, project)
    names = [each.name for each in before[0].classes]
    for bad, error, reason in [
        (ClassChange(Kind.ADD, name=names[1]), InputError, "already"),
        (ClassChange(Kind.DELETE, 999), UnknownName, "no class 999"),
        (ClassChange(Kind.RENAME, two, "  "), InputError, "class name"),
    ]:
        with pytest.raises(error, match=reason):
            change_classes(database, project, owner, [ClassChange(Kind.DELETE, one), bad])
    with pytest.raises(TooFewClasses, match="would leave 1"):
        change_classes(
            database, project, owner, [ClassChange(Kind.DELETE, each) for each in _ids(database, project)[1:]]
        )
    assert _everything(database, project) == before


def test_classes_do_not_change_under_a_round(database, project, owner):
    job = jobs.enqueue(database, project, "round", {})
    change = [ClassChange(Kind.ADD, name="new")]
    assert preview(database, project, owner, change).new_texts == ("new",)  # queued: it will read them when it starts
    jobs.take(database, job)
    with pytest.raises(NotReady, match="a round is learning"):
        change_classes(database, project, owner, change)
    jobs.finish(database, job, JobState.DONE)
    change_classes(database, project, owner, change)


def test_only_an_owner_changes_classes_where_people_sign_in(database, project, owner):
    with database.write() as s:
        bo = repository.person(s, "Bo")
        s.execute(update(Person).where(Person.id == owner).values(password_hash="x"))
        s.execute(update(Person).where(Person.id == bo).values(role=Role.REVIEWER))
    with pytest.raises(NotAllowed):
        change_classes(database, project, bo, [ClassChange(Kind.ADD, name="new")])


def test_the_desk_goes_on_once_the_new_texts_are_encoded(database, project, owner):
    queue = queue_for(database, project, "epig")
    one, two, *_ = _ids(database, project)
    change_classes(
        database, project, owner, [ClassChange(Kind.MERGE, one, heir_id=two), ClassChange(Kind.ADD, name="x")]
    )
    assert texts_missing(database, project) == ["x"]
    assert [job.kind for job in jobs.active(database, project)] == ["prepare"]
    with pytest.raises(NotReady):
        queue_for(database, project, "epig")
    rounds.prepare(database, project)
    assert texts_missing(database, project) == []
    new = queue_for(database, project, "epig")
    assert new is not queue
    assert {guess.class_id for card in new.serve(owner, 5) for guess in card.guesses} <= set(_ids(database, project))
    row = rounds.run_round(database, project)
    assert (row.class_version, row.labels) == (2, 12)


def test_a_merge_alone_needs_no_new_text(database, project, owner):
    one, two, *_ = _ids(database, project)
    effect = classes.change_classes(database, project, owner, [ClassChange(Kind.MERGE, one, heir_id=two)])
    assert effect.new_texts == ()
    assert jobs.active(database, project) == []
    assert queue_for(database, project, "epig").serve(owner, 3)
