"""Simulations and the points of their learning curves."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "simulation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_simulation_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_simulation")),
        sa.UniqueConstraint("key", name=op.f("uq_simulation_key")),
    )
    op.create_index("simulation_by_project", "simulation", ["project_id"])
    op.create_table(
        "simulation_point",
        sa.Column("simulation_id", sa.Integer(), nullable=False),
        sa.Column("strategy", sa.String(length=60), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("labels", sa.Integer(), nullable=False),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.Column("served", sa.String(), nullable=False),
        sa.Column("tau", sa.Double(), nullable=False),
        sa.Column("picked", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["simulation_id"], ["simulation.id"], name=op.f("fk_simulation_point_simulation_id")),
        sa.PrimaryKeyConstraint("simulation_id", "strategy", "seed", "round", name=op.f("pk_simulation_point")),
    )
