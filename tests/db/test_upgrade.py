"""A database of revision 0001 with data in it, upgraded: nothing is lost, and what 0002 adds is filled in."""

import io
from datetime import timedelta

import pytest
from alembic import command
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import text

from db.base import Role
from db.models import now
from db.repository import add_flag, counts, flags_of, leases, measured, person_rows, project, record, rounds, standing
from db.repository.rows import NewLabel
from db.session import MIGRATIONS, Database, _engine, alembic_config, migrate

LIVE, DEAD = now() + timedelta(days=1), now() - timedelta(minutes=3)
OLD = [
    "INSERT INTO person VALUES (3, 'Ada', :at), (7, 'Bo', :at)",
    "INSERT INTO project VALUES (1, 'p', '/i', 'mini', 'a {class}', NULL, 0, false, :at, NULL)",
    "INSERT INTO project_class VALUES (1, 1, 0, 'cat'), (2, 1, 1, 'dog')",
    "INSERT INTO item VALUES (1, 1, 'a.png', 'a', NULL, 8, 8, 'pool', 3, :live),"
    " (2, 1, 'b.png', 'b', 'x', 8, 8, 'pool', 7, :dead), (3, 1, 'c.png', 'c', NULL, 8, 8, 'test', NULL, NULL),"
    " (4, 1, 'd.png', 'd', NULL, 8, 8, 'pool', NULL, NULL)",
    "INSERT INTO reference VALUES (3, 2)",
    "INSERT INTO round VALUES (1, 1, 0, 0, 0, '{}', 1, 'f', 'c', '{\"accuracy\": 0.5}', '{}', 0.25, :at)",
    "INSERT INTO label VALUES (1, 1, 4, 3, 'answer', 2, :at, 850, 0, 'epig', 1, 0.75, true, 'k1'),"
    " (2, 1, 2, 7, 'skip', NULL, :at, NULL, 0, 'epig', NULL, NULL, false, 'k2')",
]


@pytest.fixture
def old(empty_url):
    """As version 0.1 left it."""
    engine = _engine(empty_url, foreign_keys=False)
    times = {"at": "2024-05-01 10:00:00.000000", "live": _stored(LIVE), "dead": _stored(DEAD)}
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "0001")
        for statement in OLD:
            connection.execute(text(statement), {key: at for key, at in times.items() if f":{key}" in statement})
        if engine.dialect.name == "postgresql":  # the next ids come after those that were given
            connection.execute(text("SELECT setval('label_id_seq', 2)"))
    engine.dispose()
    opened = Database(empty_url)
    yield opened
    opened.close()


def _stored(at):
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")


def _everything(database, table):
    with database.read() as s:
        return [dict(row._mapping) for row in s.execute(text(f"SELECT * FROM {table} ORDER BY 1"))]


def test_every_row_of_the_old_version_is_there_afterwards(old):
    tables = ("person", "project", "project_class", "item", "reference", "round", "label")
    before = {table: _everything(old, table) for table in tables}
    migrate(old)
    for table in tables:
        kept = [name for name in before[table][0] if not name.startswith("lease")]
        after = [{name: row[name] for name in kept} for row in _everything(old, table)]
        assert after == [{name: row[name] for name in kept} for row in before[table]], table
    if old.url.startswith("sqlite"):  # which rebuilt the tables
        assert _everything(old, "pragma_foreign_key_check") == []


def test_the_first_person_owns_and_everybody_can_go_on(old):
    migrate(old)
    with old.write() as s:
        assert {row.name: row.role for row in person_rows(s)} == {"Ada": Role.OWNER, "Bo": Role.ANNOTATOR}
        assert not any(row.disabled or row.has_password for row in person_rows(s))
        assert leases(s, 1) == [(1, 3)]
        assert [(row.item_id, row.kind, row.position) for row in standing(s, 1)] == [
            *((2, "skip", None), (4, "answer", 1))
        ]
        assert (counts(s, 1).skipped, counts(s, 1).answered) == (1, 1)  # a skip of then is "unusable" now
        assert measured(s, 1, "test") == {3: 1}
        assert (project(s, 1).class_version, rounds(s, 1)[0].class_version) == (0, 0)
        assert record(s, 1, 7, [NewLabel("k3", 1, "answer", 1, source="epig")])[0].accepted


def test_flags_of_before_are_there_without_a_key(old):
    with _engine(old.url, foreign_keys=False).begin() as connection:
        command.upgrade(alembic_config(connection), "0004")
        at = {"at": "2024-05-01 10:00:00.000000"}
        add = "INSERT INTO flag (project_id, item_id, person_id, note, created_at) VALUES (1, 4, :who, :note, :at)"
        connection.execute(text(add), [at | {"who": 3, "note": "odd"}, at | {"who": 7, "note": "too"}])
    migrate(old)
    with old.write() as s:
        assert [(row.id, row.note) for row in flags_of(s, 4)] == [(2, "too"), (1, "odd")]
        assert add_flag(s, 1, 3, 4, "new", event_key="k") == add_flag(s, 1, 3, 4, "new", event_key="k") == 3


@pytest.mark.parametrize("table", ["label", "flag", "class_change"])
def test_the_logs_stay_guarded(old, table):
    migrate(old)
    with old.read() as s:
        if old.url.startswith("sqlite"):
            kept = f"SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = '{table}'"
            assert sorted(s.scalars(text(kept))) == [f"{table}_refuses_delete", f"{table}_refuses_update"]
        else:
            kept = f"SELECT tgname FROM pg_trigger WHERE tgrelid = '{table}'::regclass AND NOT tgisinternal"
            assert s.scalars(text(kept)).all() == [f"{table}_refuses_change"]


def test_postgresql_alters_tables_where_sqlite_rebuilds_them():
    written = io.StringIO()
    context = MigrationContext.configure(dialect_name="postgresql", opts={"as_sql": True, "output_buffer": written})
    with Operations.context(context):
        for revision in reversed(list(ScriptDirectory(str(MIGRATIONS)).walk_revisions())):
            revision.module.upgrade()
    statements = written.getvalue()
    assert "ALTER TABLE person ADD COLUMN role VARCHAR(16) DEFAULT 'annotator' NOT NULL" in statements
    assert "DROP TABLE" not in statements
