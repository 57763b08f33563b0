"""Turns to write to an SQLite file, for threads and processes, the one that waited longest first.

SQLite's own way to wait is to look again every 100 ms: among many, one can be unlucky for longer than it has patience.
Here whoever waits sleeps in the system's queue. To wait takes two locks: the second is the turn itself, the first is
the place at the head of the line. Who has just written cannot come back in front of the one at the head.
"""

from __future__ import annotations

import fcntl
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO

HEAD, TURN = 0, 1  # bytes of the lock file


@dataclass(frozen=True, slots=True)
class _Threads:
    head: Lock = field(default_factory=Lock)
    turn: Lock = field(default_factory=Lock)


_threads: dict[str, _Threads] = defaultdict(_Threads)  # the file's locks do not tell the threads of a process apart


@contextmanager
def turn(database: str) -> Iterator[None]:
    """This thread's turn to write to the file; the system gives it back whatever way a process ends."""
    lock_file = Path(f"{os.path.abspath(database)}-turn")
    threads = _threads[str(lock_file)]
    with threads.head:
        threads.turn.acquire()
    try:
        with lock_file.open("a") as file:
            _wait(file)
            yield
    finally:
        threads.turn.release()


def _wait(file: IO[str]) -> None:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, HEAD)
    fcntl.lockf(file, fcntl.LOCK_EX, 1, TURN)
    fcntl.lockf(file, fcntl.LOCK_UN, 1, HEAD)  # closing the file ends the turn
