"""The log of labels: writing to it, and what stands in it (db/repository/consensus says what that is)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import NotNullable, Select, func, insert, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.dialect import chunks
from db.models import Item, Label, LabelKind, Person, Project, Role, Split, now
from db.repository.accounts import has_accounts
from db.repository.classes import class_map, class_names
from db.repository.consensus import standing_ids
from db.repository.events import OWN, REVIEW, last_ids, says
from db.repository.leases import give_back, settle
from db.repository.rows import LabelRow, NewLabel, Recorded, Standing

STORED_BEFORE = "stored before"
_HISTORY: tuple[InstrumentedAttribute, ...] = (
    Label.id,
    Label.item_id,
    Label.person_id,
    Person.name,
    Label.kind,
    Label.class_id,
    Label.created_at,
    Label.lead_ms,
    Label.round_number,
    Label.source,
    Label.suggested_class_id,
    Label.suggested_probability,
    Label.suggestion_seen,
    Label.event_key,
)


def standing(s: Session, project_id: int) -> list[Standing]:
    """The event that counts for each item of any split, by item, with its class as it is called now."""
    query = select(Label.item_id, Label.person_id, Label.kind, Label.class_id, Label.id, Label.created_at)
    query = query.where(Label.id.in_(standing_ids(s, project_id))).order_by(Label.item_id)
    means = class_map(s, project_id)
    ids: dict[int | None, int] = {given: now.id for given, now in means.items()}
    positions: dict[int | None, int] = {given: now.position for given, now in means.items()}
    return [
        Standing(item_id, person_id, kind, ids.get(given), positions.get(given), label_id, created_at)
        for item_id, person_id, kind, given, label_id, created_at in s.execute(query)
    ]


def own_answers(s: Session, project_id: int, person_id: int) -> dict[int, int]:
    """Class id, as it is now, by item that this person answered, whatever others say."""
    mine = last_ids(project_id).where(OWN.person_id == person_id, OWN.source != REVIEW)
    query = select(Label.item_id, NotNullable(Label.class_id)).where(Label.id.in_(mine))
    query = query.where(says(Label, project_id), Label.kind == LabelKind.ANSWER)
    means = class_map(s, project_id)
    return {item_id: means[class_id].id for item_id, class_id in s.execute(query)}


def answers(s: Session, project_id: int, up_to_label_id: int | None = None) -> dict[int, int]:
    """Class position by pool item with an answer, now or as it stood at a label's id."""
    ids = standing_ids(s, project_id, up_to=up_to_label_id)
    query = _answers(ids, Label.item_id, NotNullable(Label.class_id)).order_by(Label.item_id)
    means = class_map(s, project_id)
    return {item_id: means[class_id].position for item_id, class_id in s.execute(query)}


def answers_since(s: Session, project_id: int, label_id: int) -> int:
    """Number of pool items whose standing answer is newer than a label."""
    return s.scalars(_answers(standing_ids(s, project_id, since=label_id), func.count())).one()


def last_label_id(s: Session, project_id: int) -> int:
    """The newest event's id, 0 where there is none."""
    return s.scalar(select(func.max(Label.id)).where(Label.project_id == project_id)) or 0


def history(s: Session, item_id: int) -> list[LabelRow]:
    """Every event on an item, oldest first."""
    query = select(*_HISTORY)
    query = query.join(Person, Person.id == Label.person_id).join(Item, Item.id == Label.item_id)
    query = query.where(Label.item_id == item_id, Label.project_id == Item.project_id).order_by(Label.id)
    return [LabelRow(*row) for row in s.execute(query)]


def events_of(s: Session, project_id: int, item_ids: Sequence[int]) -> list[LabelRow]:
    """Every event on these images, oldest first."""
    query = select(*_HISTORY).join(Person, Person.id == Label.person_id).where(Label.project_id == project_id)
    rows = [row for some in chunks(item_ids) for row in s.execute(query.where(Label.item_id.in_(some)))]
    return sorted((LabelRow(*row) for row in rows), key=lambda row: row.id)


def log(s: Session, project_id: int, person_id: int, offset: int = 0, limit: int = 60) -> list[LabelRow]:
    """A page of a person's events in a project, newest first."""
    query = select(*_HISTORY).join(Person, Person.id == Label.person_id)
    query = query.where(Label.project_id == project_id, Label.person_id == person_id).order_by(Label.id.desc())
    return [LabelRow(*row) for row in s.execute(query.offset(offset).limit(limit))]


def record(
    s: Session, project_id: int, person_id: int, events: Sequence[NewLabel], at: datetime | None = None
) -> list[Recorded]:
    """Store events in their order and say of each whether it is stored; one sent again is stored once.

    An answer, "later" or "unusable" ends the person's lease on the item; an undo takes the person's last event on the
    item back and leases the item to that person again. An answer of source "review" decides; where people sign in it
    takes a reviewer or an owner. Raises LookupError for an unknown project or person.
    """
    log = _Log(s, project_id, person_id, events)
    outcome = [Recorded(event.event_key, *log.take(event)) for event in events]
    if log.rows:
        s.execute(insert(Label), log.rows)
    mine = {row["item_id"]: row["kind"] for row in log.rows if row["source"] != REVIEW}  # an item's last event decides
    settle(s, person_id, [item_id for item_id, kind in mine.items() if kind != LabelKind.UNDO])
    give_back(s, project_id, person_id, [item_id for item_id, kind in mine.items() if kind == LabelKind.UNDO], at)
    return outcome


class _Log:
    """What must be known to judge events: read once, then followed event by event in `rows`."""

    def __init__(self, s: Session, project_id: int, person_id: int, events: Sequence[NewLabel]) -> None:
        self.project_id, self.person_id = project_id, person_id
        # One writer per project: ids then grow in the order of commits, which a round's watermark relies on.
        lock = select(Project.id).where(Project.id == project_id, Project.archived_at.is_(None))
        if s.scalar(lock.with_for_update(key_share=True)) is None:
            raise LookupError(f"there is no project {project_id}")
        person = s.execute(select(Person.role, Person.disabled).where(Person.id == person_id)).one_or_none()
        if person is None:
            raise LookupError(f"there is no person {person_id}")
        role, self.disabled = person
        reviews = any(event.source == REVIEW for event in events)
        self.may_review = reviews and (role in (Role.REVIEWER, Role.OWNER) or not has_accounts(s))
        self.rows: list[dict] = []
        self.names, self.classes = class_names(s, project_id), class_map(s, project_id)
        item_ids = sorted({event.item_id for event in events})
        mine = select(Item.id).where(Item.project_id == project_id).order_by(Item.id).with_for_update()
        self.items = {item_id for some in chunks(item_ids) for item_id in s.scalars(mine.where(Item.id.in_(some)))}
        self.stored = _stored(s, {event.event_key for event in events})
        self.last = _last_kinds(s, project_id, person_id, item_ids)

    def take(self, event: NewLabel) -> tuple[bool, str]:
        """Whether the event is stored now or was before, and the reason."""
        if event.event_key in self.stored:
            same = self.stored[event.event_key] == (event.item_id, self.person_id)
            return same, STORED_BEFORE if same else f"the key {event.event_key} belongs to another event"
        if reason := self._refusal(event):
            return False, reason
        self.stored[event.event_key] = (event.item_id, self.person_id)
        self.last[event.item_id, event.source == REVIEW] = LabelKind(event.kind)
        self.rows.append(self._row(event))
        return True, ""

    def _refusal(self, event: NewLabel) -> str:
        kinds = list(LabelKind)
        if event.kind not in kinds:
            return f"an event is one of {', '.join(kinds)}, not {event.kind!r}"
        if event.item_id not in self.items:
            return f"image {event.item_id} is not in this project"
        if self.disabled:
            return "this person was shut out: an owner can let them in again"
        if event.source == REVIEW and not self.may_review:
            return "a review takes a reviewer or an owner"
        if event.kind == LabelKind.ANSWER and event.class_id not in self.classes:
            return self._no_class(event)
        if event.suggested_class_id is not None and event.suggested_class_id not in self.names:
            return f"the suggested class {event.suggested_class_id} is not in this project"
        before = self.last.get((event.item_id, event.source == REVIEW), LabelKind.UNDO)
        if event.kind == LabelKind.UNDO and before == LabelKind.UNDO:
            return f"there is nothing of yours to undo on image {event.item_id}"
        return "" if 0 < len(event.event_key) <= 80 else "an event's key has 1 to 80 characters"

    def _no_class(self, event: NewLabel) -> str:
        name = self.names.get(event.class_id or 0)
        return f"class {event.class_id} is not in this project" if name is None else f"the class “{name}” was deleted"

    def _row(self, event: NewLabel) -> dict:
        kind = LabelKind(event.kind)
        return {
            "project_id": self.project_id,
            "item_id": event.item_id,
            "person_id": self.person_id,
            "kind": kind,
            "class_id": event.class_id if kind == LabelKind.ANSWER else None,
            "lead_ms": event.lead_ms,
            "round_number": event.round_number,
            "source": event.source,
            "suggested_class_id": event.suggested_class_id,
            "suggested_probability": event.suggested_probability,
            "suggestion_seen": event.suggestion_seen,
            "event_key": event.event_key,
            "created_at": event.at or now(),
        }


def _stored(s: Session, keys: Iterable[str]) -> dict[str, tuple[int, int]]:
    query = select(Label.event_key, Label.item_id, Label.person_id)
    found = [row for some in chunks(sorted(keys)) for row in s.execute(query.where(Label.event_key.in_(some)))]
    return {key: (item_id, person_id) for key, item_id, person_id in found}


def _last_kinds(
    s: Session, project_id: int, person_id: int, item_ids: Sequence[int]
) -> dict[tuple[int, bool], LabelKind]:
    """The kind of the person's last event by item and whether it is a review."""
    found: dict[tuple[int, bool], LabelKind] = {}
    mine = last_ids(project_id).where(OWN.person_id == person_id).group_by(OWN.source == REVIEW)
    for some in chunks(item_ids):
        query = select(Label.item_id, Label.source, Label.kind)
        rows = s.execute(query.where(Label.id.in_(mine.where(OWN.item_id.in_(some)))))
        found |= {(item_id, source == REVIEW): kind for item_id, source, kind in rows}
    return found


def _answers(ids: Select, *columns) -> Select:
    query = select(*columns).select_from(Label).join(Item, Item.id == Label.item_id)
    return query.where(Label.id.in_(ids), Label.kind == LabelKind.ANSWER, Item.split == Split.POOL)
