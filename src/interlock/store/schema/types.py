"""Column types and the shared base of all tables; no table of its own."""

from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel

Json = sa.JSON(none_as_null=True)
"""JSON text, which comes back exactly as it was written: the order of keys is part of what a model is sent again, and
the form of numbers of what an approval is for. JSONB would change both. A value is replaced whole.
"""

Counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""A number that the database gives out in order."""

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
SQLModel.metadata.naming_convention = NAMING


class Row(SQLModel):
    """The base of all tables. What pydantic would check a row with is made where somebody asks for it: no door does,
    and for sixty tables it is a fifth of what importing them takes.
    """

    model_config = {"defer_build": True}


def table(model: type[SQLModel]) -> sa.Table:
    """The SQLAlchemy table of a model, for Core statements."""
    found: Any = getattr(model, "__table__")  # noqa: B009 (SQLModel does not declare it)
    assert isinstance(found, sa.Table)
    return found


def of_some(name: str, column: str) -> sa.Index:
    """An index of the rows that have a value there; those without one cost nothing."""
    return sa.Index(name, column, sqlite_where=sa.text(f"{column} IS NOT NULL"),
                    postgresql_where=sa.text(f"{column} IS NOT NULL"))  # fmt: skip
