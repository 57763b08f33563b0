"""Where things are kept and how much memory may be used: one data folder and one database, by environment variables."""

from __future__ import annotations

import os
from pathlib import Path

from core.errors import InputError

VERSION = "0.1.0"  # of the program, as in pyproject.toml
GB = 10**9
MEMORY_SHARE = 0.25  # of the machine's memory: the pages, the worker and a command line may rank at the same time


def home() -> Path:
    """The data folder: $PENUMBRA_HOME, else ./data."""
    return Path(os.environ.get("PENUMBRA_HOME") or "data").absolute()


def database_url() -> str:
    """The database: $PENUMBRA_DATABASE_URL, else an SQLite file in the data folder."""
    return os.environ.get("PENUMBRA_DATABASE_URL") or f"sqlite:///{home() / 'penumbra.sqlite'}"


def memory_budget(gigabytes: float | None = None) -> int:
    """Bytes that ranking may hold: the given number of GB, else $PENUMBRA_MEMORY_GB, else a quarter of the machine's.

    Raises InputError for what is no positive number.
    """
    asked = os.environ.get("PENUMBRA_MEMORY_GB") if gigabytes is None else gigabytes
    if asked is None or asked == "":
        return int(MEMORY_SHARE * _memory())
    return int(_positive(asked, "memory", "--memory-gb 4") * GB)


def cache_bytes() -> int:
    """Bytes that copies of remote images may take on the disk: $PENUMBRA_CACHE_GB, else 10 GB. Raises InputError."""
    asked = os.environ.get("PENUMBRA_CACHE_GB") or "10"
    return int(_positive(asked, "a cache", "PENUMBRA_CACHE_GB=4") * GB)


def _positive(asked: str | float, what: str, example: str) -> float:
    try:
        value = float(asked)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InputError(f"{what} of {asked!r} GB came: give a positive number, as in {example}")
    return value


def _memory() -> int:
    """Bytes of the machine, or of the container where that is less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no such limit, or "max"
        return machine
