"""A hierarchy that is being computed: its progress, a way to stop it, and none that nobody waits for any more."""

from __future__ import annotations

import time
from collections.abc import Hashable
from threading import Lock
from uuid import uuid4

import streamlit as st

from pages.parts.background import Background, Task
from pages.parts.text import duration, escape

WHO = "hierarchy-who"  # of a session


class Wanted:
    """What each session waits for. What it turned away from is stopped, unless another one waits for that too."""

    def __init__(self) -> None:
        self._lock, self._waits = Lock(), dict[str, tuple[Hashable, Task]]()

    def turn(self, who: str, key: Hashable, task: Task) -> Hashable | None:
        """A session wants this now; the key of what was stopped for that, if anything was."""
        with self._lock:
            before = self._waits.get(who)
            self._waits[who] = (key, task)
            self._waits = {name: wait for name, wait in self._waits.items() if not wait[1].ready()}
            if before is None or before[1].ready() or before[0] in {wanted for wanted, _ in self._waits.values()}:
                return None
            before[1].stop()
            return before[0]


_wanted = Wanted()


def instead(key: Hashable, task: Task, background: Background) -> None:
    """This session wants this computation; the one that it wanted before need not be finished first."""
    stopped = _wanted.turn(st.session_state.setdefault(WHO, uuid4().hex), key, task)
    if stopped is not None:
        background.forget(stopped)


@st.fragment(run_every=0.5)
def show(task: Task) -> None:
    """How far it is; draws the whole page anew once it has ended."""
    if task.ready():
        st.rerun(scope="app")
    st.progress(min(1.0, task.done / task.total) if task.total else 0.0, text=_pace(task))
    st.caption("It goes on when this page is left, and what is done is kept.")
    st.button("Cancel", on_click=task.stop, key="hierarchy-cancel", icon=":material/close:", type="tertiary")


def _pace(task: Task) -> str:
    seconds = time.monotonic() - task.started
    parts = [f"**{escape(task.message)}**"]
    if task.total:
        parts.append(f"{task.done:,} of {task.total:,}")
    if task.done and seconds > 2:
        parts.append(f"{task.done / seconds:,.0f}/s · {duration(seconds * (task.total - task.done) / task.done)} left")
    return " · ".join(parts)
