"""Projects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import NotNullable, null, select, update
from sqlalchemy import insert as plain_insert
from sqlalchemy.orm import Session

from db.dialect import insert
from db.models import Job, JobState, Project, ProjectClass, now
from db.repository.people import checked_name
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
    Project.team,
    Project.class_version,
    Project.source,
)


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
    source: dict | None = None,
) -> int:
    """A new project and its classes in this order; its id. Raises ValueError for a name that is taken or no name."""
    name = checked_name(name, "a project's name", 200)
    names = [checked_name(each, "a class name", 200) for each in classes]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        raise ValueError(f"each class needs a name of its own, these come twice: {', '.join(twice)}")
    row: dict[str, Any] = {"name": name, "root": str(root), "model": model, "prompt": prompt}
    row["target_domain"] = target_domain
    row |= {"seed": seed, "drawn": drawn, "source": null() if source is None else source}
    statement = insert(s, Project).values(**row).on_conflict_do_nothing().returning(Project.id)
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


def set_taken_in(s: Session, project_id: int, changes: dict) -> None:
    """Keep what the last import changed (core/importing)."""
    s.execute(update(Project).where(Project.id == project_id).values(taken_in=changes))


def taken_in(s: Session, project_id: int) -> dict | None:
    """What the last import changed; None before the first."""
    return s.scalar(select(Project.taken_in).where(Project.id == project_id))


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
    rows = s.execute(select(*_COLUMNS).where(Project.archived_at.is_(None), *conditions).order_by(Project.id))
    found: list[Any] = list(rows)
    classes: dict[int, list[ClassRow]] = defaultdict(list)
    columns = (ProjectClass.project_id, ProjectClass.id, NotNullable(ProjectClass.position), ProjectClass.name)
    mine = (ProjectClass.project_id.in_([row.id for row in found]), ProjectClass.position.is_not(None))
    for row in s.execute(select(*columns).where(*mine).order_by(ProjectClass.position)):
        classes[row[0]].append(ClassRow(*row[1:]))
    return [ProjectRow(**row._mapping, classes=tuple(classes[row.id])) for row in found]
