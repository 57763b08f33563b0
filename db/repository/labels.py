"""The log of labels and what stands in it.

Of a person's events on an item the last one counts, unless it is an undo; of several people's, the latest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Select, func, insert, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from db.dialect import chunks
from db.models import Item, Label, LabelKind, Person, Project, ProjectClass, Split
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


def standing_ids(
    project_id: int, since: int | None = None, up_to: int | None = None, among: Select | None = None
) -> Select:
    """Ids of the events that stand, one per item: those with since < id <= up_to, on items `among` a selection."""
    each, own = aliased(Label), aliased(Label)
    last = select(func.max(own.id)).where(own.project_id == project_id)
    if since is not None:
        last = last.where(own.id > since)
    if up_to is not None:
        last = last.where(own.id <= up_to)
    if among is not None:
        last = last.where(own.item_id.in_(among))
    last = last.group_by(own.item_id, own.person_id)
    return select(func.max(each.id)).where(each.id.in_(last), each.kind != LabelKind.UNDO).group_by(each.item_id)


def standing(s: Session, project_id: int) -> list[Standing]:
    """The event that counts for each labelled item of any split, by item."""
    query = (
        select(
            Label.item_id,
            Label.person_id,
            Label.kind,
            Label.class_id,
            ProjectClass.position,
            Label.id,
            Label.created_at,
        )
        .outerjoin(ProjectClass, ProjectClass.id == Label.class_id)
        .where(Label.id.in_(standing_ids(project_id)))
        .order_by(Label.item_id)
    )
    return [Standing(*row) for row in s.execute(query)]


def answers(s: Session, project_id: int, up_to_label_id: int | None = None) -> dict[int, int]:
    """Class position by pool item that a person answered, now or as it stood at a label's id."""
    query = (
        _answers(standing_ids(project_id, up_to=up_to_label_id), Label.item_id, ProjectClass.position)
        .join(ProjectClass, ProjectClass.id == Label.class_id)
        .order_by(Label.item_id)
    )
    return dict(s.execute(query).all())


def answers_since(s: Session, project_id: int, label_id: int) -> int:
    """Number of pool items whose standing answer is newer than a label."""
    return s.scalars(_answers(standing_ids(project_id, since=label_id), func.count())).one()


def last_label_id(s: Session, project_id: int) -> int:
    """The newest event's id, 0 where there is none."""
    return s.scalar(select(func.max(Label.id)).where(Label.project_id == project_id)) or 0


def history(s: Session, item_id: int) -> list[LabelRow]:
    """Every event on an item, oldest first."""
    query = select(*_HISTORY)
    query = query.join(Person, Person.id == Label.person_id).join(Item, Item.id == Label.item_id)
    query = query.where(Label.item_id == item_id, Label.project_id == Item.project_id).order_by(Label.id)
    return [LabelRow(*row) for row in s.execute(query)]


def record(
    s: Session, project_id: int, person_id: int, events: Sequence[NewLabel], at: datetime | None = None
) -> list[Recorded]:
    """Store events in their order and say of each whether it is stored; one sent again is stored once.

    An answer or a skip ends the person's lease on the item; an undo takes the person's last event on the item back and
    leases the item to that person again. Raises LookupError for an unknown project or person.
    """
    log = _Log(s, project_id, person_id, events)
    outcome = [Recorded(event.event_key, *log.take(event)) for event in events]
    if log.rows:
        s.execute(insert(Label), log.rows)
    mine = {row["item_id"]: row["kind"] for row in log.rows}  # an item's last event decides
    settle(s, person_id, [item_id for item_id, kind in mine.items() if kind != LabelKind.UNDO])
    give_back(s, person_id, [item_id for item_id, kind in mine.items() if kind == LabelKind.UNDO], at)
    return outcome


class _Log:
    """What must be known to judge events: read once, then followed event by event in `rows`."""

    def __init__(self, s: Session, project_id: int, person_id: int, events: Sequence[NewLabel]) -> None:
        self.project_id, self.person_id = project_id, person_id
        # One writer per project: ids then grow in the order of commits, which a round's watermark relies on.
        lock = select(Project.id).where(Project.id == project_id, Project.archived_at.is_(None))
        if s.scalar(lock.with_for_update(key_share=True)) is None:
            raise LookupError(f"there is no project {project_id}")
        if s.get(Person, person_id) is None:
            raise LookupError(f"there is no person {person_id}")
        self.rows: list[dict] = []
        self.classes = set(s.scalars(select(ProjectClass.id).where(ProjectClass.project_id == project_id)))
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
        self.last[event.item_id] = LabelKind(event.kind)
        self.rows.append(self._row(event))
        return True, ""

    def _refusal(self, event: NewLabel) -> str:
        kinds = list(LabelKind)
        if event.kind not in kinds:
            return f"an event is one of {', '.join(kinds)}, not {event.kind!r}"
        if event.item_id not in self.items:
            return f"image {event.item_id} is not in this project"
        if event.kind == LabelKind.ANSWER and event.class_id not in self.classes:
            return f"class {event.class_id} is not in this project"
        if event.suggested_class_id is not None and event.suggested_class_id not in self.classes:
            return f"the suggested class {event.suggested_class_id} is not in this project"
        if event.kind == LabelKind.UNDO and self.last.get(event.item_id, LabelKind.UNDO) == LabelKind.UNDO:
            return f"there is nothing of yours to undo on image {event.item_id}"
        return "" if 0 < len(event.event_key) <= 80 else "an event's key has 1 to 80 characters"

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
        }


def _stored(s: Session, keys: Iterable[str]) -> dict[str, tuple[int, int]]:
    query = select(Label.event_key, Label.item_id, Label.person_id)
    found = [row for some in chunks(sorted(keys)) for row in s.execute(query.where(Label.event_key.in_(some)))]
    return {key: (item_id, person_id) for key, item_id, person_id in found}


def _last_kinds(s: Session, project_id: int, person_id: int, item_ids: Sequence[int]) -> dict[int, LabelKind]:
    found: dict[int, LabelKind] = {}
    for some in chunks(item_ids):
        own = aliased(Label)
        mine = (own.project_id == project_id, own.item_id.in_(some), own.person_id == person_id)
        last = select(func.max(own.id)).where(*mine).group_by(own.item_id)
        query = select(Label.item_id, Label.kind).where(Label.id.in_(last))
        found |= dict(s.execute(query).all())
    return found


def _answers(ids: Select, *columns) -> Select:
    query = select(*columns).select_from(Label).join(Item, Item.id == Label.item_id)
    return query.where(Label.id.in_(ids), Label.kind == LabelKind.ANSWER, Item.split == Split.POOL)
