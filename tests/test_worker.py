"""The worker and its children: real processes, real signals. A child here runs handlers of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import update

from core import jobs, worker
from core.process import only_one
from db.models import Job, JobState, now
from db.session import Database, open_database
from tests.conftest import ROOT
from tests.db.conftest import make_small

CHILD = """
import os, signal, subprocess, sys, time
from core.worker import run_job
from db.session import Database

def quick(database, job, report):
    report(1, 1, "all of it")

def noted(database, job, report):
    with open(job.payload["file"], "a") as file:
        file.write(f"{job.id} {os.environ['PENUMBRA_HOME']}\\n")

def slow(database, job, report):
    helper = subprocess.Popen(["sleep", "60"])
    report(helper.pid, os.getpid(), "sleeping")
    time.sleep(60)

def falters(database, job, report):
    if job.attempts == 1:
        slow(database, job, report)
    noted(database, job, report)

def stubborn(database, job, report):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    slow(database, job, report)

def killed(database, job, report):
    os.kill(os.getpid(), signal.SIGKILL)

def crashing(database, job, report):
    print("the device is lost", file=sys.stderr, flush=True)
    os._exit(3)

handlers = {name: value for name, value in globals().items() if callable(value)}
run_job(Database(os.environ["PENUMBRA_DATABASE_URL"]), int(sys.argv[1]), handlers)
"""

WORKER = """
import logging, os, platform, sys
if "NODE" in os.environ:
    platform.node = lambda: os.environ["NODE"]  # another machine
from core.worker import run_worker
from db.session import Database
logging.basicConfig(level="INFO")
tied_to = int(sys.argv[2]) if len(sys.argv) > 2 else None
database = Database(os.environ["PENUMBRA_DATABASE_URL"])
run_worker(database, tied_to=tied_to, poll=0.05, command=lambda id: [sys.executable, sys.argv[1], str(id)])
"""

PARENT = """
import os, subprocess, sys, time
started = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2], str(os.getpid())])
print(started.pid, flush=True)
time.sleep(60)
"""


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")


@pytest.fixture
def database(database_url, tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path))
    monkeypatch.setenv("PENUMBRA_DATABASE_URL", database_url)
    monkeypatch.delenv(worker.WORKER, raising=False)
    opened = open_database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def project(database) -> int:
    return make_small(database).id


@pytest.fixture
def child(tmp_path) -> str:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return str(script)


@pytest.fixture
def start_worker(database, child):
    """Start a worker process; whatever still runs at the end of the test is killed."""
    started = []

    def start(*arguments: str, **environment: str) -> subprocess.Popen:
        command = [sys.executable, "-c", WORKER, child, *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)} | environment
        started.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


def _until(question, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)
    return answer


def _ended(database: Database, job_id: int) -> jobs.JobRow:
    def question():
        row = jobs.job(database, job_id)
        return row if row.finished_at is not None else None

    return _until(question)


def _sleeping(database: Database, job_id: int) -> list[int]:
    """The ids of a slow job's two processes, once it runs: its own and that of its helper."""

    def question():
        row = jobs.job(database, job_id)
        return [row.done, row.total] if row.message == "sleeping" else None

    return _until(question)


def _gone(process_id: int) -> bool:
    """Ended, or a zombie that nobody has asked about."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def _gone_all(process_ids: list[int]) -> bool:
    return all(_gone(each) for each in process_ids)


def test_a_worker_does_what_is_queued(database, project, start_worker):
    first = jobs.enqueue(database, project, "quick", {})
    running = start_worker()
    assert _ended(database, first).state == JobState.DONE
    second = jobs.enqueue(database, project, "quick", {})
    assert _ended(database, second).message == "all of it"
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 0


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("killed", "the system killed the job's process (SIGKILL), most often for want of memory"),
        ("crashing", "the job's process ended with status 3: the device is lost"),
    ],
)
def test_a_job_whose_process_vanishes_is_failed_with_the_reason(database, project, start_worker, kind, reason):
    job_id = jobs.enqueue(database, project, kind, {})
    start_worker()
    row = _ended(database, job_id)
    assert row.state == JobState.FAILED
    assert reason in row.error
    assert f"job-{job_id}.log" in row.error


@pytest.mark.parametrize("kind", ["slow", "stubborn"])
def test_cancelling_a_running_job_ends_its_processes(database, project, start_worker, kind):
    job_id = jobs.enqueue(database, project, kind, {})
    start_worker()
    processes = _sleeping(database, job_id)
    jobs.ask_cancel(database, job_id)
    assert _ended(database, job_id).state == JobState.CANCELLED
    assert _gone_all(processes)
    after = jobs.enqueue(database, project, "quick", {})
    assert _ended(database, after).state == JobState.DONE


def test_a_worker_told_to_stop_puts_its_job_back(database, project, start_worker):
    job_id = jobs.enqueue(database, project, "slow", {})
    running = start_worker()
    processes = _sleeping(database, job_id)
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 0
    row = jobs.job(database, job_id)
    again = "the worker was stopped: the job starts again with it"
    assert (row.state, row.attempts, row.message) == (JobState.QUEUED, 0, again)
    assert _gone_all(processes)


def test_a_killed_worker_takes_its_child_along_and_the_next_one_starts_the_job_again(database, project, start_worker):
    job_id = jobs.enqueue(database, project, "slow", {})
    first = start_worker()
    processes = _sleeping(database, job_id)
    first.kill()
    first.wait(30)
    _until(lambda: _gone_all(processes))
    assert jobs.job(database, job_id).state == JobState.RUNNING  # nobody was there to say otherwise
    with database.write() as s:  # rather than wait for the heartbeat to grow old
        s.execute(update(Job).values(heartbeat_at=now() - 2 * jobs.STALE))
    start_worker()
    _until(lambda: jobs.job(database, job_id).attempts == 2)
    assert _sleeping(database, job_id) != processes


def test_workers_of_two_machines_share_the_jobs_and_run_none_twice(database, tmp_path, start_worker):
    """A data folder for each stands for the machines: a worker goes by the lock of its folder and machine."""
    homes = [str(tmp_path / name) for name in ("one", "other")]
    for home in homes:
        start_worker(PENUMBRA_HOME=home)
    file = tmp_path / "ran"
    projects = [make_small(database, f"project {i}").id for i in range(8)]
    ids = [jobs.enqueue(database, each, "noted", {"file": str(file)}) for each in projects]
    assert {_ended(database, each).state for each in ids} == {JobState.DONE}
    ran = [line.split() for line in file.read_text().splitlines()]
    assert sorted(int(job_id) for job_id, _ in ran) == ids
    assert {home for _, home in ran} == set(homes)


def test_what_a_dead_machine_had_begun_goes_on_on_another_that_shares_its_folder(database, tmp_path, start_worker):
    file = tmp_path / "ran"
    projects = [make_small(database, f"project {i}").id for i in range(4)]
    begun = jobs.enqueue(database, projects[0], "falters", {"file": str(file)})
    dead = start_worker(NODE="one")
    processes = _sleeping(database, begun)
    start_worker(NODE="other")  # the same data folder: each machine has a lock of its own in it
    ids = [jobs.enqueue(database, each, "noted", {"file": str(file)}) for each in projects[1:]]
    assert {_ended(database, each).state for each in ids} == {JobState.DONE}
    for process_id in (dead.pid, *processes):  # all at once, as when the power fails
        os.kill(process_id, signal.SIGKILL)
    with database.write() as s:  # rather than wait for the heartbeat to grow old
        s.execute(update(Job).where(Job.id == begun).values(heartbeat_at=now() - 2 * jobs.STALE))
    assert (_ended(database, begun).state, jobs.job(database, begun).attempts) == (JobState.DONE, 2)
    assert sorted(int(line.split()[0]) for line in file.read_text().splitlines()) == [begun, *ids]


def test_a_child_whose_job_another_worker_took_ends_and_says_nothing(database, project, start_worker):
    job_id = jobs.enqueue(database, project, "slow", {})
    start_worker()
    processes = _sleeping(database, job_id)
    with database.write() as s:  # as if this machine had been cut off, and another one had started the job again
        s.execute(update(Job).values(attempts=2))
    _until(lambda: _gone_all(processes))
    assert _until(lambda: jobs.beat(database, jobs.job(database, job_id)))
    assert jobs.job(database, job_id).state == JobState.RUNNING


def test_a_second_worker_ends_and_says_so(start_worker, database, project):
    first = start_worker()
    _ended(database, jobs.enqueue(database, project, "quick", {}))
    second = start_worker()
    assert second.wait(30) == 0
    assert "another worker has the data folder" in second.stderr.read()
    assert first.poll() is None
    assert worker.ensure_worker() is None


def test_a_tied_worker_ends_with_its_parent(database, project, child):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PARENT, WORKER, child]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        tied = int(parent.stdout.readline())
        job_id = jobs.enqueue(database, project, "slow", {})
        processes = _sleeping(database, job_id)
        assert not _gone(tied)
        parent.kill()
        _until(lambda: _gone_all([tied, *processes]))
    assert jobs.job(database, job_id).state == JobState.QUEUED


def test_a_worker_tied_to_a_process_that_is_gone_ends(start_worker):
    with subprocess.Popen(["true"]) as over:
        pass
    assert start_worker(str(over.pid)).wait(30) == 0


def test_looking_whether_a_worker_runs_does_not_keep_one_from_starting(database):
    with only_one(worker.LOCK) as first:
        assert first
        with only_one(worker.LOCK, patience=0) as second:
            assert not second
    with only_one(worker.LOCK, patience=0) as again:
        assert again
