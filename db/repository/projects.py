"""People and projects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import insert as plain_insert
from sqlalchemy import null, select, update
from sqlalchemy.orm import Session

from db.dialect import insert
from db.models import Job, JobState, Person, Project, ProjectClass, now
from db.repository.rows import ClassRow, ProjectRow

_COLUMNS = (
    Project.id,
    Project.name,
    Project.root,
    Project.model,
    Project.prompt,
    Project.target_domain,
    Project.seed,
    Project.drawn,
    Project.created_at,
    Project.prompt_weights,
)


def person(s: Session, name: str) -> int:
    """Id of the person of this name, who is added where new. Raises ValueError for an empty or over-long name."""
    name = _checked(name, "a person's name", 100)
    known = select(Person.id).where(Person.name == name)
    if s.scalar(known) is None:
        s.execute(insert(s, Person).values(name=name).on_conflict_do_nothing(index_elements=["name"]))
    return s.scalars(known).one()


def people(s: Session) -> dict[int, str]:
    """Everybody's name by id."""
    return dict(s.execute(select(Person.id, Person.name).order_by(Person.name)).all())


def create_project(
    s: Session,
    *,
    name: str,
    root: str,
    model: str,
    prompt: str,
    classes: Sequence[str],
    target_domain: str | None = None,
    seed: int = 0,
    drawn: bool = False,
) -> int:
    """A new project and its classes in this order; its id. Raises ValueError for a name that is taken or no name."""
    name = _checked(name, "a project's name", 200)
    names = [_checked(each, "a class name", 200) for each in classes]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        raise ValueError(f"each class needs a name of its own, these come twice: {', '.join(twice)}")
    row = {"name": name, "root": str(root), "model": model, "prompt": prompt, "target_domain": target_domain}
    statement = insert(s, Project).values(**row, seed=seed, drawn=drawn).on_conflict_do_nothing().returning(Project.id)
    project_id = s.scalars(statement).one_or_none()
    if project_id is None:
        raise ValueError(f"there is a project “{name}” already: give another name or delete that one first")
    if names:
        rows = [{"project_id": project_id, "position": i, "name": each} for i, each in enumerate(names)]
        s.execute(plain_insert(ProjectClass), rows)
    return project_id


def project(s: Session, project_id: int) -> ProjectRow:
    """The project. Raises LookupError where there is none or it was deleted."""
    return _one(s, Project.id == project_id, f"there is no project {project_id}")


def project_by_name(s: Session, name: str) -> ProjectRow:
    """The project of this name. Raises LookupError where there is none."""
    return _one(s, Project.name == name.strip(), f"there is no project “{name}”")


def projects(s: Session) -> list[ProjectRow]:
    """All projects, oldest first."""
    return _rows(s)


def set_prompt_weights(s: Session, project_id: int, weights: dict | None) -> None:
    """Adopt prompts and their weights, or None: the project's single prompt again. Raises LookupError for no such one.

    Rounds keep in their settings what they were made with; the next one is made with these.
    """
    project(s, project_id)
    s.execute(
        update(Project).where(Project.id == project_id).values(prompt_weights=null() if weights is None else weights)
    )


def delete_project(s: Session, project_id: int) -> None:
    """Hide a project, free its name and stop its jobs; its log of labels stays. Raises LookupError for no such one."""
    project(s, project_id)
    jobs = update(Job).where(Job.project_id == project_id)
    s.execute(
        jobs.where(Job.state == JobState.QUEUED).values(
            state=JobState.CANCELLED, finished_at=now(), message="the project was deleted"
        )
    )
    s.execute(jobs.where(Job.state == JobState.RUNNING).values(cancel_asked=True))
    s.execute(update(Project).where(Project.id == project_id).values(archived_at=now()))


def _one(s: Session, condition, missing: str) -> ProjectRow:
    rows = _rows(s, condition)
    if not rows:
        known = ", ".join(f"{row.name} ({row.id})" for row in _rows(s)[:10])
        raise LookupError(f"{missing}; there are: {known or 'none yet'}")
    return rows[0]


def _rows(s: Session, *conditions) -> list[ProjectRow]:
    found = s.execute(select(*_COLUMNS).where(Project.archived_at.is_(None), *conditions).order_by(Project.id)).all()
    classes: dict[int, list[ClassRow]] = defaultdict(list)
    query = select(ProjectClass.project_id, ProjectClass.id, ProjectClass.position, ProjectClass.name)
    wanted = [row.id for row in found]
    query = query.where(ProjectClass.project_id.in_(wanted)).order_by(ProjectClass.position)
    for project_id, class_id, position, name in s.execute(query):
        classes[project_id].append(ClassRow(class_id, position, name))
    return [ProjectRow(**row._asdict(), classes=tuple(classes[row.id])) for row in found]


def _checked(name: str, what: str, limit: int) -> str:
    name = name.strip()
    if not name or len(name) > limit or not name.isprintable():
        raise ValueError(f"{what} has 1 to {limit} visible characters on one line, this is {name[:limit]!r}")
    return name
