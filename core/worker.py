"""The worker: one process for each data folder and machine; it does the queued jobs, each in a child of its own.

    worker (lock file) ── take ─► child: run_job ── handler ─► one transaction with the result
        │ cancelled, told to stop, or its parent is gone: terminates the child, then kills it
        └ the child ended without a word: the job is failed, with the reason

A child of its own gives a cancelled or crashed job's memory back, also the GPU's. A child outlives its worker by a
second at most (`_Pulse`), so a job is never done twice at once.
"""

from __future__ import annotations

import logging
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.exc import OperationalError

from core import jobs
from core.config import home
from core.errors import Cancelled, InputError, PenumbraError
from core.handlers import HANDLERS, Handler
from core.jobs import JobRow
from core.process import gone_check, log_file, only_one, runs, start, stop, told_to_stop
from db.models import JobState
from db.session import Database

if TYPE_CHECKING:
    pass  # at run time it would load torch, which an idle worker has no use for

logger = logging.getLogger(__name__)

LOCK = f"worker-{platform.node()}.lock"  # machines that share a data folder have a worker each
WORKER = "PENUMBRA_WORKER"  # in a child's environment: the worker's process id
PULSE_SECONDS = 1.0
REPORT_SECONDS = 0.3

Command = Callable[[int], Sequence[str]]


# --- the child ---------------------------------------------------------------------------------------------------


def run_job(database: Database, job_id: int, handlers: Mapping[str, Handler] = HANDLERS) -> JobState:
    """Do one job in this process and store how it ended; the state.

    A handler writes its result in one transaction at its end and reports no progress inside it.
    Raises InputError for a job that is not waiting.
    """
    job = _started(database, job_id)
    report = _Report(database, job_id)
    with _Pulse(database, job):
        state, error = _outcome(lambda: handlers[job.kind](database, job, report))
        report.flush()
    jobs.finish(database, job_id, state, error)
    return jobs.job(database, job_id).state


def _started(database: Database, job_id: int) -> JobRow:
    job = jobs.job(database, job_id)
    if job.state == JobState.RUNNING and WORKER in os.environ:
        return job
    taken = jobs.take(database, job_id)
    if taken is None:
        raise InputError(f"job {job_id} is {job.state}: only a queued job can be started")
    return taken


def _outcome(work: Callable[[], None]) -> tuple[JobState, str | None]:
    try:
        work()
    except Cancelled:
        return JobState.CANCELLED, None
    except PenumbraError as error:
        return JobState.FAILED, str(error)
    except Exception as error:
        logger.exception("the job failed")
        return JobState.FAILED, f"{type(error).__name__}: {error}"
    return JobState.DONE, None


class _Report:
    """The progress callback: stores at most one report in REPORT_SECONDS, raises Cancelled when asked to end."""

    def __init__(self, database: Database, job_id: int) -> None:
        self._database, self._job_id = database, job_id
        self._next = 0.0
        self._waiting: tuple[int, int, str] | None = None

    def __call__(self, done: int, total: int, message: str) -> None:
        self._waiting = (done, total, message)
        if time.monotonic() >= self._next and not self.flush():
            raise Cancelled("the job was cancelled")

    def flush(self) -> bool:
        """Store what was last said; False if the job should end."""
        self._next = time.monotonic() + REPORT_SECONDS
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return True
        try:
            return jobs.report(self._database, self._job_id, *waiting)
        except OperationalError:
            logger.warning("the database was busy: a progress report is left out")
            return True


class _Pulse:
    """A thread that beats for a job and ends this process, with all it started, when its worker or the job is gone.

    The job is gone where this machine was cut off from the database for so long that another one took it.
    """

    def __init__(self, database: Database, job: JobRow) -> None:
        self._database, self._job = database, job
        self._worker = int(os.environ.get(WORKER, 0))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            orphaned = self._worker and os.getppid() != self._worker
            if orphaned or (not self._is_ours() and self._worker):
                os.killpg(os.getpgrp(), signal.SIGKILL)
            if self._ended.wait(PULSE_SECONDS):
                return

    def _is_ours(self) -> bool:
        try:
            return jobs.beat(self._database, self._job)
        except OperationalError:
            logger.warning("the database was busy: a heartbeat is left out")
            return True


# --- the worker --------------------------------------------------------------------------------------------------


def child_command(job_id: int) -> list[str]:
    """What a child runs."""
    return [sys.executable, "-m", "core", "run-job", str(job_id)]


def run_worker(
    database: Database, *, tied_to: int | None = None, poll: float = 0.5, command: Command = child_command
) -> None:
    """Do jobs until told to stop (SIGTERM, SIGINT) or until the process `tied_to` is gone.

    Returns at once where another worker has the data folder. `command` is what a job's child runs.
    """
    with only_one(LOCK) as alone, told_to_stop() as stopped:
        if not alone:
            logger.info("another worker has the data folder %s: this one ends", home())
            return
        gone = gone_check(tied_to)
        while not (stopped.is_set() or gone()):
            try:
                jobs.recover(database)
                job = jobs.take(database)
                if job is not None:
                    _attend(database, job, command(job.id), poll, lambda: stopped.is_set() or gone())
            except OperationalError:  # what was not stored of a job is found by `recover`
                logger.warning("the database was busy: trying again", exc_info=True)
            stopped.wait(poll)


def ensure_worker(tied_to: int | None = None) -> subprocess.Popen | None:
    """Start a worker that outlives this process (or ends with `tied_to`), if none has the data folder."""
    with only_one(LOCK, patience=0) as free:
        pass
    if not free:
        return None
    tied = [] if tied_to is None else ["--tied", str(tied_to)]
    return start([sys.executable, "-m", "core", "worker", *tied], log_file("worker.log"), {})


def _attend(database: Database, job: JobRow, command: Sequence[str], poll: float, ended: Callable[[], bool]) -> None:
    """Run a child for the job and see it through."""
    log = log_file(f"job-{job.id}.log")
    child = start(command, log, {"PENUMBRA_DATABASE_URL": database.url, WORKER: str(os.getpid())})
    try:
        while runs(child, poll):
            if ended():
                stop(child)
                jobs.put_back(database, job.id)
            elif jobs.job(database, job.id).cancel_asked:
                stop(child)
    finally:
        stop(child)
    _conclude(database, job, child.returncode, log)


def _conclude(database: Database, job: JobRow, status: int, log: Path) -> None:
    """Store how a job ended whose child left without saying so."""
    now = jobs.job(database, job.id)
    if now.state != JobState.RUNNING or now.attempts != job.attempts:  # the second: another worker has it
        return
    if now.cancel_asked:
        jobs.finish(database, job.id, JobState.CANCELLED)
        return
    error = f"{_reason(status, log)} (log: {log})"
    logger.warning("job %s (%s) failed: %s", job.id, job.kind, error)
    jobs.finish(database, job.id, JobState.FAILED, error)


def _reason(status: int, log: Path) -> str:
    if status == -signal.SIGKILL:
        return "the system killed the job's process (SIGKILL), most often for want of memory: free some, then try again"
    if status < 0:
        return f"the job's process was ended by {signal.Signals(-status).name}"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    said = lines[-1].strip()[:500] if lines else "it said nothing"
    return f"the job's process ended with status {status}: {said}"
