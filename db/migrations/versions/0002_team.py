"""People's roles, overlap, leases of several people, gold, flags, and classes that change.

Nothing of 0001 is lost: labels are not touched, live leases move into a table of their own, the first person becomes
the owner.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0002_prompts"
branch_labels = None
depends_on = None

ROLE = sa.Enum("annotator", "reviewer", "owner", name="role", native_enum=False, length=16)
KIND = sa.Enum("add", "rename", "merge", "delete", name="classchangekind", native_enum=False, length=16)


def upgrade() -> None:
    _people()
    _leases()
    _classes()
    _gold_and_flags()
    op.create_index("label_by_review", "label", ["project_id", "item_id"], **_where("source = 'review'"))
    for table in ("flag", "class_change"):
        _guard(table)


def _people() -> None:
    with _altered("person") as person:
        person.add_column(sa.Column("role", ROLE, nullable=False, server_default="annotator"))
        person.add_column(sa.Column("password_hash", sa.String(), nullable=True))
        person.add_column(sa.Column("email", sa.String(), nullable=True))
        person.create_unique_constraint("uq_person_email", ["email"])
        person.add_column(sa.Column("disabled", sa.Boolean(), nullable=False, server_default=sa.false()))
        person.add_column(sa.Column("preferences", sa.JSON(), nullable=False, server_default="{}"))
    op.execute("UPDATE person SET role = 'owner' WHERE id = (SELECT min(id) FROM person)")


def _leases() -> None:
    op.create_table(
        "lease",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_lease_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_lease_person_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_lease_project_id")),
        sa.PrimaryKeyConstraint("item_id", "person_id", name=op.f("pk_lease")),
    )
    op.create_index("lease_by_person", "lease", ["project_id", "person_id"])
    op.execute(
        "INSERT INTO lease (item_id, person_id, project_id, until) "
        "SELECT id, lease_by, project_id, lease_until FROM item WHERE lease_by IS NOT NULL AND lease_until IS NOT NULL"
    )
    op.drop_index("item_by_lease", table_name="item")
    with _altered("item") as item:
        item.drop_constraint("fk_item_lease_by", type_="foreignkey")
        item.drop_column("lease_by")
        item.drop_column("lease_until")
        item.add_column(sa.Column("wanted", sa.Integer(), nullable=False, server_default="1"))
    op.create_index("item_by_overlap", "item", ["project_id"], **_where("wanted > 1"))


def _classes() -> None:
    with _altered("project_class") as classes:
        classes.drop_constraint("uq_project_class_project_id_name", type_="unique")
        classes.alter_column("position", existing_type=sa.Integer(), nullable=True)
        classes.add_column(sa.Column("heir_id", sa.Integer(), nullable=True))
        classes.add_column(sa.Column("retired_at", sa.DateTime(), nullable=True))
        classes.create_foreign_key("fk_project_class_heir_id", "project_class", ["heir_id"], ["id"])
    active = _where("retired_at IS NULL")
    op.create_index("one_class_of_a_name", "project_class", ["project_id", "name"], unique=True, **active)
    with _altered("project") as project:
        project.add_column(sa.Column("team", sa.JSON(), nullable=False, server_default="{}"))
        project.add_column(sa.Column("class_version", sa.Integer(), nullable=False, server_default="0"))
    with _altered("round") as round_:
        round_.add_column(sa.Column("class_version", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "class_change",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("kind", KIND, nullable=False),
        sa.Column("class_id", sa.Integer(), nullable=False),
        sa.Column("heir_id", sa.Integer(), nullable=True),
        sa.Column("before", sa.String(), nullable=True),
        sa.Column("after", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["class_id"], ["project_class.id"], name=op.f("fk_class_change_class_id")),
        sa.ForeignKeyConstraint(["heir_id"], ["project_class.id"], name=op.f("fk_class_change_heir_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_class_change_person_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_class_change_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_class_change")),
    )
    op.create_index("class_change_by_project", "class_change", ["project_id", "id"])


def _gold_and_flags() -> None:
    op.create_table(
        "gold",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("class_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["class_id"], ["project_class.id"], name=op.f("fk_gold_class_id")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_gold_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_gold_person_id")),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_gold")),
    )
    op.create_table(
        "flag",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("resolves_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_flag_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_flag_person_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_flag_project_id")),
        sa.ForeignKeyConstraint(["resolves_id"], ["flag.id"], name=op.f("fk_flag_resolves_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flag")),
        sa.UniqueConstraint("resolves_id", name=op.f("uq_flag_resolves_id")),
    )
    op.create_index("flag_by_project", "flag", ["project_id", "id"])
    op.create_index("flag_by_item", "flag", ["item_id"])


def _altered(table: str):
    """SQLite rebuilds a table, so that it looks as if made in one piece; PostgreSQL alters it, others refer to it."""
    return op.batch_alter_table(table, recreate="always" if op.get_context().dialect.name == "sqlite" else "never")


def _where(condition: str) -> dict:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _guard(table: str) -> None:
    refusal = f"{table} is append-only: add a row instead"
    if op.get_context().dialect.name == "sqlite":
        for action in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_refuses_{action.lower()} BEFORE {action} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{refusal}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_refuses_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_is_append_only()"
    )
