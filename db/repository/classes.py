"""The classes of a project: what each id stands for now, how they change, and the history of that.

A label keeps the class it was given. A merged class stands for its heir; a deleted one for nothing, and what was
answered with it counts as not answered.
"""

from __future__ import annotations

from sqlalchemy import NotNullable, func, insert, select, update
from sqlalchemy.orm import Session

from db.base import ClassChangeKind
from db.models import ClassChange, Person, Project, ProjectClass, now
from db.repository.people import checked_name
from db.repository.rows import ClassChangeRow, ClassRow


def class_map(s: Session, project_id: int) -> dict[int, ClassRow]:
    """The class that each id of the project stands for now: itself or its heir. Deleted ones are absent."""
    query = select(ProjectClass.id, ProjectClass.position, ProjectClass.name, ProjectClass.heir_id)
    rows = s.execute(query.where(ProjectClass.project_id == project_id)).all()
    active = {row.id: ClassRow(row.id, row.position, row.name) for row in rows if row.position is not None}
    return {row.id: active[row.heir_id or row.id] for row in rows if (row.heir_id or row.id) in active}


def class_names(s: Session, project_id: int) -> dict[int, str]:
    """The last name of every class there ever was, by id: for histories."""
    query = select(ProjectClass.id, ProjectClass.name).where(ProjectClass.project_id == project_id)
    return dict(s.execute(query).all())


def class_by_name(s: Session, project_id: int) -> dict[str, int]:
    """The class that a name means now, by every name there ever was: files and folders keep the old ones.

    A name in use now wins over a former one, and a later former one over an earlier.
    """
    means = class_map(s, project_id)
    renamed = select(ClassChange.before, ClassChange.class_id).where(
        ClassChange.project_id == project_id, ClassChange.kind == ClassChangeKind.RENAME
    )
    former = [(name, class_id) for name, class_id in s.execute(renamed.order_by(ClassChange.id)) if name]
    retired = [(name, class_id) for class_id, name in class_names(s, project_id).items()]
    active = [(row.name, class_id) for class_id, row in means.items() if row.id == class_id]
    return {name: means[class_id].id for name, class_id in (*former, *retired, *active) if class_id in means}


def lock_classes(s: Session, project_id: int) -> None:
    """Make every other change of these classes, and every new label of the project, wait for this transaction."""
    s.execute(select(Project.id).where(Project.id == project_id).with_for_update())


def lock_project(s: Session, project_id: int) -> None:
    """Make whoever stores labels of the project, or changes its classes, wait for this transaction."""
    s.execute(select(Project.id).where(Project.id == project_id).with_for_update(key_share=True))


def add_class(s: Session, project_id: int, person_id: int, name: str) -> int:
    """A new class after the others; its id. Raises ValueError for a name that is taken or no name."""
    name = _free_name(s, project_id, name)
    count = select(func.count()).where(ProjectClass.project_id == project_id, ProjectClass.retired_at.is_(None))
    row = {"project_id": project_id, "name": name, "position": s.scalars(count).one()}
    class_id = s.scalars(insert(ProjectClass).values(**row).returning(ProjectClass.id)).one()
    _note(s, project_id, person_id, ClassChangeKind.ADD, class_id, after=name)
    return class_id


def rename_class(s: Session, project_id: int, person_id: int, class_id: int, name: str) -> None:
    """Another name for a class. Raises LookupError for no such class, ValueError for a name that is taken or none."""
    before = _active(s, project_id, class_id).name
    name = _free_name(s, project_id, name)
    s.execute(update(ProjectClass).where(ProjectClass.id == class_id).values(name=name))
    _note(s, project_id, person_id, ClassChangeKind.RENAME, class_id, before=before, after=name)


def merge_class(s: Session, project_id: int, person_id: int, class_id: int, heir_id: int) -> None:
    """Let one class stand for another, with all that it stood for. Raises LookupError or ValueError."""
    if class_id == heir_id:
        raise ValueError("a class cannot be merged into itself: choose another one")
    merged, heir = _active(s, project_id, class_id), _active(s, project_id, heir_id)
    s.execute(update(ProjectClass).where(ProjectClass.heir_id == class_id).values(heir_id=heir_id))
    _retire(s, project_id, merged, heir_id)
    _note(s, project_id, person_id, ClassChangeKind.MERGE, class_id, heir_id, merged.name, heir.name)


def delete_class(s: Session, project_id: int, person_id: int, class_id: int) -> None:
    """Let a class, and those merged into it, stand for nothing. Raises LookupError for no such class."""
    gone = _active(s, project_id, class_id)
    s.execute(update(ProjectClass).where(ProjectClass.heir_id == class_id).values(heir_id=None))
    _retire(s, project_id, gone, None)
    _note(s, project_id, person_id, ClassChangeKind.DELETE, class_id, before=gone.name)


def class_changes(s: Session, project_id: int, offset: int = 0, limit: int = 60) -> list[ClassChangeRow]:
    """A page of the history of the classes, newest first."""
    c = ClassChange
    query = select(c.id, c.kind, c.class_id, c.heir_id, c.before, c.after, c.version, Person.name, c.created_at)
    query = query.join(Person, Person.id == c.person_id).where(c.project_id == project_id)
    return [ClassChangeRow(*row) for row in s.execute(query.order_by(c.id.desc()).offset(offset).limit(limit))]


def _active(s: Session, project_id: int, class_id: int) -> ClassRow:
    where = (ProjectClass.id == class_id, ProjectClass.project_id == project_id, ProjectClass.retired_at.is_(None))
    position = NotNullable(ProjectClass.position)
    row = s.execute(select(ProjectClass.id, position, ProjectClass.name).where(*where)).one_or_none()
    if row is None:
        raise LookupError(f"the project has no class {class_id} (any more)")
    return ClassRow(*row)


def _free_name(s: Session, project_id: int, name: str) -> str:
    name = checked_name(name, "a class name", 200)
    mine = (ProjectClass.project_id == project_id, ProjectClass.retired_at.is_(None))
    if s.scalar(select(ProjectClass.id).where(*mine, ProjectClass.name == name)) is not None:
        raise ValueError(f"there is a class “{name}” already: give another name, or merge the two")
    return name


def _retire(s: Session, project_id: int, gone: ClassRow, heir_id: int | None) -> None:
    """Take a class out of the order; those after it move up, one by one, as no two may have one position."""
    one = update(ProjectClass)
    s.execute(one.where(ProjectClass.id == gone.id).values(position=None, heir_id=heir_id, retired_at=now()))
    later = select(ProjectClass.id).where(ProjectClass.project_id == project_id, ProjectClass.position > gone.position)
    for class_id in s.scalars(later.order_by(ProjectClass.position)).all():
        s.execute(one.where(ProjectClass.id == class_id).values(position=ProjectClass.position - 1))


def _note(
    s: Session,
    project_id: int,
    person_id: int,
    kind: ClassChangeKind,
    class_id: int,
    heir_id: int | None = None,
    before: str | None = None,
    after: str | None = None,
) -> None:
    version = select(Project.class_version).where(Project.id == project_id)
    s.execute(update(Project).where(Project.id == project_id).values(class_version=Project.class_version + 1))
    row = {"project_id": project_id, "person_id": person_id, "kind": kind, "class_id": class_id, "heir_id": heir_id}
    s.execute(insert(ClassChange).values(**row, before=before, after=after, version=s.scalars(version).one()))
