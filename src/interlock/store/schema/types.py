"""Column types and the shared base of all tables; no table of its own."""

from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel

Json = sa.JSON(none_as_null=True)
"""JSON text that is returned exactly as written: prompts depend on the order of keys, and approvals on the form of
numbers; JSONB would change both. A value is replaced as a whole.
"""

Counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""A number from a database sequence."""

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
SQLModel.metadata.naming_convention = NAMING


class Row(SQLModel):
    """The base of all tables. Pydantic's validators are built on demand only: nothing in Interlock needs them, and for
    sixty tables they would take a fifth of the import time.
    """

    model_config = {"defer_build": True}


def table(model: type[SQLModel]) -> sa.Table:
    """The SQLAlchemy table of a model, for Core statements."""
    found: Any = getattr(model, "__table__")  # noqa: B009 (SQLModel does not declare it)
    assert isinstance(found, sa.Table)
    return found


def of_some(name: str, column: str) -> sa.Index:
    """A partial index of the rows with a value in the column."""
    return sa.Index(name, column, sqlite_where=sa.text(f"{column} IS NOT NULL"),
                    postgresql_where=sa.text(f"{column} IS NOT NULL"))  # fmt: skip
