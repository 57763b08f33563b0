"""How many people are asked of which image, and the images whose answer is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import uuid4

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from db.dialect import chunks, insert
from db.models import Gold, Item, Label, LabelKind, Project, Split, now
from db.repository.classes import class_map, lock_project
from db.repository.events import REVIEW, last_ids, says
from db.repository.labels import record
from db.repository.rows import GoldRow, NewLabel


def set_team(s: Session, project_id: int, team: dict) -> None:
    """Store the project's settings (core/team makes and checks them)."""
    s.execute(update(Project).where(Project.id == project_id).values(team=team))


def unanswered(s: Session, project_id: int) -> list[tuple[int, str]]:
    """(item, sha256) of pool images that are there and nobody has said anything of, by item."""
    said = select(Label.item_id).where(Label.id.in_(last_ids(project_id)), says(Label, project_id))
    pool = (Item.project_id == project_id, Item.split == Split.POOL, Item.gone_at.is_(None))
    query = select(Item.id, Item.sha256).where(*pool)
    return [(item, sha256) for item, sha256 in s.execute(query.where(Item.id.not_in(said)).order_by(Item.id))]


def want(s: Session, project_id: int, item_ids: Sequence[int], people: int) -> None:
    """Ask so many people of these items. Raises ValueError below 1."""
    if people < 1:
        raise ValueError(f"an image is shown to one person or more, not to {people}")
    lock_project(s, project_id)  # else it and `record` could wait for each other's images
    for some in chunks(item_ids):
        s.execute(update(Item).where(Item.project_id == project_id, Item.id.in_(some)).values(wanted=people))


def shared(s: Session, project_id: int) -> dict[int, int]:
    """People wanted by item, where it is more than one."""
    query = select(Item.id, Item.wanted).where(Item.project_id == project_id, Item.wanted > 1).order_by(Item.id)
    return dict(s.execute(query).all())


def mark_gold(s: Session, project_id: int, person_id: int, answers: Iterable[tuple[int, int]]) -> list[str]:
    """State the class of items as known: (item, class id). It is also recorded as a review, so that it stands.

    Returns why some were refused, as `record` does; the others are marked.
    """
    events = [
        NewLabel(f"gold:{uuid4().hex}", item, LabelKind.ANSWER, class_id, source=REVIEW) for item, class_id in answers
    ]
    outcome = record(s, project_id, person_id, events)
    for event, stored in zip(events, outcome, strict=True):
        if stored.accepted:
            row = {"class_id": event.class_id, "person_id": person_id, "created_at": now()}
            statement = insert(s, Gold).values(item_id=event.item_id, **row)
            s.execute(statement.on_conflict_do_update(index_elements=["item_id"], set_=row))
    return [stored.reason for stored in outcome if not stored.accepted]


def unmark_gold(s: Session, project_id: int, item_ids: Sequence[int]) -> None:
    """These items check nobody any more; the review that stated their class stands."""
    mine = select(Item.id).where(Item.project_id == project_id, Item.id.in_(item_ids))
    s.execute(delete(Gold).where(Gold.item_id.in_(mine)))


def gold(s: Session, project_id: int) -> list[GoldRow]:
    """The items whose answer is known, with its class as it is now (None: deleted since), by item."""
    query = select(Gold.item_id, Gold.class_id, Gold.person_id, Gold.created_at, Item.path, Item.sha256)
    query = query.join(Item, Item.id == Gold.item_id).where(Item.project_id == project_id).order_by(Gold.item_id)
    means = class_map(s, project_id)
    rows = s.execute(query)
    return [GoldRow(row[0], means[row[1]].id if row[1] in means else None, *row[2:]) for row in rows]
