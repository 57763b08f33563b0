"""What each person did, for the team's page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, NotNullable, Select, and_, case, func, select
from sqlalchemy.orm import Session

from db.models import Gold, Label, LabelKind, Person
from db.repository.classes import class_map
from db.repository.events import ASIDE, OWN, REVIEW, UNPRESSED, last_ids, says
from db.repository.rows import PersonCounts, Share, Vote


def votes(s: Session, project_id: int) -> list[Vote]:
    """What each person says of each image in their last event on it: answers, no reviews; by item and person."""
    query = select(Label.item_id, Label.person_id, NotNullable(Label.class_id)).where(*_votes(project_id))
    means = class_map(s, project_id)
    rows = s.execute(query.order_by(Label.item_id, Label.person_id))
    return [Vote(item, person, means[class_id].id) for item, person, class_id in rows]


def person_counts(s: Session, project_id: int) -> list[PersonCounts]:
    """What everybody who ever answered here did, and how often votes are the model's guess or the gold; by name."""
    guessed, gold = _guessed(s, project_id), _gold(s, project_id)
    return [
        PersonCounts(**row._mapping, blind=guessed[row.id, False], seen=guessed[row.id, True], gold=gold[row.id])
        for row in list[Any](s.execute(_events(project_id)))
    ]


def event_times(s: Session, project_id: int, person_id: int) -> list[datetime]:
    """When a person pressed a key that says something, oldest first; imports are left out."""
    pressed = (Label.project_id == project_id, Label.person_id == person_id, Label.source.not_in(UNPRESSED))
    return list(s.scalars(select(Label.created_at).where(*pressed).order_by(Label.id)))


def _events(project_id: int) -> Select:
    def number(*conditions: ColumnElement[bool]) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((and_(*conditions), 1), else_=0)), 0)

    columns = (
        number(Label.kind == LabelKind.ANSWER, Label.source != REVIEW).label("answers"),
        number(Label.kind.in_(ASIDE)).label("unusable"),
        number(Label.kind == LabelKind.LATER).label("later"),
        number(Label.kind == LabelKind.UNDO).label("undone"),
        number(Label.source == REVIEW).label("reviews"),
    )
    last = func.max(Label.created_at).label("last_at")
    query = select(Person.id, Person.name, *columns, last).join(Label, Label.person_id == Person.id)
    return query.where(Label.project_id == project_id).group_by(Person.id, Person.name).order_by(Person.name)


def _guessed(s: Session, project_id: int) -> dict[tuple[int, bool], Share]:
    """Votes that are what the model guessed, by person and whether they saw the guess."""
    query = select(Label.person_id, Label.suggestion_seen, Label.class_id, Label.suggested_class_id, func.count())
    query = query.where(*_votes(project_id), Label.suggested_class_id.is_not(None))
    rows = s.execute(query.group_by(*query.selected_columns[:4])).all()
    return _shares(s, project_id, [((person, seen), *rest) for person, seen, *rest in rows])


def _gold(s: Session, project_id: int) -> dict[int, Share]:
    """Votes that are the known answer, by person."""
    query = select(Label.person_id, Label.class_id, Gold.class_id, func.count())
    query = query.join(Gold, Gold.item_id == Label.item_id).where(*_votes(project_id))
    return _shares(s, project_id, s.execute(query.group_by(Label.person_id, Label.class_id, Gold.class_id)).all())


def _votes(project_id: int) -> tuple[ColumnElement[bool], ...]:
    last = last_ids(project_id).where(OWN.source != REVIEW)
    return Label.id.in_(last), says(Label, project_id), Label.kind == LabelKind.ANSWER


def _shares(s: Session, project_id: int, rows: Iterable) -> dict[Any, Share]:
    """(key, given class, right class, count) summed by key, merged classes being one."""
    means = class_map(s, project_id)
    found: dict[Any, Share] = defaultdict(lambda: Share(0, 0))
    for key, given, right, count in rows:
        same = given in means and means.get(given) == means.get(right)
        found[key] = Share(found[key].hits + count * same, found[key].of + count)
    return found
