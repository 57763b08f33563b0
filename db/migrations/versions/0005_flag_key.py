"""A key for each flag that a browser sends, so that one sent again is stored once."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("flag", sa.Column("event_key", sa.String(length=80), nullable=True))
    op.create_index("flag_by_key", "flag", ["event_key"], unique=True)
