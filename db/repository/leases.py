"""Who has which image on the screen: leases that expire, so that two people never get the same image.

Everything here holds in PostgreSQL too: rows are locked before they are judged, locked ones are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, ScalarSelect, and_, delete, exists, func, select
from sqlalchemy.orm import Session, aliased

from db.dialect import chunks, insert
from db.models import Item, Label, LabelKind, Lease
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
    """Person by item, for leases that have not expired; of several people who have one image, the first by id."""
    return dict(reversed(leases(s, project_id, now)))


def leases(s: Session, project_id: int, now: datetime | None = None) -> list[tuple[int, int]]:
    """(item, person) of every lease that has not expired, by item and person."""
    query = select(Lease.item_id, Lease.person_id).where(Lease.project_id == project_id)
    query = query.where(Lease.until > (now or right_now())).order_by(Lease.item_id, Lease.person_id)
    return [(item_id, person_id) for item_id, person_id in s.execute(query)]


def release(s: Session, project_id: int, person_id: int) -> None:
    """End all leases of a person in a project."""
    s.execute(delete(Lease).where(Lease.project_id == project_id, Lease.person_id == person_id))


def settle(s: Session, person_id: int, item_ids: Sequence[int]) -> None:
    """End the person's leases on these items."""
    for some in chunks(item_ids):
        s.execute(delete(Lease).where(Lease.item_id.in_(some), Lease.person_id == person_id))


def give_back(s: Session, person_id: int, item_ids: Sequence[int], now: datetime | None = None) -> None:
    """Lease these items to a person again, except where others have them by now. The items are locked already."""
    now = now or right_now()
    for some in chunks(item_ids):
        free = select(Item.id).where(Item.id.in_(some), _held(person_id, now) < Item.wanted)
        _grant(s, person_id, list(s.scalars(free)), now + LEASE)


def _mine(s: Session, project_id: int, person_id: int, now: datetime) -> set[int]:
    mine = (Lease.project_id == project_id, Lease.person_id == person_id, Lease.until > now)
    return set(s.scalars(select(Lease.item_id).where(*mine)))


def _lease(s: Session, free: ColumnElement, person_id: int, item_ids: Sequence[int], until: datetime) -> list[int]:
    """Lock first, judge then: an answer that came just before the lock is visible only to the next statement."""
    lock = select(Item.id).where(Item.id.in_(item_ids)).order_by(Item.id)
    locked = list(s.scalars(lock.with_for_update(skip_locked=True)))
    got = set(s.scalars(select(Item.id).where(Item.id.in_(locked), free)))
    _grant(s, person_id, sorted(got), until)
    return [each for each in item_ids if each in got]


def _grant(s: Session, person_id: int, item_ids: Sequence[int], until: datetime) -> None:
    if not item_ids:
        return
    owners = dict(s.execute(select(Item.id, Item.project_id).where(Item.id.in_(item_ids))).all())
    rows = [{"item_id": each, "person_id": person_id, "project_id": owners[each], "until": until} for each in item_ids]
    statement = insert(s, Lease)
    later = {"until": statement.excluded.until}
    s.execute(statement.on_conflict_do_update(index_elements=["item_id", "person_id"], set_=later), rows)


def _free(project_id: int, person_id: int, now: datetime) -> ColumnElement:
    event, later = aliased(Label), aliased(Label)
    on_item = and_(event.project_id == project_id, event.item_id == Item.id)
    same = and_(later.project_id == project_id, later.item_id == event.item_id, later.person_id == event.person_id)
    settled = exists().where(on_item, event.kind != LabelKind.UNDO, ~exists().where(same, later.id > event.id))
    return and_(_held(person_id, now) < Item.wanted, ~settled)


def _held(person_id: int, now: datetime) -> ScalarSelect:
    """How many other people have the item on their screens."""
    live = (Lease.item_id == Item.id, Lease.person_id != person_id, Lease.until > now)
    return select(func.count()).select_from(Lease).where(*live).correlate(Item).scalar_subquery()
