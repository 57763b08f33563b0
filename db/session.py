"""The connection to the database: snapshots to read, exclusive transactions to write, migrations.

SQLite's usual trouble under several processes is a transaction that begins as a read and wants to write later: it
cannot wait and fails with "database is locked". Here a write waits for its turn (db/turns) and takes its lock at the
start (BEGIN IMMEDIATE), a read never blocks nor is blocked (write-ahead log), and a read that writes is refused.

On PostgreSQL writes run side by side: what must not be done twice is locked row by row (db/repository).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.orm import Session

from db.turns import turn

BUSY_SECONDS = 15
MIGRATIONS = Path(__file__).parent / "migrations"
_MIGRATION_LOCK = 0x50656E75  # any number, the same in every process: PostgreSQL's advisory lock


class Database:
    """A database at `url` (SQLite file or PostgreSQL). Raises ValueError for an SQLite database in memory."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = _engine(url)
        self._reading = self._engine.execution_options(begin="BEGIN")
        if self._engine.dialect.name == "postgresql":
            self._reading = self._reading.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session on one snapshot; writing in it fails."""
        with Session(self._reading, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session in one transaction: committed on leaving, rolled back by an exception."""
        with _turn(self._engine), Session(self._engine, expire_on_commit=False) as session, session.begin():
            yield session

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()


def open_database(url: str) -> Database:
    """The database at `url`, created and migrated where needed."""
    file = make_url(url).database
    if url.startswith("sqlite") and file:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    database = Database(url)
    migrate(database)
    return database


def migrate(database: Database) -> None:
    """Bring the tables to the newest version, in one transaction; processes that come at once wait for each other."""
    engine = _engine(database.url, foreign_keys=False)  # a table that is rebuilt must not take its dependants along
    try:
        with _turn(engine), engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            command.upgrade(alembic_config(connection), "head")
    finally:
        engine.dispose()


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings for a connection in a transaction (also for `alembic.command.revision`)."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _engine(url: str, foreign_keys: bool = True) -> Engine:
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=20)
    if make_url(url).database in (None, "", ":memory:"):
        raise ValueError("an SQLite database in memory cannot be shared by processes: give a file, sqlite:///<path>")
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, pool_size=10, max_overflow=20)
    event.listen(engine, "connect", lambda connection, _: _prepare(connection, foreign_keys))
    event.listen(engine, "begin", _begin)
    return engine


def _turn(engine: Engine) -> AbstractContextManager[None]:
    return turn(str(engine.url.database)) if engine.dialect.name == "sqlite" else nullcontext()


def _prepare(connection: sqlite3.Connection, foreign_keys: bool) -> None:
    connection.isolation_level = None  # the driver's own BEGIN is the deferred one
    _use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous=FULL")  # a label outlives a power cut, not only a killed process
    connection.execute(f"PRAGMA foreign_keys={int(foreign_keys)}")
    connection.execute("PRAGMA recursive_triggers=1")  # REPLACE fires the trigger that guards the log


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Two first connections at once: SQLite fails without waiting for this one statement."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options().get("begin", "BEGIN IMMEDIATE")
    connection.exec_driver_sql(f"PRAGMA query_only={int(statement == 'BEGIN')}")
    connection.exec_driver_sql(statement)
