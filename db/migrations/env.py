"""Alembic's entry: runs on the connection that db/session.py hands over, inside its transaction.

A new version: change db/models.py, then
`with engine.begin() as c: alembic.command.revision(alembic_config(c), message, autogenerate=True)` and read the result.
"""

from alembic import context

from db.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite alters a table by rebuilding it
)
with context.begin_transaction():
    context.run_migrations()
