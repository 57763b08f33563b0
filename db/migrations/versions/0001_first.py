"""All tables, and the trigger that keeps the log of labels append-only."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("name", name=op.f("uq_person_name")),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("root", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("prompt", sa.String(), nullable=False),
        sa.Column("target_domain", sa.String(), nullable=True),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("drawn", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("archived_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
    )
    op.create_index(
        "one_project_of_a_name",
        "project",
        ["name"],
        unique=True,
        sqlite_where=sa.text("archived_at IS NULL"),
        postgresql_where=sa.text("archived_at IS NULL"),
    )

    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(), nullable=True),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column(
            "split", sa.Enum("pool", "validation", "test", name="split", native_enum=False, length=16), nullable=False
        ),
        sa.Column("lease_by", sa.Integer(), nullable=True),
        sa.Column("lease_until", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["lease_by"], ["person.id"], name=op.f("fk_item_lease_by")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_item_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
        sa.UniqueConstraint("project_id", "path", name=op.f("uq_item_project_id_path")),
    )
    op.create_index(
        "item_by_lease",
        "item",
        ["project_id", "lease_by"],
        unique=False,
        sqlite_where=sa.text("lease_by IS NOT NULL"),
        postgresql_where=sa.text("lease_by IS NOT NULL"),
    )
    op.create_index("item_by_sha256", "item", ["sha256"], unique=False)
    op.create_index("item_by_split", "item", ["project_id", "split", "domain"], unique=False)

    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column(
            "state",
            sa.Enum("queued", "running", "done", "failed", "cancelled", name="jobstate", native_enum=False, length=16),
            nullable=False,
        ),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("cancel_asked", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=True),
        sa.Column("heartbeat_at", sa.DateTime(), nullable=True),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_job_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(
        "one_active_job_of_a_kind",
        "job",
        ["project_id", "kind"],
        unique=True,
        sqlite_where=sa.text("state IN ('queued', 'running')"),
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )

    op.create_table(
        "problem",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_problem_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_problem")),
        sa.UniqueConstraint("project_id", "path", name=op.f("uq_problem_project_id_path")),
    )
    op.create_table(
        "project_class",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_project_class_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project_class")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_project_class_project_id_name")),
        sa.UniqueConstraint("project_id", "position", name=op.f("uq_project_class_project_id_position")),
    )
    op.create_table(
        "round",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("label_watermark", sa.Integer(), nullable=False),
        sa.Column("labels", sa.Integer(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("checkpoint", sa.String(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_round_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_round")),
        sa.UniqueConstraint("project_id", "number", name=op.f("uq_round_project_id_number")),
    )
    op.create_table(
        "label",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column(
            "kind", sa.Enum("answer", "skip", "undo", name="labelkind", native_enum=False, length=16), nullable=False
        ),
        sa.Column("class_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("lead_ms", sa.Integer(), nullable=True),
        sa.Column("round_number", sa.Integer(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("suggested_class_id", sa.Integer(), nullable=True),
        sa.Column("suggested_probability", sa.Double(), nullable=True),
        sa.Column("suggestion_seen", sa.Boolean(), nullable=False),
        sa.Column("event_key", sa.String(length=80), nullable=False),
        sa.CheckConstraint("(kind = 'answer') = (class_id IS NOT NULL)", name=op.f("ck_label_answer_has_class")),
        sa.ForeignKeyConstraint(["class_id"], ["project_class.id"], name=op.f("fk_label_class_id")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_label_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_label_person_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_label_project_id")),
        sa.ForeignKeyConstraint(["suggested_class_id"], ["project_class.id"], name=op.f("fk_label_suggested_class_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label")),
        sa.UniqueConstraint("event_key", name=op.f("uq_label_event_key")),
    )
    op.create_index(
        "label_by_item", "label", ["project_id", "item_id", "person_id", "id", "kind", "class_id"], unique=False
    )
    op.create_index("label_by_project", "label", ["project_id", "id"], unique=False)

    op.create_table(
        "reference",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("class_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["class_id"], ["project_class.id"], name=op.f("fk_reference_class_id")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_reference_item_id")),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_reference")),
    )
    _guard_the_log()


def _guard_the_log() -> None:
    refusal = "the log of labels is append-only: record an undo instead"
    if op.get_context().dialect.name == "sqlite":
        for action in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER label_refuses_{action.lower()} BEFORE {action} ON label "
                f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION label_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{refusal}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER label_refuses_change BEFORE UPDATE OR DELETE OR TRUNCATE ON label "
        "FOR EACH STATEMENT EXECUTE FUNCTION label_is_append_only()"
    )
