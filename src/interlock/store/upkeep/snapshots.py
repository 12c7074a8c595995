"""Consistent snapshots of all rows of a database at any revision, as values that are the same for both databases.

The file format is in `archive`.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from interlock.store.drivers.postgres import PostgresDriver, first_line, not_allowed
from interlock.store.drivers.sqlite import SqliteDriver
from interlock.store.engine import driver_for
from interlock.store.errors import StoreError, StoreUnavailable, of_sqlite
from interlock.store.upkeep.migrate import LONG_WORK, driver_path, revision

Columns = Mapping[str, str]
"""The columns of a table in order, by name: text, int, float, bool, time, json or bytes."""
KINDS = ("text", "int", "float", "bool", "time", "json", "bytes")
AT_ONCE = 500
"""The number of rows per fetch."""
OURS = "alembic_version"
_SQLITE_KINDS = {
    "VARCHAR": "text", "INTEGER": "int", "BIGINT": "int", "FLOAT": "float", "BOOLEAN": "bool", "DATETIME": "time",
    "JSON": "json", "BLOB": "bytes",
}  # fmt: skip
_POSTGRES_KINDS = {
    "character varying": "text", "text": "text", "integer": "int", "bigint": "int", "double precision": "float",
    "boolean": "bool", "timestamp with time zone": "time", "json": "json", "bytea": "bytes",
}  # fmt: skip
_POSTGRES_TABLES = """
SELECT c.relname, a.attname, format_type(a.atttypid, NULL)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('alembic_version'))
AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname, a.attnum
"""


class Snapshot(Protocol):
    """The committed state at one point in time."""

    dialect: str
    revision: str
    epoch: int

    def tables(self) -> dict[str, Columns]:
        """Every table with its columns, by name."""

    def rows(self, table: str, columns: Columns) -> Iterator[list[Any]]:
        """The rows of a table. Times are UTC text to the microsecond; JSON is the stored text."""


@contextlib.contextmanager
def of(url: str, *, pooled: bool = False) -> Iterator[Snapshot]:
    """A snapshot of a live database; `pooled` if the URL leads to a transaction pooler.

    Raises StoreError if it does not exist, or cannot be reached or read.
    """
    driver = driver_for(url, pooled=pooled)
    found = revision(url, pooled=pooled, only_looks=True)
    if found is None:
        raise StoreError(f"there is nothing in `{driver_path(url)}` yet: there is nothing to back up")
    if isinstance(driver, SqliteDriver):
        with _of_sqlite(driver) as snapshot:
            yield snapshot
    else:
        with _of_postgres(driver) as postgres:
            yield postgres


@contextlib.contextmanager
def _of_sqlite(driver: SqliteDriver) -> Iterator["SqliteSnapshot"]:
    try:
        with contextlib.closing(driver.open_reader().connection) as connection:
            connection.execute("BEGIN")
            yield SqliteSnapshot(connection)
    except sqlite3.Error as error:
        raise of_sqlite(error, str(driver.path)) or error from error


@contextlib.contextmanager
def _of_postgres(driver: PostgresDriver) -> Iterator["PostgresSnapshot"]:
    import psycopg

    try:
        with driver.connect() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for setting in LONG_WORK:
                connection.execute(setting)
            yield PostgresSnapshot(connection)
            connection.execute("COMMIT")
    except psycopg.errors.InsufficientPrivilege as error:
        raise not_allowed(error) from error
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"PostgreSQL went away: {first_line(error)}: try again") from error


def _facts(connection: Any) -> tuple[str, int]:
    revision_row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    epoch_row = connection.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()
    return str(revision_row[0]), int(epoch_row[0]) if epoch_row else 0


class SqliteSnapshot:
    """A snapshot over an SQLite connection in a read transaction."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.revision, self.epoch = _facts(connection)

    def tables(self) -> dict[str, Columns]:
        names = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
        return {name: sqlite_columns(self._connection, name) for (name,) in names if name != OURS}

    def rows(self, table: str, columns: Columns) -> Iterator[list[Any]]:
        kinds = list(columns.values())
        bools = [i for i, kind in enumerate(kinds) if kind == "bool"]
        cursor = self._connection.execute(f"SELECT {_listed(columns)} FROM {table} NOT INDEXED")
        while found := cursor.fetchmany(AT_ONCE):
            for raw in found:
                row = list(raw)
                for i in bools:
                    row[i] = None if row[i] is None else bool(row[i])
                yield row

    def one(self, question: str, *values: str) -> tuple[Any, ...] | None:
        """The first row of a result."""
        found: tuple[Any, ...] | None = self._connection.execute(question, values).fetchone()
        return found


def sqlite_columns(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    """The columns of a table; none if it does not exist."""
    found = connection.execute("SELECT name, type FROM pragma_table_info(?) ORDER BY cid", [table])
    return {name: _SQLITE_KINDS[kind] for name, kind in found}


class PostgresSnapshot:
    """A snapshot over a PostgreSQL connection in a repeatable-read transaction."""

    dialect = "postgresql"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.revision, self.epoch = _facts(connection)

    def tables(self) -> dict[str, Columns]:
        found: dict[str, Columns] = {}
        for table, column, kind in self._connection.execute(_POSTGRES_TABLES):
            if table != OURS:
                found[table] = {**found.get(table, {}), column: _POSTGRES_KINDS[kind]}
        return found

    def rows(self, table: str, columns: Columns) -> Iterator[list[Any]]:
        kinds = list(columns.values())
        times = [i for i, kind in enumerate(kinds) if kind == "time"]
        casts = ", ".join(f'"{name}"::text' if kind == "json" else f'"{name}"' for name, kind in columns.items())
        with self._connection.cursor(name="backup") as cursor:
            cursor.itersize = AT_ONCE
            for raw in cursor.execute(f"SELECT {casts} FROM {table}"):
                row = list(raw)
                for i in times:
                    row[i] = _text(row[i])
                yield row


def _text(at: datetime | None) -> str | None:
    """A time in SQLite's format."""
    return None if at is None else at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _listed(columns: Columns) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def role_of(url: str, identity: str, *, pooled: bool = False) -> str | None:
    """The role of the person with an identity, at any revision of the database; None if there is none.

    Raises StoreError.
    """
    driver = driver_for(url, pooled=pooled)
    if revision(url, pooled=pooled, only_looks=True) is None:
        return None
    question = "SELECT p.role FROM people p JOIN identities i ON i.person_id = p.id WHERE i.key = "
    if isinstance(driver, PostgresDriver):
        with driver.connect() as connection:
            row = connection.execute(f"{question}%s", [identity]).fetchone()
    else:
        with _of_sqlite(driver) as snapshot:
            row = snapshot.one(f"{question}?", identity)
    return None if row is None else str(row[0])
