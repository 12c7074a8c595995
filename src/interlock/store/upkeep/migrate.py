"""Migrates a database to this version's schema, and refuses one that is newer.

The revisions themselves are in `migrations/versions`.
"""

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from interlock.store.drivers import lock_holders
from interlock.store.drivers.postgres import RIGHTS, PostgresDriver, Unreachable, check_encoding, first_line
from interlock.store.drivers.sqlite import BUSY_S, SqliteDriver
from interlock.store.engine import driver_for
from interlock.store.errors import StoreError, StoreTooNew, StoreUnavailable, of_sqlite

HEAD = "0008"
KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
MINIMUM_READER = "0003"
"""The oldest revision whose code works with this schema: everything it uses still exists, with the same meaning."""
LOCK_KEY = 0x1E7E71C0
LOCK_NOT_AVAILABLE, NOT_ALLOWED = "55P03", "42501"
PATIENCE_S = 60
"""How long to wait for another process that migrates the same database, or for tables that are in use."""
CHANGE_S, PAUSE_S = 1, 1
"""How long a schema change waits for a table lock, since others queue up behind it; and the pause before a retry."""
LONG_WORK = (
    f"SET LOCAL lock_timeout = '{PATIENCE_S}s'",
    "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL application_name = 'interlock db'",
    "SET LOCAL timezone = 'UTC'",
    "SET LOCAL datestyle = 'ISO'",
)
"""The application name of a long transaction on PostgreSQL, so that it is not terminated as a stalled one."""


async def upgrade(url: str, *, pooled: bool = False) -> str | None:
    """Migrates forward if necessary; returns the previous revision (None: the database was empty).

    A database that a newer version has migrated is left unchanged, if that version declares it compatible with this
    one. `pooled` if the URL leads to a transaction pooler.

    Raises StoreTooNew for an incompatible one, StoreUnavailable if it cannot be reached.
    """
    found = await asyncio.to_thread(revision, url, pooled=pooled)
    if found is None or (found in KNOWN and found != HEAD):
        await asyncio.to_thread(migrate_to, url, pooled=pooled)
    return found


def revision(url: str, *, pooled: bool = False, only_looks: bool = False) -> str | None:
    """The revision of a database; None if it is empty or does not exist yet.

    Who `only_looks` may do so in any encoding.

    Raises StoreTooNew, StoreUnavailable.
    """
    driver = driver_for(url, pooled=pooled)
    if isinstance(driver, SqliteDriver):
        found, reader = _sqlite_revision(driver)
    else:
        found, reader = _postgres_revision(driver, only_looks=only_looks)
    if found is not None and found not in KNOWN and reader not in KNOWN:
        raise StoreTooNew(found, HEAD)
    return found


Found = tuple[str | None, str | None]
"""The revision of a database, and the oldest one whose code may use it."""
_REVISION = "SELECT version_num FROM alembic_version"
_READER = "SELECT value FROM meta WHERE key = 'minimum_reader'"


def _sqlite_revision(driver: SqliteDriver) -> Found:
    if not driver.path.is_file():
        return None, None
    try:
        connection = sqlite3.connect(f"{driver.path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_S)
        try:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "alembic_version" not in tables:
                if tables:
                    raise StoreError(f"`{driver.path}` is a database of something else: choose another path")
                return None, None
            row = connection.execute(_REVISION).fetchone()
            return (str(row[0]), _value(connection.execute(_READER).fetchone())) if row else (None, None)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise of_sqlite(error, str(driver.path)) or error from error


def _postgres_revision(driver: PostgresDriver, *, only_looks: bool) -> Found:
    import psycopg

    try:
        with driver.connect() as connection:
            if connection.execute("SELECT to_regclass('alembic_version')").fetchone()[0] is None:
                check_encoding(connection, is_new=True)
                return None, None
            if not only_looks:
                check_encoding(connection, is_new=False)
            row = connection.execute(_REVISION).fetchone()
            return (str(row[0]), _value(connection.execute(_READER).fetchone())) if row else (None, None)
    except psycopg.OperationalError as error:
        raise Unreachable(f"PostgreSQL went away: {first_line(error)}") from error


def _value(row: Any) -> str | None:
    return None if row is None else str(row[0])


def migrate_to(url: str, target: str = "head", *, pooled: bool = False) -> None:
    """Migrates forward to a revision in one transaction; waits for other processes that migrate the same database.

    On PostgreSQL it gives way to users of its tables and retries, so that nobody waits behind it for long; after
    `PATIENCE_S` the error names whoever still uses one.

    Raises StoreUnavailable.
    """
    import sqlalchemy as sa

    give_up_at = monotonic() + PATIENCE_S
    while True:
        try:
            return _migrate(url, target, pooled=pooled)
        except sa.exc.DBAPIError as error:
            cause = error.orig
            if getattr(cause, "sqlstate", None) == LOCK_NOT_AVAILABLE:
                if monotonic() < give_up_at:
                    sleep(PAUSE_S)
                    continue
                raise _in_use(url, pooled=pooled) from error
            if error.connection_invalidated:
                raise Unreachable(f"PostgreSQL went away: {first_line(cause)}") from error
            translated = of_sqlite(cause, driver_path(url)) if isinstance(cause, sqlite3.Error) else None
            advice = f": {RIGHTS}" if getattr(cause, "sqlstate", None) == NOT_ALLOWED else ""
            failed = StoreUnavailable(f"the migration of `{driver_path(url)}` failed: {first_line(cause)}{advice}")
            raise translated or failed from error


def _in_use(url: str, *, pooled: bool) -> StoreUnavailable:
    driver = driver_for(url, pooled=pooled)
    assert isinstance(driver, PostgresDriver)
    with driver.connect() as connection:
        return StoreUnavailable(f"`{driver_path(url)}` was not migrated: {lock_holders.describe_holders(connection)}")


def _migrate(url: str, target: str, *, pooled: bool) -> None:
    import sqlalchemy as sa
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations"))
    engine = _engine(driver_for(url, pooled=pooled))
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                for setting in LONG_WORK:
                    connection.execute(sa.text(setting))
                connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({LOCK_KEY})"))
                connection.execute(sa.text(f"SET LOCAL lock_timeout = '{CHANGE_S}s'"))
            config.attributes["connection"] = connection
            command.upgrade(config, target)
            if target == "head":
                connection.execute(sa.text("DELETE FROM meta WHERE key = 'minimum_reader'"))
                connection.execute(sa.text(f"INSERT INTO meta VALUES ('minimum_reader', '{MINIMUM_READER}')"))
    finally:
        engine.dispose()


def _engine(driver: SqliteDriver | PostgresDriver) -> Any:
    import sqlalchemy as sa

    if isinstance(driver, PostgresDriver):
        return sa.create_engine(
            "postgresql+psycopg://", creator=lambda: driver.connect(autocommit=False), poolclass=sa.NullPool
        )
    _make(driver.path)
    place, patience = sa.URL.create("sqlite", database=str(driver.path)), {"timeout": PATIENCE_S}
    engine = sa.create_engine(place, connect_args=patience, poolclass=sa.NullPool)
    sa.event.listen(engine, "connect", _no_implicit_begin)
    sa.event.listen(engine, "begin", _begin_immediate)
    return engine


def _make(path: Path) -> None:
    """Creates the file if necessary, accessible to its owner only, as the WAL files will be too."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _no_implicit_begin(connection: Any, _record: Any) -> None:
    connection.isolation_level = None


def _begin_immediate(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def driver_path(url: str) -> str:
    """The name of a database in messages: its file, or its URL without the password."""
    if url.startswith("sqlite:///"):
        return url.removeprefix("sqlite:///")
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
