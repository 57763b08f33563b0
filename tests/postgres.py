"""A PostgreSQL server of one's own for tests and benchmarks: a cluster in a temporary folder, reached by its socket.

It sorts text by ICU's root collation, as a team's server would by its language's: whoever relies on byte order fails.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from db.session import open_database

START_SECONDS = 30
CLUSTER = ("-U", "penumbra", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
LANGUAGE = ("--locale-provider=icu", "--icu-locale=und")
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True)
class Server:
    """A running server; `folder` holds its socket."""

    folder: Path
    names: Iterator[int]

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://penumbra@/{name}?host={self.folder}"

    def run(self, statement: str) -> None:
        """Execute a statement about whole databases."""
        engine = create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
        with engine.connect() as connection:
            connection.execute(text(statement))

    def empty(self) -> str:
        """The URL of a new database without tables."""
        name = f"empty_{next(self.names)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def migrated(self) -> str:
        """The URL of a new database with all tables: a copy, which takes a tenth of the time of migrating."""
        name = f"copy_{next(self.names)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE migrated")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Delete a database, whoever is connected to it."""
        self.run(f"DROP DATABASE IF EXISTS {url.split('@/')[1].split('?')[0]} WITH (FORCE)")


def missing() -> str:
    """Why no server can be started here; empty where one can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "needs the driver psycopg: pip install -r requirements-dev.txt"
    return "" if _program("initdb") else "needs PostgreSQL's programs: apt-get install postgresql"


@contextmanager
def server(durable: bool = False) -> Iterator[Server]:
    """A server for as long as the context lasts; `durable` waits for the disk at each commit, as one in use does."""
    folder = Path(tempfile.mkdtemp(prefix="penumbra-pg-"))  # not pytest's: only root could enter that one
    owner = _owner()
    process = None
    try:
        if owner:
            shutil.chown(folder, owner, pwd.getpwnam(owner).pw_gid)
        _make_cluster(folder / "data", owner)
        process = _start(folder, owner, durable)
        running = Server(folder, count())
        _wait(running, process)
        running.run("CREATE DATABASE migrated")
        open_database(running.url("migrated")).close()
        yield running
    finally:
        if process is not None:
            process.send_signal(signal.SIGINT)  # the fast way to shut down: whoever is connected is cut off
            process.wait(START_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> Path | None:
    """The newest one that Debian installed, else the one in the path."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = shutil.which(name)
    return debian[-1] if debian else Path(found) if found else None


def _owner() -> str | None:
    """Who runs the server where this process is root, which PostgreSQL refuses to be run by."""
    if os.getuid() != 0:
        return None
    return "postgres" if any(user.pw_name == "postgres" for user in pwd.getpwall()) else "nobody"


def _as(owner: str | None) -> dict:
    return {"user": owner, "group": pwd.getpwnam(owner).pw_gid, "extra_groups": []} if owner else {}


def _make_cluster(data: Path, owner: str | None) -> None:
    command = [str(_program("initdb")), *CLUSTER, *LANGUAGE, "-D", str(data)]
    made = subprocess.run(command, capture_output=True, text=True, cwd="/", **_as(owner))
    if made.returncode:
        raise RuntimeError(f"initdb failed: {made.stderr}")


def _start(folder: Path, owner: str | None, durable: bool) -> subprocess.Popen:
    disk = {} if durable else {"fsync": "off", "full_page_writes": "off"}
    settings = {"listen_addresses": "", "unix_socket_directories": folder, **disk}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [str(_program("postgres")), "-D", str(folder / "data"), *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            preexec_fn=_end_with_parent,
            **_as(owner),
        )


def _end_with_parent() -> None:
    """Where this process is killed, the server shuts down too (Linux; elsewhere it would stay)."""
    if hasattr(libc := ctypes.CDLL(None), "prctl"):
        libc.prctl(_END_WITH_PARENT, signal.SIGINT)


def _wait(running: Server, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return running.run("SELECT 1")
        except Exception as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((running.folder / "log").read_text(errors="replace")) from error
            time.sleep(0.05)
