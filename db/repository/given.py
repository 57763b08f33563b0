"""What people answered between two points of the log: what a round learned that the one before had not."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import NotNullable, func, select
from sqlalchemy.orm import Session

from db.models import Item, Label, LabelKind, Person, Split
from db.repository.classes import class_map
from db.repository.rows import Given


def given(s: Session, project_id: int, after: int, up_to: int) -> list[Given]:
    """Each person's last answer on each pool image with after < id <= up_to, in their order; none that was undone.

    Each has the class that its own stands for now; one deleted since stays as it was given.
    """
    mine = (Label.project_id == project_id, Label.id > after, Label.id <= up_to)
    last = select(func.max(Label.id)).where(*mine).group_by(Label.item_id, Label.person_id)
    query = (
        select(Label.item_id, Item.sha256, Person.name, NotNullable(Label.class_id), Label.source, Label.created_at)
        .join(Item, Item.id == Label.item_id)
        .join(Person, Person.id == Label.person_id)
        .where(Label.id.in_(last), Label.kind == LabelKind.ANSWER, Item.split == Split.POOL)
        .order_by(Label.id)
    )
    means = class_map(s, project_id)
    found = [Given(*row) for row in s.execute(query)]
    return [replace(each, class_id=means[each.class_id].id) if each.class_id in means else each for each in found]
