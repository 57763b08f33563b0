"""What one person may be asked now: the state of a project as their queue needs it, in one read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Select, literal, select
from sqlalchemy.orm import Session

from db.models import Gold, Item, Label, LabelKind, Project
from db.repository.classes import class_map
from db.repository.events import EVENT, OWN, REVIEW, SILENT, is_last, last_ids, says
from db.repository.leases import leases


@dataclass(frozen=True, slots=True)
class Desk:
    """Item ids. `claim` judges again, under a lock: this only says what to wish for."""

    answered: set[int] = field(default_factory=set)  # somebody answered: they condition the order
    leased: set[int] = field(default_factory=set)  # on somebody's screen
    mine: list[int] = field(default_factory=list)  # on this person's screen
    closed: set[int] = field(default_factory=set)  # not for this person: answered, decided, or others see to them
    again: list[int] = field(default_factory=list)  # others answered, this person's vote is wanted; the oldest first
    later: list[int] = field(default_factory=list)  # this person passed for now, the first first
    held: set[int] = field(default_factory=set)  # nothing but other people's screens keeps them from this person
    gold: list[int] = field(default_factory=list)  # known answers that this person was not asked for
    given: int = 0  # answers of this person
    checked: int = 0  # of them, or on their screen: gold
    team: dict = field(default_factory=dict)  # the project's settings


def desk(s: Session, project_id: int, person_id: int, now: datetime | None = None) -> Desk:
    """The state of the project for this person. Raises LookupError where there is no such project."""
    team = s.scalar(select(Project.team).where(Project.id == project_id))
    if team is None:
        raise LookupError(f"there is no project {project_id}")
    gold = set(s.scalars(select(Gold.item_id).join(Item, Item.id == Gold.item_id).where(Item.project_id == project_id)))
    held = leases(s, project_id, now)
    mine = [item for item, who in held if who == person_id]
    votes = _read(s, project_id, person_id)
    others = Counter(item for item, who in held if who != person_id)
    wanted = _wanted(s, project_id)
    closed = _closed(votes, wanted, gold, others)
    busy = closed | gold | set(mine)
    return Desk(
        answered=votes.answered,
        leased={item for item, _ in held},
        mine=mine,
        closed=closed,
        again=[item for item in sorted(votes.first, key=votes.first.__getitem__) if item not in busy],
        later=[item for item in votes.later if item not in closed],
        held={item for item in others if item in closed and votes.is_open(item, wanted.get(item, 1))},
        gold=sorted(gold - votes.own - set(mine)),
        given=len(votes.own & votes.answered),
        checked=len(gold & (votes.own | set(mine))),
        team=team,
    )


def passed(s: Session, project_id: int, person_id: int) -> list[int]:
    """Items whose review this person passed for now, the first first."""
    mine = last_ids(project_id).where(OWN.person_id == person_id, OWN.source == REVIEW)
    query = select(Label.item_id).where(Label.id.in_(mine), Label.kind == LabelKind.LATER)
    return list(s.scalars(query.order_by(Label.id)))


@dataclass(slots=True)
class _Votes:
    count: Counter[int] = field(default_factory=Counter)  # item → people who said something
    first: dict[int, int] = field(default_factory=dict)  # item → id of the oldest of these events
    answered: set[int] = field(default_factory=set)
    decided: set[int] = field(default_factory=set)  # unusable or reviewed
    own: set[int] = field(default_factory=set)
    later: list[int] = field(default_factory=list)

    def is_open(self, item: int, wanted: int) -> bool:
        """Whether it would be for this person, if nobody else had it on the screen."""
        return item not in self.own and item not in self.decided and self.count[item] < wanted


def _read(s: Session, project_id: int, person_id: int) -> _Votes:
    votes, classes = _Votes(decided=_reviewed(s, project_id)), class_map(s, project_id)
    query = _last_events(s, project_id)
    for item, who, kind, class_id, label_id, review in s.execute(query.order_by(Label.id)):
        if kind == LabelKind.LATER and who == person_id and not review:
            votes.later.append(item)
        if kind in SILENT or (kind == LabelKind.ANSWER and class_id not in classes):
            continue
        if not review:
            votes.count[item] += 1
            votes.first.setdefault(item, label_id)
        (votes.answered if kind == LabelKind.ANSWER else votes.decided).add(item)
        if who == person_id:
            votes.own.add(item)
    return votes


def _last_events(s: Session, project_id: int) -> Select:
    """Each person's last event on each item and whether it is a review; both where a person has a review and a vote.

    Where there is no review the index answers alone.
    """
    query, ids = select(Label.item_id, Label.person_id, Label.kind, Label.class_id, Label.id), last_ids(project_id)
    reviews = select(Label.id).where(Label.project_id == project_id, Label.source == REVIEW)
    if s.scalar(reviews.limit(1)) is None:
        return query.add_columns(literal(False)).where(Label.id.in_(ids))
    return query.add_columns(Label.source == REVIEW).where(Label.id.in_(ids.group_by(OWN.source == REVIEW)))


def _reviewed(s: Session, project_id: int) -> set[int]:
    reviews = (EVENT.project_id == project_id, EVENT.source == REVIEW)
    return set(s.scalars(select(EVENT.item_id).where(*reviews, says(EVENT, project_id), is_last(project_id))))


def _wanted(s: Session, project_id: int) -> dict[int, int]:
    query = select(Item.id, Item.wanted).where(Item.project_id == project_id, Item.wanted > 1)
    return dict(s.execute(query).all())


def _closed(votes: _Votes, wanted: dict[int, int], gold: set[int], others: Counter[int]) -> set[int]:
    full = {item for item in votes.count | others if votes.count[item] + others[item] >= wanted.get(item, 1)}
    return votes.own | ((full | votes.decided) - gold)
