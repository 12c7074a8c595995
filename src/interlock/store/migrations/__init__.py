"""Alembic revisions of the schema; `store.upkeep.migrate` runs them."""
