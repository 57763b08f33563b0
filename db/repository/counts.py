"""A project in numbers."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import exists, func, or_, select
from sqlalchemy.orm import Session

from db.models import Item, Label, LabelKind, Person, Problem, Split
from db.repository.consensus import standing_ids
from db.repository.events import ASIDE, REVIEW, last_ids
from db.repository.leases import leased
from db.repository.projects import project
from db.repository.rows import Card, Counts


def counts(s: Session, project_id: int, now: datetime | None = None) -> Counts:
    """How many images there are, of which split, and how far the people came; one that is gone counts if answered."""
    counted = or_(Item.gone_at.is_(None), exists().where(Label.project_id == Item.project_id, Label.item_id == Item.id))
    query = select(Item.split, func.count()).where(Item.project_id == project_id, counted).group_by(Item.split)
    by_split = dict(s.execute(query).all())
    answered = _standing_by_person(s, project_id)
    return Counts(
        pool=by_split.get(Split.POOL, 0),
        answered=sum(count for (kind, _), count in answered.items() if kind == LabelKind.ANSWER),
        skipped=sum(count for (kind, _), count in answered.items() if kind in ASIDE),
        leased=len(leased(s, project_id, now)),
        validation=by_split.get(Split.VALIDATION, 0),
        test=by_split.get(Split.TEST, 0),
        problems=s.scalars(select(func.count()).select_from(Problem).where(Problem.project_id == project_id)).one(),
        answers_by_person={name: count for (kind, name), count in answered.items() if kind == LabelKind.ANSWER},
        later=_later(s, project_id),
    )


def card(s: Session, project_id: int, images: int = 4, now: datetime | None = None) -> Card:
    """A project at a glance: counts, the first images and who labels now. Raises LookupError where there is none."""
    first = select(Item.sha256).where(Item.project_id == project_id, Item.gone_at.is_(None)).order_by(Item.id)
    people = set(leased(s, project_id, now).values())
    names = s.scalars(select(Person.name).where(Person.id.in_(people)).order_by(Person.name))
    return Card(project(s, project_id), counts(s, project_id, now), tuple(s.scalars(first.limit(images))), tuple(names))


def _standing_by_person(s: Session, project_id: int) -> dict[tuple[LabelKind, str], int]:
    query = (
        select(Label.kind, Person.name, func.count())
        .join(Item, Item.id == Label.item_id)
        .join(Person, Person.id == Label.person_id)
        .where(Label.id.in_(standing_ids(s, project_id)), Item.split == Split.POOL)
        .group_by(Label.kind, Person.name)
        .order_by(Person.name)
    )
    return {(kind, name): count for kind, name, count in s.execute(query)}


def _later(s: Session, project_id: int) -> int:
    passed = (Label.project_id == project_id, Label.kind == LabelKind.LATER, Label.source != REVIEW)
    if s.scalar(select(Label.id).where(*passed).limit(1)) is None:
        return 0
    query = select(func.count(Label.item_id.distinct())).join(Item, Item.id == Label.item_id)
    query = query.where(*passed, Label.id.in_(last_ids(project_id)), Item.split == Split.POOL)
    standing = select(Label.item_id).where(Label.id.in_(standing_ids(s, project_id)))
    return s.scalars(query.where(Label.item_id.not_in(standing))).one()
