"""The table of jobs: each change of state can be made once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from core import jobs
from core.errors import UnknownName
from db.models import Job, JobState, now
from tests.db.conftest import make_small


@pytest.fixture
def project(database) -> int:
    return make_small(database).id


def _age(database, job_id, by=2 * jobs.STALE):
    with database.write() as s:
        s.execute(update(Job).where(Job.id == job_id).values(heartbeat_at=now() - by))


def test_a_job_is_queued_once(database, project):
    first = jobs.enqueue(database, project, "round", {"labels": 3})
    assert jobs.enqueue(database, project, "round", {"labels": 4}) == first
    assert jobs.enqueue(database, project, "prepare", {}) != first
    jobs.take(database, first)
    assert jobs.enqueue(database, project, "round", {}) == first
    jobs.finish(database, first, JobState.DONE)
    assert jobs.enqueue(database, project, "round", {}) != first
    assert jobs.job(database, first).payload == {"labels": 3}


def test_many_who_queue_at_once_get_the_same_job(database, project):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: jobs.enqueue(database, project, "round", {}), range(32)))) == 1


def test_a_job_is_taken_once(database, project):
    job_id = jobs.enqueue(database, project, "round", {})
    with ThreadPoolExecutor(8) as pool:
        taken = [row for row in pool.map(lambda _: jobs.take(database), range(16)) if row is not None]
    assert [(row.id, row.state, row.attempts) for row in taken] == [(job_id, JobState.RUNNING, 1)]


def test_the_oldest_job_is_taken_first_and_a_project_has_one_running(database, project):
    first, second = (jobs.enqueue(database, project, kind, {}) for kind in ("prepare", "round"))
    elsewhere = jobs.enqueue(database, make_small(database, "other").id, "round", {})
    assert [row.id for row in jobs.active(database)] == [first, second, elsewhere]
    assert [jobs.take(database).id, jobs.take(database).id, jobs.take(database)] == [first, elsewhere, None]
    jobs.finish(database, first, JobState.DONE)
    assert jobs.take(database).id == second


def test_many_workers_take_each_job_once_and_one_of_a_project(database):
    """Each takes whatever there is and ends it a moment later: no project ever has two running."""
    projects = [make_small(database, f"project {i}").id for i in range(4)]
    ids = [jobs.enqueue(database, each, kind, {}) for kind in ("prepare", "round", "atlas") for each in projects]
    taken = []

    def work(_):
        while jobs.active(database):
            row = jobs.take(database)
            if row is not None:
                taken.append(row.id)
                running = [each.project_id for each in jobs.active(database) if each.state == JobState.RUNNING]
                assert len(running) == len(set(running))
                jobs.finish(database, row.id, JobState.DONE)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(taken) == ids


def test_two_who_find_a_job_without_worker_start_it_again_once(database, project, monkeypatch):
    """The slower one must not put back what the faster one has put back and started since."""
    job_id = jobs.enqueue(database, project, "round", {})
    jobs.take(database)
    _age(database, job_id)
    looked = jobs._rows

    def slow(*arguments):
        found = looked(*arguments)
        monkeypatch.setattr(jobs, "_rows", looked)
        jobs.recover(database)  # the faster one, between a look and an act of the slower one
        assert jobs.take(database).attempts == 2
        return found

    monkeypatch.setattr(jobs, "_rows", slow)
    jobs.recover(database)
    assert jobs.job(database, job_id).state == JobState.RUNNING


def test_reads_of_one_project_leave_the_others_out(database, project):
    other = make_small(database, "other").id
    mine, theirs = jobs.enqueue(database, project, "round", {}), jobs.enqueue(database, other, "round", {})
    assert [row.id for row in jobs.active(database, other)] == [theirs]
    assert jobs.latest(database, project, "round").id == mine
    assert jobs.latest(database, project, "prepare") is None


def test_what_does_not_exist_is_said(database, project):
    with pytest.raises(UnknownName, match="no project 99"):
        jobs.enqueue(database, 99, "round", {})
    with pytest.raises(UnknownName, match="no job 99"):
        jobs.job(database, 99)


def test_a_queued_job_is_cancelled_at_once_and_a_running_one_is_asked(database, project):
    queued, running = (jobs.enqueue(database, project, kind, {}) for kind in ("prepare", "round"))
    jobs.take(database, running)
    jobs.ask_cancel(database, queued)
    jobs.ask_cancel(database, running)
    assert jobs.job(database, queued).state == JobState.CANCELLED
    assert (jobs.job(database, running).state, jobs.job(database, running).cancel_asked) == (JobState.RUNNING, True)
    assert not jobs.report(database, running, 1, 2, "half")
    assert jobs.take(database) is None


def test_a_report_is_stored_and_says_whether_to_go_on(database, project):
    job_id = jobs.enqueue(database, project, "round", {})
    jobs.take(database)
    assert jobs.report(database, job_id, 1, 2, "half")
    row = jobs.job(database, job_id)
    assert (row.done, row.total, row.message) == (1, 2, "half")


def test_a_job_that_ended_stays_as_it_is(database, project):
    job_id = jobs.enqueue(database, project, "round", {})
    jobs.take(database)
    assert jobs.finish(database, job_id, JobState.FAILED, "too few labels")
    assert not jobs.finish(database, job_id, JobState.DONE)
    assert not jobs.report(database, job_id, 1, 1, "late")
    jobs.ask_cancel(database, job_id)
    row = jobs.job(database, job_id)
    assert (row.state, row.error, row.message, row.cancel_asked) == (JobState.FAILED, "too few labels", "", False)
    assert row.finished_at >= row.started_at >= row.created_at


def test_a_living_job_is_left_alone(database, project):
    job_id = jobs.enqueue(database, project, "round", {})
    job = jobs.take(database)
    _age(database, job_id)
    assert jobs.beat(database, job)
    jobs.recover(database)
    assert jobs.job(database, job_id).state == JobState.RUNNING


def test_a_process_that_lost_its_job_hears_of_it(database, project):
    job_id = jobs.enqueue(database, project, "round", {})
    first = jobs.take(database)
    _age(database, job_id)
    jobs.recover(database)
    assert not jobs.beat(database, first)
    second = jobs.take(database)
    assert (jobs.beat(database, first), jobs.beat(database, second)) == (False, True)


def test_a_job_that_lost_its_worker_starts_again_once(database, project):
    job_id = jobs.enqueue(database, project, "round", {})
    jobs.take(database)
    _age(database, job_id)
    jobs.recover(database)
    row = jobs.job(database, job_id)
    assert (row.state, row.message) == (JobState.QUEUED, "the worker died: the job starts again")
    jobs.take(database)
    _age(database, job_id)
    jobs.recover(database)
    row = jobs.job(database, job_id)
    assert row.state == JobState.FAILED
    assert "the worker died 2 times" in row.error


def test_a_cancelled_job_that_lost_its_worker_is_cancelled(database, project):
    job_id = jobs.enqueue(database, project, "round", {})
    jobs.take(database)
    jobs.ask_cancel(database, job_id)
    _age(database, job_id)
    jobs.recover(database)
    assert jobs.job(database, job_id).state == JobState.CANCELLED


def test_a_job_put_back_has_lost_no_attempt(database, project):
    job_id = jobs.enqueue(database, project, "round", {})
    for _ in range(5):
        assert jobs.take(database).attempts == 1
        jobs.put_back(database, job_id)
    assert jobs.job(database, job_id).state == JobState.QUEUED
