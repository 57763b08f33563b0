"""Rounds: one posterior each, with all that is needed to reproduce it."""

from __future__ import annotations

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from db.models import Job, JobState, Project, Round
from db.repository.classes import lock_project
from db.repository.rows import RoundRow

_COLUMNS = tuple(getattr(Round, name) for name in RoundRow.__slots__)


def add_round(s: Session, project_id: int, **columns) -> int:
    """Store a round under the project's next number (the first is 0); the number. Its classes are those of now."""
    lock_project(s, project_id)
    last = s.scalar(select(func.max(Round.number)).where(Round.project_id == project_id))
    version = s.scalar(select(Project.class_version).where(Project.id == project_id))
    number = 0 if last is None else last + 1
    columns = {"project_id": project_id, "number": number, "class_version": version} | columns
    s.execute(insert(Round).values(**columns))
    return columns["number"]


def rounds(s: Session, project_id: int) -> list[RoundRow]:
    """All rounds by number."""
    query = select(*_COLUMNS).where(Round.project_id == project_id).order_by(Round.number)
    return [RoundRow(*row) for row in s.execute(query)]


def latest_round(s: Session, project_id: int) -> RoundRow | None:
    """The round with the greatest number, or None."""
    query = select(*_COLUMNS).where(Round.project_id == project_id).order_by(Round.number.desc()).limit(1)
    row = s.execute(query).one_or_none()
    return None if row is None else RoundRow(*row)


def round_running(s: Session, project_id: int) -> bool:
    """Whether the worker learns a round of this project now."""
    running = (Job.project_id == project_id, Job.kind == "round", Job.state == JobState.RUNNING)
    return s.scalar(select(Job.id).where(*running).limit(1)) is not None
