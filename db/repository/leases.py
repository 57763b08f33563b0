"""Who has which image on the screen: leases that expire, so that two people never get the same image.

Everything here holds in PostgreSQL too: rows are locked before they are judged, locked ones are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, NotNullable, and_, exists, or_, select, update
from sqlalchemy.orm import Session, aliased

from db.dialect import chunks
from db.models import Item, Label, LabelKind
from db.models import now as right_now

LEASE = timedelta(minutes=5)


def claim(
    s: Session,
    project_id: int,
    person_id: int,
    candidates: Sequence[int],
    n: int,
    until: datetime,
    now: datetime | None = None,
) -> list[int]:
    """Lease up to `n` of the candidates to a person: those already leased to them, then free ones, each in given order.

    Free is what has no standing answer or skip and no live lease of another person. Exact under concurrency.
    """
    now = now or right_now()
    open_ = _mine(s, project_id, person_id, now)
    wishes = list(dict.fromkeys([*(each for each in candidates if each in open_), *candidates]))
    free = _free(project_id, person_id, now)
    taken: list[int] = []
    for some in chunks(wishes, 500):
        offered = s.execute(select(Item.id, Item.project_id).where(Item.id.in_(some), free))
        ours = {item_id for item_id, owner in offered if owner == project_id}  # in SQL it would scan the whole project
        wanted = [each for each in some if each in ours]
        while wanted and len(taken) < n:  # what another person takes in between is replaced by the next wish
            batch, wanted = wanted[: n - len(taken)], wanted[n - len(taken) :]
            taken += _lease(s, free, person_id, batch, until)
        if len(taken) >= n:
            break
    return taken


def leased(s: Session, project_id: int, now: datetime | None = None) -> dict[int, int]:
    """Person by item, for leases that have not expired."""
    query = select(Item.id, NotNullable(Item.lease_by)).where(
        Item.project_id == project_id, Item.lease_by.is_not(None), Item.lease_until > (now or right_now())
    )
    return dict(s.execute(query.order_by(Item.id)).all())


def release(s: Session, project_id: int, person_id: int) -> None:
    """End all leases of a person in a project."""
    s.execute(update(Item).where(Item.project_id == project_id, Item.lease_by == person_id).values(_NOBODY))


def settle(s: Session, person_id: int, item_ids: Sequence[int]) -> None:
    """End the person's leases on these items."""
    for some in chunks(item_ids):
        s.execute(update(Item).where(Item.id.in_(some), Item.lease_by == person_id).values(_NOBODY))


def give_back(s: Session, person_id: int, item_ids: Sequence[int], now: datetime | None = None) -> None:
    """Lease these items to a person again, except where somebody else has them by now."""
    now = now or right_now()
    for some in chunks(item_ids):
        mine = update(Item).where(Item.id.in_(some), _unleased(person_id, now))
        s.execute(mine.values(lease_by=person_id, lease_until=now + LEASE))


_NOBODY = {"lease_by": None, "lease_until": None}


def _mine(s: Session, project_id: int, person_id: int, now: datetime) -> set[int]:
    open_ = (Item.lease_by == person_id, Item.lease_until > now)
    return set(s.scalars(select(Item.id).where(Item.project_id == project_id, *open_)))


def _lease(s: Session, free: ColumnElement, person_id: int, item_ids: Sequence[int], until: datetime) -> list[int]:
    """Lock first, judge then: an answer that came just before the lock is visible only to the next statement."""
    lock = select(Item.id).where(Item.id.in_(item_ids)).order_by(Item.id)
    locked = list(s.scalars(lock.with_for_update(skip_locked=True)))
    mine = update(Item).where(Item.id.in_(locked), free).values(lease_by=person_id, lease_until=until)
    got = set(s.scalars(mine.returning(Item.id), execution_options={"synchronize_session": False}))
    return [each for each in item_ids if each in got]


def _free(project_id: int, person_id: int, now: datetime) -> ColumnElement:
    event, later = aliased(Label), aliased(Label)
    on_item = and_(event.project_id == project_id, event.item_id == Item.id)
    same = and_(later.project_id == project_id, later.item_id == event.item_id, later.person_id == event.person_id)
    settled = exists().where(on_item, event.kind != LabelKind.UNDO, ~exists().where(same, later.id > event.id))
    return and_(_unleased(person_id, now), ~settled)


def _unleased(person_id: int, now: datetime) -> ColumnElement:
    return or_(Item.lease_by.is_(None), Item.lease_by == person_id, Item.lease_until <= now)
