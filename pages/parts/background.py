"""What takes long and is not worth a job: it runs in a thread, goes on when the page is left, and is kept when done.

The threads end with the server; what they did not finish is done again when asked for.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from core.values import Progress

AT_ONCE = 1  # two would take twice as long each
KEPT = 12  # results


class Stopped(Exception):
    """Somebody pressed Cancel."""


@dataclass(slots=True)
class Task:
    """One computation: how far it is, its result when there is one, and a way to stop it."""

    future: Future = field(default_factory=Future)
    done: int = 0
    total: int = 0
    message: str = "Waiting for another computation"
    started: float = field(default_factory=time.monotonic)
    _stop: Event = field(default_factory=Event)

    def report(self, done: int, total: int, message: str) -> None:
        if self._stop.is_set():
            raise Stopped
        self.done, self.total, self.message = done, total, message

    def stop(self) -> None:
        self._stop.set()

    def ready(self, seconds: float = 0.0) -> bool:
        """Whether it has ended, waiting so long for it."""
        try:
            self.future.exception(seconds)
        except NotYet:
            return False
        return True

    @property
    def stopped(self) -> bool:
        return self.future.done() and isinstance(self.future.exception(), Stopped)

    def result(self) -> Any:
        """What it came to; raises what it raised."""
        return self.future.result()


class Background:
    """Tasks by what they compute; asking again for the same gives the same task."""

    def __init__(self, most: int = KEPT) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="penumbra-background")
        self._tasks: OrderedDict[Hashable, Task] = OrderedDict()
        self._most, self._lock = most, Lock()

    def task(self, key: Hashable, compute: Callable[[Progress], Any]) -> Task:
        """The task of this key, started where there is none; one that was stopped stays so until `forget`."""
        with self._lock:
            if (task := self._tasks.get(key)) is None:
                task = self._tasks[key] = Task()
                self._pool.submit(_run, task, compute)
                self._drop()
            self._tasks.move_to_end(key)
            return task

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._tasks.pop(key, None)

    def _drop(self) -> None:
        ended = [key for key, task in self._tasks.items() if task.future.done()]
        for key in ended[: max(0, len(self._tasks) - self._most)]:
            del self._tasks[key]


def _run(task: Task, compute: Callable[[Progress], Any]) -> None:
    try:
        task.started = time.monotonic()
        task.report(0, 0, "Starting")
        task.future.set_result(compute(task.report))
    except BaseException as error:  # whoever asks for the result gets it
        task.future.set_exception(error)
