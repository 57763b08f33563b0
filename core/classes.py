"""Changing a project's classes: several changes in one transaction, with a preview that is the change itself, undone.

Labels keep the class they were given. A merged class stands for its heir from then on; what was answered with a deleted
one counts as not answered, and is asked again. Models keep their heads: only the texts of the classes are new, so they
are encoded again, and figures of earlier rounds are of the classes of that time (`stale_rounds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from core import jobs
from core.class_texts import as_in, fill_all, templates
from core.errors import InputError, NotReady, TooFewClasses, UnknownName
from core.features import text_key
from core.people import may
from core.projects import get_project
from core.workspace import text_store
from db import repository
from db.base import ClassChangeKind, Role
from db.repository import ProjectRow
from db.session import Database


@dataclass(frozen=True, slots=True)
class ClassChange:
    """One change: ADD name · RENAME class_id name · MERGE class_id into heir_id · DELETE class_id."""

    kind: ClassChangeKind
    class_id: int | None = None
    name: str = ""
    heir_id: int | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What changes do to a project, counted."""

    before: tuple[str, ...]  # class names by position
    after: tuple[str, ...]
    answers: int  # standing answers of the pool, before
    moved: int  # of them, now of another class
    lost: int  # of them, asked again
    gold_lost: int  # known answers whose class is gone
    references_lost: int  # of validation and test images, which then measure nothing
    settled: int  # disagreements that are none any more: their classes are one now
    stale_rounds: int  # rounds that were measured with other classes
    new_texts: tuple[str, ...]  # class names to be encoded
    names: dict[int, str] = field(compare=False)  # `after` by id; a preview's ids of new classes are given up again
    ever: tuple[int, ...] = field(compare=False)  # ids of all classes there would have been


def preview(database: Database, project_id: int, person_id: int, changes: Sequence[ClassChange]) -> Effect:
    """What the changes would do; nothing is kept. Raises as `change_classes`, but anybody may look."""
    try:
        with database.write() as s:
            raise _Undo(_change(s, project_id, person_id, changes))
    except _Undo as undone:
        return undone.effect


def change_classes(database: Database, project_id: int, person_id: int, changes: Sequence[ClassChange]) -> Effect:
    """Make the changes, all or none. Where there are new names, the job "prepare" is queued, which encodes their texts.

    Raises NotAllowed, UnknownName for no such project or class, InputError for a name that is taken, TooFewClasses, or
    NotReady while a round is learning.
    """
    may(database, person_id, Role.OWNER)
    with database.write() as s:
        effect = _change(s, project_id, person_id, changes)
    if effect.new_texts:
        jobs.enqueue(database, project_id, "prepare", {})
    return effect


def texts_missing(database: Database, project_id: int) -> list[str]:
    """Names of classes whose text is not encoded yet, so that nothing can be ranked or served; before round 0, all."""
    project = get_project(database, project_id)
    with database.read() as s:
        newest = repository.latest_round(s, project_id)
    if newest is None:
        return [each.name for each in project.classes]
    store = text_store(newest.fingerprint)
    said = {each.name: fill_all(templates(as_in(project, newest)), [each.name]) for each in project.classes}
    return [name for name, texts in said.items() if store.missing([text_key(text) for text in texts])]


class _Undo(Exception):  # leaves the preview's transaction, which rolls it back
    def __init__(self, effect: Effect) -> None:
        self.effect = effect


@dataclass(frozen=True, slots=True)
class _State:
    project: ProjectRow
    answers: dict[int, int]  # item → id of the class that stands, of the pool
    measured: int
    gold: int
    disputed: int


def _change(s: Session, project_id: int, person_id: int, changes: Sequence[ClassChange]) -> Effect:
    try:
        repository.lock_classes(s, project_id)
        before = _state(s, project_id)
        if repository.round_running(s, project_id):
            raise NotReady("a round is learning these classes: change them when it has ended, or cancel it")
        for change in changes:
            _CHANGES[change.kind](s, project_id, person_id, change)
        after = _state(s, project_id)
    except LookupError as error:
        raise UnknownName(str(error)) from error
    except ValueError as error:
        raise InputError(str(error)) from error
    if len(after.project.classes) < 2:
        raise TooFewClasses(f"a project needs 2 classes or more, this would leave {len(after.project.classes)}")
    return _effect(s, before, after)


_CHANGES = {
    ClassChangeKind.ADD: lambda s, project, who, c: repository.add_class(s, project, who, c.name),
    ClassChangeKind.RENAME: lambda s, project, who, c: repository.rename_class(s, project, who, c.class_id, c.name),
    ClassChangeKind.MERGE: lambda s, project, who, c: repository.merge_class(s, project, who, c.class_id, c.heir_id),
    ClassChangeKind.DELETE: lambda s, project, who, c: repository.delete_class(s, project, who, c.class_id),
}


def _state(s: Session, project_id: int) -> _State:
    project = repository.project(s, project_id)
    classes = project.classes
    answers = {item: classes[position].id for item, position in repository.answers(s, project_id).items()}
    measured = sum(len(repository.measured(s, project_id, split)) for split in ("validation", "test"))
    gold = sum(each.class_id is not None for each in repository.gold(s, project_id))
    states = repository.verdict_counts(s, project_id)
    return _State(project, answers, measured, gold, sum(states[each] for each in repository.TO_REVIEW))


def _effect(s: Session, before: _State, after: _State) -> Effect:
    names = tuple(each.name for each in before.project.classes), tuple(each.name for each in after.project.classes)
    both = before.answers.keys() & after.answers.keys()
    rounds = repository.rounds(s, after.project.id)
    return Effect(
        *names,
        answers=len(before.answers),
        moved=sum(before.answers[item] != after.answers[item] for item in both),
        lost=len(before.answers) - len(both),
        gold_lost=before.gold - after.gold,
        references_lost=before.measured - after.measured,
        settled=max(0, before.disputed - after.disputed),
        stale_rounds=sum(row.class_version < after.project.class_version for row in rounds),
        new_texts=tuple(name for name in names[1] if name not in names[0]),
        names={each.id: each.name for each in after.project.classes},
        ever=tuple(repository.class_names(s, after.project.id)),
    )
