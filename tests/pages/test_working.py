"""A job is started with a worker to take it, and what holds it up is said."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from core import jobs
from pages.parts import working

NOW = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(("tied", "expected"), [("1", True), (None, False)])
def test_a_job_is_started_with_a_worker_tied_as_it_is_told(site, monkeypatch, tied, expected):
    asked = []
    monkeypatch.setattr("pages.parts.working.ensure_worker", lambda tied_to: asked.append(tied_to))
    monkeypatch.setenv("PENUMBRA_TIED", tied) if tied else monkeypatch.delenv("PENUMBRA_TIED", raising=False)
    job_id = working.start(site.project, "round")
    assert jobs.job(site.database, job_id).state == "queued"
    assert [each is not None for each in asked] == [expected]


def test_no_second_worker_is_started_while_the_first_comes_up(monkeypatch):
    alive, begun = [None], []
    monkeypatch.setattr("pages.parts.working._started", None)
    process = SimpleNamespace(poll=lambda: alive[0])
    monkeypatch.setattr("pages.parts.working.ensure_worker", lambda **_: begun.append(process) or process)
    working.keep_worker()
    working.keep_worker()
    assert len(begun) == 1
    alive[0] = -9
    working.keep_worker()
    assert len(begun) == 2


@pytest.mark.parametrize(
    ("state", "silent", "message", "said"),
    [
        ("queued", 0, "", "waiting for the worker"),
        ("queued", 0, "the worker died: the job starts again", "the worker died: the job starts again"),
        ("running", 14, "", ""),
        ("running", 16, "", "the worker is being restarted"),
    ],
)
def test_what_holds_a_job_up_is_said(state, silent, message, said):
    row = SimpleNamespace(state=state, message=message, heartbeat_at=NOW - timedelta(seconds=silent))
    assert working.waits(row, NOW).replace("\\", "") == said
