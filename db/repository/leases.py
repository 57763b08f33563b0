"""Who has which image on the screen: leases that expire, so that no image is on more screens than people are asked.

Everything here holds in PostgreSQL too: rows are locked before they are judged, locked ones are passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import BindParameter, ColumnElement, ScalarSelect, and_, bindparam, delete, exists, func, or_, select
from sqlalchemy.orm import Session

from db.dialect import chunks, insert
from db.models import Gold, Item, Lease
from db.models import now as right_now
from db.repository.classes import lock_project
from db.repository.events import ASIDE, EVENT, REVIEW, is_last, says

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

    Free is what the person said nothing of, nobody decided by "unusable" or a review, and has fewer votes and live
    leases of others than people wanted: for one, none. A gold item is free until the person answered it; what is gone
    never is. Exact under concurrency.
    """
    now = now or right_now()
    open_ = _mine(s, project_id, person_id, now)
    wishes = list(dict.fromkeys([*(each for each in candidates if each in open_), *candidates]))
    asked = {"project": project_id, "person": person_id, "now": now}
    taken: list[int] = []
    for some in chunks(wishes, 500):
        offered = s.execute(_FREE, {**asked, "items": some})
        ours = {item_id for item_id, owner in offered if owner == project_id}  # in SQL it would scan the whole project
        wanted = [each for each in some if each in ours]
        while wanted and len(taken) < n:  # what another person takes in between is replaced by the next wish
            batch, wanted = wanted[: n - len(taken)], wanted[n - len(taken) :]
            taken += _lease(s, asked, batch, until)
        if len(taken) >= n:
            break
    return taken


def claim_review(
    s: Session,
    project_id: int,
    person_id: int,
    candidates: Sequence[int],
    n: int,
    until: datetime,
    now: datetime | None = None,
) -> list[int]:
    """Lease up to `n` of the candidates to a person who reviews: those that no other person has on the screen."""
    asked = {"person": person_id, "now": now or right_now()}
    taken: list[int] = []
    for some in chunks(candidates, 500):
        free = set(s.scalars(_UNSEEN, {**asked, "items": some}))
        wanted = [each for each in some if each in free][: n - len(taken)]
        locked = list(s.scalars(_LOCKED, {"items": wanted, "project": project_id}))
        free = set(s.scalars(_UNSEEN, {**asked, "items": locked}))
        got = [each for each in wanted if each in free]
        _grant(s, project_id, person_id, got, until)
        taken += got
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


def held_until(
    s: Session, project_id: int, person_id: int, item_ids: Collection[int], now: datetime | None = None
) -> datetime | None:
    """When the last lease of others on these items ends, if none is renewed; None without any."""
    others = (Lease.project_id == project_id, Lease.person_id != person_id, Lease.until > (now or right_now()))
    ends = [
        until for item_id, until in s.execute(select(Lease.item_id, Lease.until).where(*others)) if item_id in item_ids
    ]
    return max(ends, default=None)


def release(s: Session, project_id: int, person_id: int) -> None:
    """End all leases of a person in a project."""
    mine = (Lease.project_id == project_id, Lease.person_id == person_id)
    lock_project(s, project_id)  # of two tabs of one person, one may label while the other one leaves
    s.execute(select(Lease.item_id).where(*mine).order_by(Lease.item_id).with_for_update())
    s.execute(delete(Lease).where(*mine))


def settle(s: Session, person_id: int, item_ids: Sequence[int]) -> None:
    """End the person's leases on these items."""
    for some in chunks(item_ids):
        s.execute(delete(Lease).where(Lease.item_id.in_(some), Lease.person_id == person_id))


def give_back(
    s: Session, project_id: int, person_id: int, item_ids: Sequence[int], now: datetime | None = None
) -> None:
    """Lease these items to a person again, except where others have them by now. The items are locked already."""
    now = now or right_now()
    for some in chunks(item_ids):
        free = list(s.scalars(_UNHELD, {"person": person_id, "now": now, "items": some}))
        _grant(s, project_id, person_id, free, now + LEASE)


def _mine(s: Session, project_id: int, person_id: int, now: datetime) -> set[int]:
    mine = (Lease.project_id == project_id, Lease.person_id == person_id, Lease.until > now)
    return set(s.scalars(select(Lease.item_id).where(*mine)))


def _lease(s: Session, asked: dict, item_ids: Sequence[int], until: datetime) -> list[int]:
    """Lock first, judge then: an answer that came just before the lock is visible only to the next statement."""
    locked = list(s.scalars(_LOCKED, {"items": item_ids, "project": asked["project"]}))
    got = {item_id for item_id, _ in s.execute(_FREE, {**asked, "items": locked})}
    _grant(s, asked["project"], asked["person"], sorted(got), until)
    return [each for each in item_ids if each in got]


def _grant(s: Session, project_id: int, person_id: int, item_ids: Sequence[int], until: datetime) -> None:
    if not item_ids:
        return
    mine = {"person_id": person_id, "project_id": project_id, "until": until}
    statement = insert(s, Lease)
    later = {"until": statement.excluded.until}
    statement = statement.on_conflict_do_update(index_elements=["item_id", "person_id"], set_=later)
    s.execute(statement, [{"item_id": each, **mine} for each in item_ids])


_PROJECT: BindParameter = bindparam("project")
_PERSON: BindParameter = bindparam("person")
_NOW: BindParameter = bindparam("now")


def _held() -> ScalarSelect:
    """How many other people have the item on their screens."""
    live = (Lease.item_id == Item.id, Lease.person_id != _PERSON, Lease.until > _NOW)
    return select(func.count()).select_from(Lease).where(*live).correlate(Item).scalar_subquery()


def _free() -> ColumnElement[bool]:
    on_item = (EVENT.project_id == _PROJECT, EVENT.item_id == Item.id)
    stands = and_(*on_item, says(EVENT, _PROJECT), is_last(_PROJECT))
    mine = exists().where(stands, EVENT.person_id == _PERSON)
    decided = exists().where(stands, or_(EVENT.kind.in_(ASIDE), EVENT.source == REVIEW))
    votes = select(func.count()).select_from(EVENT).where(stands).correlate(Item).scalar_subquery()
    missing = and_(~decided, votes + _held() < Item.wanted)
    return and_(~mine, or_(missing, exists().where(Gold.item_id == Item.id)))


_SOME = and_(Item.id.in_(bindparam("items", expanding=True)), Item.gone_at.is_(None))
_FREE = select(Item.id, Item.project_id).where(_SOME, _free())  # built once: building it costs as much as asking
_UNHELD = select(Item.id).where(_SOME, _held() < Item.wanted)
_UNSEEN = select(Item.id).where(_SOME, _held() == 0)
_LOCKED = select(Item.id).where(_SOME, Item.project_id == _PROJECT).order_by(Item.id).with_for_update(skip_locked=True)
