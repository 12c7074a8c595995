"""Alembic revisions of the schema; `store.migrate` runs them."""
