"""Which events of the log say something of an image today."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select
from sqlalchemy.orm import aliased

from db.models import Item, Label, LabelKind, ProjectClass

REVIEW = "review"  # the source of an answer that decides
IMPORTED = "csv"  # the source of an answer that nobody pressed a key for
TWIN = "duplicate"  # the source of one that was given to another image of the same content
TWINS_KEY = "twin:"  # how the key of such an event begins
UNPRESSED = (IMPORTED, TWIN)
SILENT = (LabelKind.UNDO, LabelKind.LATER)
ASIDE = (LabelKind.SKIP, LabelKind.UNUSABLE)

EVENT, OWN, LATER = aliased(Label), aliased(Label), aliased(Label)  # made once: making one costs more than a query


def last_ids(project_id: int, up_to: int | None = None) -> Select:
    """The newest id of each person's events on each item, of OWN, so that it can be narrowed."""
    last = select(func.max(OWN.id)).where(OWN.project_id == project_id).group_by(OWN.item_id, OWN.person_id)
    return last if up_to is None else last.where(OWN.id <= up_to)


def is_last(project_id: Any) -> ColumnElement[bool]:
    """Whether EVENT is its person's last on the item, of reviews or of the rest: a review leaves the vote as it is."""
    same = (LATER.project_id == project_id, LATER.item_id == EVENT.item_id, LATER.person_id == EVENT.person_id)
    return ~exists().where(*same, (LATER.source == REVIEW) == (EVENT.source == REVIEW), LATER.id > EVENT.id)


def says(event: Any, project_id: Any) -> ColumnElement[bool]:
    """Whether an event (Label or an alias of it) says something: no undo, no "later", no class deleted since."""
    deleted = select(ProjectClass.id).where(
        ProjectClass.project_id == project_id, ProjectClass.retired_at.is_not(None), ProjectClass.heir_id.is_(None)
    )
    return and_(event.kind.not_in(SILENT), or_(event.class_id.is_(None), event.class_id.not_in(deleted)))


def contested(project_id: int) -> Select:
    """Ids of items that more than one person is asked, or that were reviewed: those where votes have to be counted."""
    shared = select(Item.id).where(Item.project_id == project_id, Item.wanted > 1)
    reviewed = select(Label.item_id).where(Label.project_id == project_id, Label.source == REVIEW)
    return select(shared.union(reviewed).subquery().c[0])
