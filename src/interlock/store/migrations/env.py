"""Runs the revisions over the connection that `store.upkeep.migrate` hands in."""

from alembic import context
from sqlmodel import SQLModel

import interlock.store.schema  # noqa: F401 (defines the tables)

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=False)
with context.begin_transaction():
    context.run_migrations()
