"""One job in this process: how it ends, what is kept of it, and that it beats."""

import time

import pytest

from core import jobs, worker
from core.errors import Cancelled, InputError, NotReady
from db.models import JobState
from tests.db.conftest import make_small


@pytest.fixture
def project(database, monkeypatch) -> int:
    monkeypatch.delenv(worker.WORKER, raising=False)
    return make_small(database).id


def _run(database, project, handler) -> jobs.JobRow:
    job_id = jobs.enqueue(database, project, "work", {})
    state = worker.run_job(database, job_id, {"work": handler})
    assert state == jobs.job(database, job_id).state
    return jobs.job(database, job_id)


def test_a_job_that_returns_is_done_and_its_last_report_is_kept(database, project):
    def handler(database, job, report):
        for i in range(1000):
            report(i + 1, 1000, f"image {i + 1}")

    row = _run(database, project, handler)
    assert (row.state, row.done, row.total, row.message, row.error) == (JobState.DONE, 1000, 1000, "image 1000", None)


def test_reports_are_stored_a_few_times_a_second(database, project, monkeypatch):
    stored = []
    monkeypatch.setattr(jobs, "report", lambda *args: stored.append(args) or True)

    def handler(database, job, report):
        end = time.monotonic() + 0.7
        while time.monotonic() < end:
            report(1, 2, "on the way")

    _run(database, project, handler)
    assert 3 <= len(stored) <= 4  # at 0, 0.3 and 0.6 s, and what was last said


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (NotReady("encode the images first"), JobState.FAILED, "encode the images first"),
        (ZeroDivisionError("division by zero"), JobState.FAILED, "ZeroDivisionError: division by zero"),
        (Cancelled("stop"), JobState.CANCELLED, None),
    ],
)
def test_a_job_that_raises_says_why(database, project, error, state, reason):
    def handler(database, job, report):
        raise error

    row = _run(database, project, handler)
    assert (row.state, row.error) == (state, reason)


def test_a_cancelled_job_ends_at_its_next_report(database, project):
    def handler(database, job, report):
        jobs.ask_cancel(database, job.id)
        report(0, 1, "about to start")
        raise AssertionError("never reached")

    assert _run(database, project, handler).state == JobState.CANCELLED


def test_a_running_job_beats(database, project, monkeypatch):
    monkeypatch.setattr(worker, "PULSE_SECONDS", 0.02)

    def handler(database, job, report):
        deadline = time.monotonic() + 30
        while jobs.job(database, job.id).heartbeat_at <= job.heartbeat_at:
            assert time.monotonic() < deadline, "it never beat"
            time.sleep(0.02)

    assert _run(database, project, handler).state == JobState.DONE


def test_a_job_that_is_not_waiting_cannot_be_started(database, project):
    job_id = jobs.enqueue(database, project, "work", {})
    jobs.take(database)
    with pytest.raises(InputError, match="is running: only a queued job"):
        worker.run_job(database, job_id, {})
