"""Gold items, and the answered images that could become some, in pages."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import NotNullable, exists, func, select
from sqlalchemy.orm import Session

from db.models import Gold, Item, Label, LabelKind, Split
from db.repository.classes import class_map
from db.repository.consensus import standing_ids
from db.repository.rows import GoldRow


@dataclass(frozen=True, slots=True)
class Known:
    """An image whose class is known, as the class is called now."""

    item_id: int
    sha256: str
    class_id: int


def answered(s: Session, project_id: int, offset: int = 0, limit: int = 12) -> tuple[int, list[Known]]:
    """How many pool images have a standing answer and are no gold, and a page of them, the newest answer first."""
    query = select(Item.id, Item.sha256, NotNullable(Label.class_id)).join(Label, Label.item_id == Item.id)
    query = query.where(Label.id.in_(standing_ids(s, project_id)), Label.kind == LabelKind.ANSWER)
    query = query.where(Item.split == Split.POOL, ~exists().where(Gold.item_id == Item.id))
    number = s.scalars(select(func.count()).select_from(query.subquery())).one()
    means = class_map(s, project_id)
    rows = s.execute(query.order_by(Label.id.desc()).offset(offset).limit(limit))
    return number, [Known(item, sha256, means[class_id].id) for item, sha256, class_id in rows]


def gold_page(s: Session, project_id: int, offset: int = 0, limit: int = 12) -> tuple[int, list[GoldRow]]:
    """How many gold items there are, and a page of them, the newest first."""
    query = select(Gold.item_id, Gold.class_id, Gold.person_id, Gold.created_at, Item.path, Item.sha256)
    query = query.join(Item, Item.id == Gold.item_id).where(Item.project_id == project_id)
    number = s.scalars(select(func.count()).select_from(query.subquery())).one()
    means = class_map(s, project_id)
    rows = s.execute(query.order_by(Gold.created_at.desc(), Gold.item_id).offset(offset).limit(limit))
    return number, [GoldRow(row[0], means[row[1]].id if row[1] in means else None, *row[2:]) for row in rows]
