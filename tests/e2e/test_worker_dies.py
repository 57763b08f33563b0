"""A worker that dies is replaced by whoever looks at its job."""

import os
import signal
from pathlib import Path

import pytest

from core import jobs
from db import repository
from tests.e2e.conftest import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for the worker in /proc")


def workers(server_pid: int) -> set[int]:
    """Process ids of workers that are tied to this server."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        if words[1:6] == [b"-m", b"core", b"worker", b"--tied", str(server_pid).encode()]:
            found.add(int(place.parent.name))
    return found


def test_a_round_goes_on_when_its_worker_is_killed(site, open_desk):
    project, server = site.new_project("worker dies", 90), site.server.process.pid
    desk = open_desk(project)
    for _ in range(3):
        desk.moved_on(desk.press("1")[0])
    desk.page.get_by_role("button", name="Retrain").click()
    wait_until(lambda: is_running(site, project), 30, "the round did not begin")
    killed = workers(server)
    assert len(killed) == 1
    os.kill(*killed, signal.SIGKILL)
    wait_until(lambda: workers(server) - killed, 15, "no other worker came")
    wait_until(lambda: len(rounds(site, project)) == 2, 90, "the round did not end")
    wait_until(lambda: "model 1" in desk.text(".model"), 20, "the page does not know")


def is_running(site, project) -> bool:
    row = jobs.latest(site.database, project, "round")
    return row is not None and row.state == "running"


def rounds(site, project):
    with site.database.read() as session:
        return repository.rounds(session, project)
