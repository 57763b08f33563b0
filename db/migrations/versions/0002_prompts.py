"""Prompts of a project and what each weighs in each class, where a person adopted some."""

import sqlalchemy as sa
from alembic import op

revision = "0002_prompts"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("project", sa.Column("prompt_weights", sa.JSON(), nullable=True))
