"""The images behind the team's figures, in pages: what one person pressed, and where people said different things."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CTE, ColumnElement, Select, and_, case, func, literal, select
from sqlalchemy.orm import Session, aliased

from db.base import LabelKind
from db.models import Flag, Gold, Item, Label, ProjectClass
from db.repository.events import ASIDE, OWN, REVIEW, last_ids, says

UNUSABLE = 0  # in the place of a class: no class has this id


class Behind(StrEnum):
    """A figure of one person (db/repository/figures)."""

    ANSWERS = "answers"
    UNUSABLE = "unusable"
    LATER = "later"
    UNDONE = "undone"
    REVIEWS = "reviews"
    SLOW = "slow"  # answers, those that took longest first
    BLIND = "blind"  # votes given without the model's guess in sight, those that differ from it first
    SEEN = "seen"
    GOLD = "gold"  # votes on known images, the wrong ones first


@dataclass(frozen=True, slots=True)
class Pressed:
    """An event, with the image; ids of classes as they were given."""

    item_id: int
    sha256: str
    kind: LabelKind
    class_id: int | None
    against: int | None  # the guess, or the known class
    agrees: bool | None
    lead_ms: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ClassPair:
    """Two classes that people gave to the same images, the smaller id first; None: unusable."""

    one: int | None
    other: int
    images: int


def pressed(
    s: Session, project_id: int, person_id: int, which: Behind, offset: int = 0, limit: int = 12
) -> list[Pressed]:
    """A page of the events behind a figure: what differs first, then the newest (of SLOW the longest)."""
    given, right = aliased(ProjectClass), aliased(ProjectClass)
    against = _AGAINST.get(which)
    query = select(Label.item_id, Item.sha256, Label.kind, Label.class_id).join(Item, Item.id == Label.item_id)
    query = query.where(Label.project_id == project_id, Label.person_id == person_id, *_which(which, project_id))
    if against is None:
        query = query.add_columns(literal(None), literal(None))
        order: tuple = (Label.lead_ms.desc(), Label.id.desc()) if which is Behind.SLOW else (Label.id.desc(),)
    else:
        same = func.coalesce(given.heir_id, given.id) == func.coalesce(right.heir_id, right.id)
        agrees = case((same, 1), else_=0)
        query = query.outerjoin(Gold, Gold.item_id == Label.item_id).join(given, given.id == Label.class_id)
        query = query.join(right, right.id == against).add_columns(against, agrees)
        order = (agrees, Label.id.desc())
    query = query.add_columns(Label.lead_ms, Label.created_at)
    rows: list[Any] = list(s.execute(query.order_by(*order).offset(offset).limit(limit)))
    return [
        Pressed(item, sha256, kind, class_id, against, None if agrees is None else bool(agrees), lead_ms, at)
        for item, sha256, kind, class_id, against, agrees, lead_ms, at in rows
    ]


_AGAINST = {
    Behind.BLIND: Label.suggested_class_id,
    Behind.SEEN: Label.suggested_class_id,
    Behind.GOLD: Gold.class_id,
}


def _which(which: Behind, project_id: int) -> tuple[ColumnElement[bool], ...]:
    """The same events that db/repository/figures counts."""
    answer = (Label.kind == LabelKind.ANSWER, Label.source != REVIEW)
    if which in _AGAINST:
        last = last_ids(project_id).where(OWN.source != REVIEW)
        votes = (Label.id.in_(last), says(Label, project_id), Label.kind == LabelKind.ANSWER)
        return votes if which is Behind.GOLD else (*votes, Label.suggestion_seen == (which is Behind.SEEN))
    return {
        Behind.ANSWERS: answer,
        Behind.SLOW: (*answer, Label.lead_ms.is_not(None)),
        Behind.UNUSABLE: (Label.kind.in_(ASIDE),),
        Behind.LATER: (Label.kind == LabelKind.LATER,),
        Behind.UNDONE: (Label.kind == LabelKind.UNDO,),
        Behind.REVIEWS: (Label.source == REVIEW,),
    }[which]


def class_pairs(s: Session, project_id: int) -> list[ClassPair]:
    """Between which classes people differ, and on how many images; the most frequent first."""
    one, other, differ = _two(project_id)
    images = func.count(one.c.item_id.distinct())
    query = select(one.c.option, other.c.option, images).join(other, other.c.item_id == one.c.item_id)
    query = query.where(differ, one.c.option < other.c.option).group_by(one.c.option, other.c.option)
    rows = s.execute(query.order_by(images.desc(), one.c.option, other.c.option))
    return [ClassPair(first or None, second, count) for first, second, count in rows]


def differing(
    s: Session,
    project_id: int,
    *,
    people: tuple[int, int] | None = None,
    classes: tuple[int | None, int] | None = None,
    offset: int = 0,
    limit: int = 12,
) -> tuple[int, list[tuple[int, str]]]:
    """How many images two votes differ on, and a page of them as (item, sha256), by item.

    Of two people alone, or between two classes (None: unusable) alone. Of people, and of all, answers are compared, as
    core/agreement does; "unusable" is none.
    """
    one, other, differ = _two(project_id)
    query = select(one.c.item_id).join(other, other.c.item_id == one.c.item_id).where(differ)
    if classes is not None:
        query = query.where(one.c.option == (classes[0] or UNUSABLE), other.c.option == classes[1])
    else:
        query = query.where(one.c.option != UNUSABLE, other.c.option != UNUSABLE)
    if people is not None:
        query = query.where(one.c.person_id == people[0], other.c.person_id == people[1])
    found = query.distinct().subquery()
    page = select(Item.id, Item.sha256).join(found, found.c.item_id == Item.id).order_by(Item.id)
    rows = s.execute(page.offset(offset).limit(limit))
    return s.scalars(select(func.count()).select_from(found)).one(), [(item, sha256) for item, sha256 in rows]


def settled_flags(s: Session, project_id: int) -> int:
    """How many flags are settled."""
    query = select(func.count()).select_from(Flag)
    return s.scalars(query.where(Flag.project_id == project_id, Flag.resolves_id.is_not(None))).one()


def _two(project_id: int) -> tuple[CTE, CTE, ColumnElement[bool]]:
    """Everybody's votes twice, and that two of them differ."""
    said = _said(project_id).cte("said")
    other = said.alias("other")
    return said, other, and_(said.c.person_id != other.c.person_id, said.c.option != other.c.option)


def _said(project_id: int) -> Select:
    """One row per item and person: what their vote is, with its class as it is now."""
    option = func.coalesce(ProjectClass.heir_id, ProjectClass.id, literal(UNUSABLE)).label("option")
    query = select(Label.item_id, Label.person_id, option)
    query = query.outerjoin(ProjectClass, ProjectClass.id == Label.class_id)
    last = last_ids(project_id).where(OWN.source != REVIEW)
    return query.where(Label.id.in_(last), says(Label, project_id))
