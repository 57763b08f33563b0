"""Where a project's images come from, what the last import changed, and what is known of each file.

A path may be that of several contents, one after the other: the one that lies there now is the one that is not gone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

HERE = sa.text("gone_at IS NULL")


def upgrade() -> None:
    op.add_column("project", sa.Column("source", sa.JSON(), nullable=True))
    op.add_column("project", sa.Column("taken_in", sa.JSON(), nullable=True))
    on_sqlite = op.get_context().dialect.name == "sqlite"
    with op.batch_alter_table("item", recreate="always" if on_sqlite else "never") as item:
        item.drop_constraint("uq_item_project_id_path", type_="unique")
        item.add_column(sa.Column("size", sa.BigInteger(), nullable=True))
        item.add_column(sa.Column("mtime_ns", sa.BigInteger(), nullable=True))
        item.add_column(sa.Column("phash", sa.BigInteger(), nullable=True))
        item.add_column(sa.Column("gone_at", sa.DateTime(), nullable=True))
    here = {"sqlite_where": HERE, "postgresql_where": HERE}
    op.create_index("one_item_of_a_path", "item", ["project_id", "path"], unique=True, **here)  # type: ignore[arg-type]
