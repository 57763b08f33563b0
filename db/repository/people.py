"""People: who they are and what they may do. Nobody is ever deleted: the log names them."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from db.dialect import insert, one_at_a_time
from db.models import Person, Role
from db.repository.rows import PersonRow

_COLUMNS = (
    Person.id,
    Person.name,
    Person.role,
    Person.disabled,
    Person.password_hash.is_not(None),
    Person.preferences,
    Person.created_at,
)


def person(s: Session, name: str) -> int:
    """Id of the person of this name, who is added where new; the first of all is an owner, the next ones annotators.

    Raises ValueError for an empty or over-long name.
    """
    name = checked_name(name, "a person's name", 100)
    known = select(Person.id).where(Person.name == name)
    if s.scalar(known) is None:
        one_at_a_time(s, "person")  # two who are the first at once: one owner
        role = Role.ANNOTATOR if s.scalar(select(Person.id).limit(1)) is not None else Role.OWNER
        s.execute(insert(s, Person).values(name=name, role=role).on_conflict_do_nothing(index_elements=["name"]))
    return s.scalars(known).one()


def people(s: Session) -> dict[int, str]:
    """Everybody's name by id."""
    return dict(s.execute(select(Person.id, Person.name).order_by(Person.name)).all())


def person_row(s: Session, person_id: int) -> PersonRow:
    """One person. Raises LookupError where there is none."""
    row = s.execute(select(*_COLUMNS).where(Person.id == person_id)).one_or_none()
    if row is None:
        raise LookupError(f"there is no person {person_id}")
    return PersonRow(*row)


def person_rows(s: Session) -> list[PersonRow]:
    """Everybody, by name."""
    return [PersonRow(*row) for row in s.execute(select(*_COLUMNS).order_by(Person.name))]


def set_preferences(s: Session, person_id: int, preferences: dict) -> None:
    """Replace what the pages keep for a person (keys and the like). Raises LookupError for no such person."""
    _change(s, person_id, preferences=preferences)


def _change(s: Session, person_id: int, **values) -> None:
    person_row(s, person_id)
    s.execute(update(Person).where(Person.id == person_id).values(**values))


def checked_name(name: str, what: str, limit: int) -> str:
    """`name` without spaces around it. Raises ValueError where it is empty, too long or not one visible line."""
    name = name.strip()
    if not name or len(name) > limit or not name.isprintable():
        raise ValueError(f"{what} has 1 to {limit} visible characters on one line, this is {name[:limit]!r}")
    return name
