"""Who has which image on the screen: leases that expire, so that two people never get the same image.

Everything here holds in PostgreSQL too: rows are locked before they are judged, locked ones are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Integer, and_, column, exists, or_, select, update, values
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
    taken: list[int] = []
    for some in chunks(wishes):
        while len(taken) < n:
            wanted = _lock(s, _free(project_id, person_id, now), some, taken, n - len(taken))
            got = _lease(s, _free(project_id, person_id, now), person_id, wanted, until)
            taken += [each for each in wanted if each in got]
            if len(got) == len(wanted):
                break  # nothing was lost between the two statements: this run of wishes is used up
    return taken


def leased(s: Session, project_id: int, now: datetime | None = None) -> dict[int, int]:
    """Person by item, for leases that have not expired."""
    query = select(Item.id, Item.lease_by).where(
        Item.project_id == project_id, Item.lease_by.is_not(None), Item.lease_until > (now or right_now())
    )
    return dict(s.execute(query.order_by(Item.id)).tuples().all())


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


def _lock(s: Session, free: ColumnElement, wishes: Sequence[int], taken: Sequence[int], n: int) -> list[int]:
    wish = values(column("id", Integer), column("place", Integer), name="wish")
    rows = [(each, place) for place, each in enumerate(wishes) if each not in set(taken)]
    if not rows:
        return []
    wish = wish.data(rows).cte("wish")
    query = select(Item.id).join(wish, wish.c.id == Item.id).where(free).order_by(wish.c.place).limit(n)
    return list(s.scalars(query.with_for_update(skip_locked=True, of=Item)))


def _lease(s: Session, free: ColumnElement, person_id: int, item_ids: Sequence[int], until: datetime) -> set[int]:
    """A second look at locked rows: an answer that came just before the lock is visible only now."""
    mine = update(Item).where(Item.id.in_(item_ids), free).values(lease_by=person_id, lease_until=until)
    return set(s.scalars(mine.returning(Item.id), execution_options={"synchronize_session": False}))


def _free(project_id: int, person_id: int, now: datetime) -> ColumnElement:
    later = aliased(Label)
    overruled = exists().where(later.item_id == Label.item_id, later.person_id == Label.person_id, later.id > Label.id)
    settled = exists().where(Label.item_id == Item.id, Label.kind != LabelKind.UNDO, ~overruled)
    return and_(Item.project_id == project_id, _unleased(person_id, now), ~settled)


def _unleased(person_id: int, now: datetime) -> ColumnElement:
    return or_(Item.lease_by.is_(None), Item.lease_by == person_id, Item.lease_until <= now)
