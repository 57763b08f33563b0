"""Processes of the data folder: one lock, a log for each, a child with its own group, the end of a parent."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from core.config import home

ROOT = Path(__file__).resolve().parent.parent
GRACE_SECONDS = 5.0


def start(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen:
    """A process of its own group that finds this program, the data folder, and nobody at the keyboard."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": path, "PENUMBRA_HOME": str(home()), **environment},
            start_new_session=True,
        )


def runs(child: subprocess.Popen, seconds: float) -> bool:
    """Whether the child still runs after this time, or the moment it ends."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    return child.returncode is None


def stop(child: subprocess.Popen) -> None:
    """Terminate a child and all that it started; kill what is left after a while."""
    if child.poll() is None:
        _signal(child, signal.SIGTERM)
        runs(child, GRACE_SECONDS)
    _signal(child, signal.SIGKILL)
    child.wait()


def _signal(child: subprocess.Popen, what: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # the second: macOS, for a group of zombies
        os.killpg(child.pid, what)


def log_file(name: str) -> Path:
    """Where a process of the data folder writes what it says."""
    folder = home() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def gone_check(pid: int | None) -> Callable[[], bool]:
    """A question: has the process ended? A parent's end is seen by its child being adopted, zombie or not."""
    if pid is None:
        return lambda: False
    if os.getppid() == pid:
        return lambda: os.getppid() != pid
    return lambda: not _exists(pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def only_one(name: str, patience: float = 0.5) -> Iterator[bool]:
    """Whether this process holds the data folder's lock `name`, which it does for as long as the context lasts.

    The system gives a lock back whatever way its holder ends. Who only looks holds it for a moment: hence `patience`.
    """
    home().mkdir(parents=True, exist_ok=True)
    with (home() / name).open("a") as file:
        deadline = time.monotonic() + patience
        while not (held := _locked(file)) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield held


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def told_to_stop() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set; elsewhere than in the main thread nobody sets it."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    before = {each: signal.signal(each, lambda *_: stopped.set()) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
