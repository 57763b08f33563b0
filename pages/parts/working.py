"""A job on the page: how it is started, how far it is, how long it will take, and a way to stop it."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from threading import Lock

import streamlit as st

from core.jobs import JobRow, active, ask_cancel, enqueue, job, latest
from core.worker import ensure_worker
from pages.parts.state import database
from pages.parts.text import duration, escape
from pages.parts.who import Role, require

NAMES = {
    "prepare": "Reading the images",
    "export": "Writing the export",
    "round": "Learning from the answers",
    "gaussians": "Reading the images as Gaussians",
    "atlas": "Drawing the map",
    "audit": "Judging the answers",
    "simulate": "Simulating rounds",
}
STARTS = {"round": Role.ANNOTATOR, "atlas": Role.ANNOTATOR, "audit": Role.ANNOTATOR, "simulate": Role.REVIEWER}
# all others: owners
SILENT = timedelta(seconds=15)  # a running job beats every second

_starting = Lock()
_started: subprocess.Popen | None = None


def start(project_id: int, kind: str, payload: dict | None = None) -> int:
    """Queue a job and see to it that a worker takes it; the job's id. Raises UnknownName for no such project.

    Ends the page for a person whose role may not start it.
    """
    require(STARTS.get(kind, Role.OWNER))
    job_id = enqueue(database(), project_id, kind, payload or {})
    keep_worker()
    return job_id


def keep_worker() -> None:
    """Start a worker where none has the data folder: it may have died since. Cheap enough for every second.

    The worker outlives this server, so that work goes on; with PENUMBRA_TIED it ends with it.
    """
    global _started
    with _starting:
        if _started is not None and _started.poll() is None:  # it may not have the lock yet
            return
        _started = ensure_worker(tied_to=os.getpid() if os.environ.get("PENUMBRA_TIED") else None)


def current(project_id: int, kind: str) -> JobRow | None:
    return next((row for row in active(database(), project_id) if row.kind == kind), None)


def last(project_id: int, kind: str) -> JobRow | None:
    return latest(database(), project_id, kind)


def show_progress(row: JobRow) -> None:
    """The job's bar; it refreshes itself until the job ends, then the whole page."""
    _progress(row.id)


@st.fragment(run_every=1.0)
def _progress(job_id: int) -> None:
    row = _watched(job_id)
    st.progress(_share(row), text=f"**{NAMES.get(row.kind, row.kind)}** · {_pace(row)}")
    if row.cancel_asked:
        st.caption("Stopping …")
        return
    how = {"key": f"cancel-{job_id}", "icon": ":material/close:", "type": "tertiary"}
    st.button("Cancel", on_click=ask_cancel, args=(database(), job_id), **how)  # whichever part of the page runs next


@st.fragment(run_every=1.0)
def watch(row: JobRow) -> None:
    """One line for a narrow place; the page runs again when the job has ended."""
    row = _watched(row.id)
    st.progress(_share(row), text=waits(row) or "learning from the answers")


@st.fragment(run_every=5.0)
def await_start(project_id: int, kind: str) -> None:
    """Run the page again once somebody else has started such a job."""
    if current(project_id, kind):
        st.rerun(scope="app")


def _watched(job_id: int) -> JobRow:
    """The job as it is now; where it has ended, the page runs again instead."""
    row = job(database(), job_id)
    if row.state not in ("queued", "running"):
        st.rerun(scope="app")
    keep_worker()
    return row


def _share(row: JobRow) -> float:
    return min(1.0, row.done / row.total) if row.total else 0.0


def waits(row: JobRow, now: datetime | None = None) -> str:
    """Why nothing happens to the job at this moment; "" while something does."""
    if row.state == "queued":
        return escape(row.message) or "waiting for the worker"
    if row.heartbeat_at is not None and (now or datetime.now(UTC)) - row.heartbeat_at > SILENT:
        return "the worker is being restarted"
    return ""


def _pace(row: JobRow) -> str:
    """“1,200 of 3,021 · 210/s · 9 s left”, as much of it as is known."""
    if waiting := waits(row):
        return waiting
    parts = [escape(row.message)] if row.message else []
    seconds = (datetime.now(UTC) - row.started_at).total_seconds() if row.started_at else 0
    if row.total:
        parts.append(f"{row.done:,} of {row.total:,}")
    if seconds > 2 and 0 < row.done < row.total:
        rate = row.done / seconds
        parts.append(f"{rate:,.0f}/s" if rate >= 1 else f"{1 / rate:.0f} s each")
        parts.append(f"{duration((row.total - row.done) / rate)} left")
    return " · ".join(parts) or "starting"


def show_failure(row: JobRow | None) -> bool:
    """Say that the last job failed or was stopped; whether it did."""
    if row is None or row.state not in ("failed", "cancelled"):
        return False
    if row.state == "cancelled":
        st.info("This was stopped. Nothing was lost; what was read is kept.", icon=":material/info:")
    else:
        st.error(
            f"{NAMES.get(row.kind, row.kind)} failed: {escape(row.error or 'no reason given')}", icon=":material/error:"
        )
        st.caption("Answers are safe. The job can be started again.")
    return True
