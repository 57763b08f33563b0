"""What Explore asks: images by id, files that are the same, and selections that a queue serves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.dialect import chunks, insert
from db.models import Item, Problem, Selection
from db.repository.items import _COLUMNS
from db.repository.rows import ItemRow, ProblemRow


def extent(s: Session, project_id: int) -> tuple[int, int]:
    """How many images of a project are there, and the greatest id among them (0 without any)."""
    query = select(func.count(), func.coalesce(func.max(Item.id), 0))
    images, last = s.execute(query.where(Item.project_id == project_id, Item.gone_at.is_(None))).one()
    return images, last


def items_by_id(s: Session, project_id: int, item_ids: Sequence[int]) -> list[ItemRow]:
    """Those of these images that the project has, in the order asked for."""
    found: dict[int, ItemRow] = {}
    for some in chunks(list(item_ids)):
        query = select(*_COLUMNS).where(Item.project_id == project_id, Item.id.in_(some))
        found |= {row.id: ItemRow(*row) for row in s.execute(query)}
    return [found[each] for each in dict.fromkeys(item_ids) if each in found]


def same_files(s: Session, project_id: int, offset: int = 0, limit: int = 20) -> list[tuple[int, ...]]:
    """A page of the groups of images whose files are the same to the byte, the largest first; ids of each."""
    same = (
        select(Item.sha256, func.count().label("copies"), func.min(Item.id).label("first"))
        .where(Item.project_id == project_id, Item.gone_at.is_(None))
        .group_by(Item.sha256)
        .having(func.count() > 1)
    ).subquery()
    page = select(same.c.sha256).order_by(same.c.copies.desc(), same.c.first).offset(offset).limit(limit)
    order = list(s.scalars(page))
    here = (Item.project_id == project_id, Item.gone_at.is_(None))
    query = select(Item.sha256, Item.id).where(*here, Item.sha256.in_(order)).order_by(Item.id)
    groups: dict[str, list[int]] = {each: [] for each in order}
    for sha256, item_id in s.execute(query):
        groups[sha256].append(item_id)
    return [tuple(ids) for ids in groups.values()]


def count_same_files(s: Session, project_id: int) -> int:
    """How many such groups there are."""
    here = (Item.project_id == project_id, Item.gone_at.is_(None))
    same = select(Item.sha256).where(*here).group_by(Item.sha256).having(func.count() > 1)
    return s.scalars(select(func.count()).select_from(same.subquery())).one()


def problems_page(s: Session, project_id: int, offset: int, limit: int) -> list[ProblemRow]:
    """Some of the files that could not be taken in, by path."""
    query = select(Problem.path, Problem.reason).where(Problem.project_id == project_id).order_by(Problem.path)
    return [ProblemRow(*row) for row in s.execute(query.offset(offset).limit(limit))]


def count_problems(s: Session, project_id: int) -> int:
    """How many files could not be taken in."""
    return s.scalars(select(func.count()).select_from(Problem).where(Problem.project_id == project_id)).one()


def add_selection(s: Session, project_id: int, item_ids: Sequence[int]) -> str:
    """Keep a selection of the project's images, in this order; its key, the same for the same images in that order.

    Raises ValueError for none.
    """
    mine = [row.id for row in items_by_id(s, project_id, item_ids)]
    if not mine:
        raise ValueError("a selection holds one image or more: choose some first")
    key = hashlib.sha256(",".join(map(str, mine)).encode()).hexdigest()[:16]
    row = {"project_id": project_id, "key": key, "item_ids": mine}
    s.execute(insert(s, Selection).values(**row).on_conflict_do_nothing())
    return key


def selection(s: Session, project_id: int, key: str) -> list[int]:
    """The ids of a selection, in its order. Raises LookupError where there is none."""
    ids = s.scalar(select(Selection.item_ids).where(Selection.project_id == project_id, Selection.key == key))
    if ids is None:
        raise LookupError(f"there is no selection {key!r} in this project: choose the images again in Explore")
    return list(ids)
