"""Notes on images. The log of flags is append-only: resolving one adds a row that names it."""

from __future__ import annotations

from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session, aliased

from db.dialect import insert
from db.models import Flag, Item, Person
from db.repository.rows import FlagRow

MOST = 2000  # characters of a note


def add_flag(s: Session, project_id: int, person_id: int, item_id: int, note: str, event_key: str | None = None) -> int:
    """Flag an image with a note; the flag's id. With a key, one that is sent again is stored once.

    Raises LookupError for no such image, ValueError for a bad note or key.
    """
    note = _checked(note)
    if not note:
        raise ValueError("a flag says why: write a few words")
    if event_key is not None and not 0 < len(event_key) <= 80:
        raise ValueError("an event's key has 1 to 80 characters")
    added = _add(s, project_id, person_id, item_id, note, event_key=event_key)
    return _again(s, person_id, item_id, event_key) if added is None else added


def resolve_flag(s: Session, project_id: int, person_id: int, flag_id: int, note: str = "") -> None:
    """Settle a flag, with a word on how. Raises LookupError for no such flag, ValueError where it is settled."""
    where = (Flag.id == flag_id, Flag.project_id == project_id, Flag.resolves_id.is_(None))
    item_id = s.scalar(select(Flag.item_id).where(*where))
    if item_id is None:
        raise LookupError(f"there is no flag {flag_id} in this project")
    lock = select(Item.id).where(Item.id == item_id).with_for_update()
    s.execute(lock)  # two who resolve at once: the second sees what the first did
    if s.scalar(select(Flag.id).where(Flag.resolves_id == flag_id)) is not None:
        raise ValueError("somebody settled this flag already")
    _add(s, project_id, person_id, item_id, _checked(note), resolves_id=flag_id)


def flags(s: Session, project_id: int, settled: bool = False, offset: int = 0, limit: int = 60) -> list[FlagRow]:
    """A page of the open flags, or of the settled ones, newest first."""
    return _rows(s, _flags(settled).where(Flag.project_id == project_id).offset(offset).limit(limit))


def flags_of(s: Session, item_id: int) -> list[FlagRow]:
    """Every flag on an image, open or settled, newest first."""
    return _rows(s, _flags(None).where(Flag.item_id == item_id))


def open_flags(s: Session, project_id: int) -> int:
    """How many flags are open."""
    answer = aliased(Flag)
    mine = (Flag.project_id == project_id, Flag.resolves_id.is_(None))
    query = select(func.count()).select_from(Flag).where(*mine, ~exists().where(answer.resolves_id == Flag.id))
    return s.scalars(query).one()


def _flags(settled: bool | None) -> Select:
    answer, by, settler = aliased(Flag), aliased(Person), aliased(Person)
    columns = (Flag.id, Flag.item_id, Item.path, Item.sha256, by.name, Flag.note, Flag.created_at)
    query = (
        select(*columns, settler.name, answer.note, answer.created_at)
        .join(Item, Item.id == Flag.item_id)
        .join(by, by.id == Flag.person_id)
        .outerjoin(answer, answer.resolves_id == Flag.id)
        .outerjoin(settler, settler.id == answer.person_id)
        .where(Flag.resolves_id.is_(None))
        .order_by(Flag.id.desc())
    )
    if settled is None:
        return query
    return query.where(answer.id.is_not(None) if settled else answer.id.is_(None))


def _rows(s: Session, query: Select) -> list[FlagRow]:
    return [FlagRow(*row) for row in s.execute(query)]


def _add(s: Session, project_id: int, person_id: int, item_id: int, note: str, **more) -> int | None:
    """The new row's id; None where its key is there already."""
    if s.scalar(select(Item.id).where(Item.id == item_id, Item.project_id == project_id)) is None:
        raise LookupError(f"image {item_id} is not in this project")
    row = {"project_id": project_id, "person_id": person_id, "item_id": item_id, "note": note} | more
    added = insert(s, Flag).values(**row).on_conflict_do_nothing(index_elements=["event_key"])
    return s.scalar(added.returning(Flag.id))


def _again(s: Session, person_id: int, item_id: int, event_key: str | None) -> int:
    """The flag that has this key. Raises ValueError where it is another event's."""
    same = (Flag.event_key == event_key, Flag.person_id == person_id, Flag.item_id == item_id)
    found = s.scalar(select(Flag.id).where(*same))
    if found is None:
        raise ValueError(f"the key {event_key} belongs to another event")
    return found


def _checked(note: str) -> str:
    note = note.strip()
    if len(note) > MOST:
        raise ValueError(f"a note has {MOST} characters at most, this has {len(note)}")
    return note
