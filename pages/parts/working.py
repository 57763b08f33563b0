"""A job on the page: how far it is, how long it will take, and a way to stop it."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from core.jobs import JobRow, active, ask_cancel, job, latest
from pages.parts.state import database
from pages.parts.text import duration, escape

NAMES = {"prepare": "Reading the images", "round": "Learning from the answers"}


def current(project_id: int, kind: str) -> JobRow | None:
    return next((row for row in active(database(), project_id) if row.kind == kind), None)


def last(project_id: int, kind: str) -> JobRow | None:
    return latest(database(), project_id, kind)


def show_progress(row: JobRow) -> None:
    """The job's bar; it refreshes itself until the job ends, then the whole page."""
    _progress(row.id)


@st.fragment(run_every=1.0)
def _progress(job_id: int) -> None:
    row = job(database(), job_id)
    if row.state not in ("queued", "running"):
        st.rerun(scope="app")
    share = row.done / row.total if row.total else 0.0
    st.progress(min(1.0, share), text=f"**{NAMES.get(row.kind, row.kind)}** · {_pace(row)}")
    if row.cancel_asked:
        st.caption("Stopping …")
    elif st.button("Cancel", key=f"cancel-{job_id}", icon=":material/close:", type="tertiary"):
        ask_cancel(database(), job_id)
        st.rerun(scope="fragment")


@st.fragment(run_every=1.0)
def watch(row: JobRow) -> None:
    """One line for a narrow place; the page runs again when the job has ended."""
    row = job(database(), row.id)
    if row.state not in ("queued", "running"):
        st.rerun(scope="app")
    st.progress(min(1.0, row.done / row.total if row.total else 0.0), text="learning from the answers")


def _pace(row: JobRow) -> str:
    """“1,200 of 3,021 · 210/s · 9 s left”, as much of it as is known."""
    if row.state == "queued":
        return "waiting for the worker"
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
