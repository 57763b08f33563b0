"""Transactions, migrations, and several processes at once."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from db.models import Base
from db.repository import create_project, person, projects
from db.session import MIGRATIONS, Database, open_database
from tests.conftest import ROOT

OPEN = "import sys; from db.session import open_database; open_database(sys.argv[1])"


def _new_project(s, name):
    return create_project(s, name=name, root="/", model="mini", prompt="{class}", classes=["a", "b"])


def test_a_write_is_stored_whole_or_not_at_all(database):
    with database.write() as s:
        _new_project(s, "kept")
    with pytest.raises(ValueError, match="already"), database.write() as s:
        _new_project(s, "lost") and _new_project(s, "kept")
    with database.read() as s:
        assert [each.name for each in projects(s)] == ["kept"]


def test_a_read_sees_one_moment(database):
    with database.read() as reader:
        assert projects(reader) == []
        with database.write() as writer:  # not blocked by the reader
            _new_project(writer, "later")
        assert projects(reader) == []
    with database.read() as reader:
        assert len(projects(reader)) == 1


def test_a_read_that_writes_is_refused(database):
    with pytest.raises(DBAPIError, match=r"read-?only"), database.read() as s:
        person(s, "Ada")


def test_writers_wait_for_each_other(database):
    """The classic failure is "database is locked" when a transaction reads first and writes later."""

    def add(i):
        with database.write() as s:
            projects(s)
            return _new_project(s, f"project {i}")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(add, range(40)))) == 40


def test_a_database_in_memory_is_refused():
    with pytest.raises(ValueError, match="give a file"):
        Database("sqlite:///:memory:")


@pytest.mark.one_database
def test_the_file_is_made_to_last(database):
    with database.read() as s:
        assert s.scalar(text("PRAGMA journal_mode")) == "wal"
        assert s.scalar(text("PRAGMA synchronous")) == 2  # FULL
        assert s.scalar(text("PRAGMA foreign_keys")) == 1
        assert s.scalar(text("PRAGMA busy_timeout")) == 15_000


def test_models_equal_migrations(database):
    engine = create_engine(database.url, poolclass=NullPool)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


@pytest.mark.one_database
def test_migrations_build_the_same_tables_as_the_models(database, tmp_path):
    """Stricter than Alembic's comparison, which leaves out checks and the conditions of indexes."""
    direct = create_engine(f"sqlite:///{tmp_path / 'direct.sqlite'}")
    Base.metadata.create_all(direct)
    assert _layout(create_engine(database.url)) == _layout(direct)


_PARTS = re.compile(r"\n|, (?![^(]*\))")  # a column that was added later shares a line with the one before


def _layout(engine):
    """What SQLite keeps of each CREATE TABLE and CREATE INDEX, constraints in any order."""
    kept = text("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL")
    with engine.connect() as connection:
        rows = connection.execute(kept).all()
    return {
        name: sorted(filter(None, (part.strip(" ,\t").replace('"', "") for part in _PARTS.split(sql))))
        for name, sql in rows
        if "alembic" not in name
    }


def test_four_processes_migrate_at_once(empty_url):
    newest = ScriptDirectory(str(MIGRATIONS)).get_current_head()
    started = [
        subprocess.Popen([sys.executable, "-c", OPEN, empty_url], cwd=ROOT, stderr=subprocess.PIPE) for _ in range(4)
    ]
    assert [(each.wait(60), each.stderr.read()) for each in started] == [(0, b"")] * 4
    database = open_database(empty_url)
    with database.read() as s:
        assert s.scalars(text("SELECT version_num FROM alembic_version")).all() == [newest]
    database.close()


CHANGES = ["UPDATE label SET class_id = NULL", "DELETE FROM label"]


@pytest.mark.parametrize(
    ("database_url", "change"),
    [
        *((kind, change) for kind in ("sqlite", "postgresql") for change in CHANGES),
        ("sqlite", "REPLACE INTO label SELECT * FROM label"),
        ("postgresql", "TRUNCATE label"),
    ],
    indirect=["database_url"],
)
def test_the_log_refuses_change(database, small, change):
    from db.repository import NewLabel, history, record

    with database.write() as s:
        record(s, small.id, small.ada, [NewLabel("k", small.items[0], "answer", small.classes[0], source="epig")])
    with pytest.raises(DBAPIError, match="append-only"), database.write() as s:
        s.execute(text(change))
    with database.read() as s:
        assert [each.class_id for each in history(s, small.items[0])] == [small.classes[0]]
