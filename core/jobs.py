"""Work for the worker process: a table of jobs, each queued → running → done, failed or cancelled.

A project has at most one active (queued or running) job of a kind; an index of the database sees to that. Every change
of state is one UPDATE that names the state it starts from, so two processes can never both make it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Update, exists, or_, select, update
from sqlalchemy.orm import Session, aliased

from core.errors import UnknownName
from db.dialect import insert
from db.models import Job, JobState, Project, now
from db.repository.classes import lock_project
from db.session import Database

STALE = timedelta(seconds=10)  # a running job beats once a second; its process ends within a second of its worker
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class JobRow:
    id: int
    project_id: int
    kind: str
    payload: dict
    state: JobState
    done: int
    total: int
    message: str
    error: str | None
    cancel_asked: bool
    attempts: int
    created_at: datetime
    started_at: datetime | None
    heartbeat_at: datetime | None
    finished_at: datetime | None


_COLUMNS = tuple(getattr(Job, name) for name in JobRow.__slots__)
_ACTIVE = Job.state.in_([JobState.QUEUED, JobState.RUNNING])
_OTHER = aliased(Job)
_BUSY = exists().where(_OTHER.project_id == Job.project_id, _OTHER.state == JobState.RUNNING)


def enqueue(database: Database, project_id: int, kind: str, payload: dict) -> int:
    """Queue a job; the id of the active one of this kind if there is one. Raises UnknownName for no such project."""
    with database.write() as s:
        if s.scalar(select(Project.id).where(Project.id == project_id, Project.archived_at.is_(None))) is None:
            raise UnknownName(f"there is no project {project_id} to work on")
        row = {"project_id": project_id, "kind": kind, "payload": payload}
        while True:  # the one that was in the way may have ended meanwhile
            added = s.scalar(insert(s, Job).values(**row).on_conflict_do_nothing().returning(Job.id))
            job_id = added or s.scalar(select(Job.id).where(Job.project_id == project_id, Job.kind == kind, _ACTIVE))
            if job_id is not None:
                return job_id


def job(database: Database, job_id: int) -> JobRow:
    """The job as it is now. Raises UnknownName where there is none."""
    found = _rows(database, Job.id == job_id)
    if not found:
        raise UnknownName(f"there is no job {job_id}")
    return found[0]


def active(database: Database, project_id: int | None = None) -> list[JobRow]:
    """Queued and running jobs, of one project or of all, oldest first."""
    return _rows(database, _ACTIVE, *([] if project_id is None else [Job.project_id == project_id]))


def latest(database: Database, project_id: int, kind: str) -> JobRow | None:
    """The project's newest job of a kind, or None."""
    found = _rows(database, Job.project_id == project_id, Job.kind == kind)
    return found[-1] if found else None


def ask_cancel(database: Database, job_id: int) -> None:
    """Cancel a queued job at once and ask for the end of a running one; nothing happens to one that has ended."""
    with database.write() as s:
        s.execute(_from(JobState.RUNNING, job_id).values(cancel_asked=True))
        s.execute(_from(JobState.QUEUED, job_id).values(state=JobState.CANCELLED, finished_at=now(), cancel_asked=True))


def take(database: Database, job_id: int | None = None) -> JobRow | None:
    """Set the oldest queued job running whose project has none running, or this job; None where there is none.

    One caller gets it, on whatever machine. A project's jobs run one after the other, as one may need what the one
    before it made.
    """
    next_ = select(Job.id, Job.project_id).where(Job.state == JobState.QUEUED).order_by(Job.id).limit(1)
    next_ = next_.where(~_BUSY) if job_id is None else next_.where(Job.id == job_id)
    with database.read() as s:
        if s.execute(next_).one_or_none() is None:  # an idle worker asks often and must not hold up those who label
            return None
    with database.write() as s:
        found = s.execute(next_.with_for_update(of=Job, skip_locked=True)).one_or_none()
        if found is None:
            return None
        lock_project(s, found.project_id)  # a change of its classes ends first, and another job of it is seen
        started = {"state": JobState.RUNNING, "started_at": now(), "heartbeat_at": now(), "message": "", "error": None}
        start = _from(JobState.QUEUED, found.id).values(**started, done=0, total=0, attempts=Job.attempts + 1)
        start = start.where(~_BUSY) if job_id is None else start
        row = s.execute(start.returning(*_COLUMNS)).one_or_none()
        return None if row is None else JobRow(*row)


def beat(database: Database, job: JobRow) -> bool:
    """Say that a running job's process lives; False where the job ended or another worker took it meanwhile."""
    mine = _from(JobState.RUNNING, job.id).where(Job.attempts == job.attempts)
    with database.write() as s:
        return s.scalar(mine.values(heartbeat_at=now()).returning(Job.id)) is not None


def report(database: Database, job_id: int, done: int, total: int, message: str) -> bool:
    """Store a running job's progress; False if it should end: cancelled, or no longer running."""
    values = {"done": done, "total": total, "message": message, "heartbeat_at": now()}
    with database.write() as s:
        asked = s.scalar(_from(JobState.RUNNING, job_id).values(**values).returning(Job.cancel_asked))
    return asked is False


def finish(database: Database, job_id: int, state: JobState, error: str | None = None) -> bool:
    """End a running job; False if it was not running any more, and then nothing is changed."""
    with database.write() as s:
        return _end(s, job_id, state, error)


def put_back(database: Database, job_id: int) -> None:
    """Queue a running job again whose worker is told to stop; a cancelled one ends."""
    with database.write() as s:
        _requeue(s, job_id, "the worker was stopped: the job starts again with it", attempts=Job.attempts - 1)


def recover(database: Database) -> None:
    """Queue jobs again that nobody works on any more; one that has lost its worker twice is failed."""
    silent = or_(Job.heartbeat_at.is_(None), Job.heartbeat_at < now() - STALE)
    for each in _rows(database, Job.state == JobState.RUNNING, silent):
        with database.write() as s:
            still = select(Job.id).where(Job.id == each.id, Job.state == JobState.RUNNING, silent)
            if s.scalar(still.with_for_update()) is None:  # another worker was faster, and the job may run again
                continue
            if each.attempts < ATTEMPTS:
                _requeue(s, each.id, "the worker died: the job starts again", heartbeat_at=None)
            else:
                reason = f"the worker died {each.attempts} times during this job: see its log, then start it again"
                _end(s, each.id, JobState.FAILED, reason)


def _rows(database: Database, *conditions) -> list[JobRow]:
    with database.read() as s:
        return [JobRow(*row) for row in s.execute(select(*_COLUMNS).where(*conditions).order_by(Job.id))]


def _from(state: JobState, job_id: int) -> Update:
    where = update(Job).where(Job.id == job_id, Job.state == state)
    return where.execution_options(synchronize_session=False)


def _end(s: Session, job_id: int, state: JobState, error: str | None) -> bool:
    ended = _from(JobState.RUNNING, job_id).values(state=state, error=error, finished_at=now())
    return s.scalar(ended.returning(Job.id)) is not None


def _requeue(s: Session, job_id: int, message: str, **values) -> None:
    s.execute(
        _from(JobState.RUNNING, job_id).where(Job.cancel_asked).values(state=JobState.CANCELLED, finished_at=now())
    )
    s.execute(_from(JobState.RUNNING, job_id).values(state=JobState.QUEUED, message=message, **values))
