"""Bringing a database to this version's schema, and refusing one that is newer.

The revisions themselves are in `migrations/versions`.
"""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from interlock.store.engine import driver_for
from interlock.store.errors import StoreError, StoreTooNew, StoreUnavailable, of_sqlite
from interlock.store.postgres import PostgresDriver, first_line
from interlock.store.sqlite import BUSY_S, SqliteDriver

HEAD = "0003"
KNOWN = ("0001", "0002", "0003")
LOCK_KEY = 0x1E7E71C0
PATIENCE_S = 60
"""How long to wait for another process that migrates the same database."""


async def upgrade(url: str) -> str | None:
    """Migrates forward where needed; returns the revision it came from (None: the database was empty).

    Raises StoreTooNew for a database that a newer version has migrated, StoreUnavailable where it cannot be reached.
    """
    found = await asyncio.to_thread(revision, url)
    if found != HEAD:
        await asyncio.to_thread(_migrate, url)
    return found


def revision(url: str) -> str | None:
    """The revision of a database, None where it is empty or does not exist yet.

    Raises StoreTooNew, StoreUnavailable.
    """
    driver = driver_for(url)
    found = _sqlite_revision(driver) if isinstance(driver, SqliteDriver) else _postgres_revision(driver)
    if found is not None and found not in KNOWN:
        raise StoreTooNew(found, HEAD)
    return found


def _sqlite_revision(driver: SqliteDriver) -> str | None:
    if not driver.path.is_file():
        return None
    try:
        connection = sqlite3.connect(f"{driver.path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_S)
        try:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "alembic_version" not in tables:
                if tables:
                    raise StoreError(f"`{driver.path}` is a database of something else: choose another path")
                return None
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            return str(row[0]) if row else None
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise of_sqlite(error, str(driver.path)) or error from error


def _postgres_revision(driver: PostgresDriver) -> str | None:
    with driver.connect() as connection:
        if connection.execute("SELECT to_regclass('alembic_version')").fetchone()[0] is None:
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return str(row[0]) if row else None


def _migrate(url: str) -> None:
    import sqlalchemy as sa
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    driver = driver_for(url)
    engine = _engine(driver)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text(f"SET LOCAL lock_timeout = '{PATIENCE_S}s'"))
                connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({LOCK_KEY})"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except sa.exc.DBAPIError as error:
        cause = error.orig
        told = of_sqlite(cause, driver_path(url)) if isinstance(cause, sqlite3.Error) else None
        raise told or StoreUnavailable(f"the migration of `{driver_path(url)}` failed: {first_line(cause)}") from error
    finally:
        engine.dispose()


def _engine(driver: SqliteDriver | PostgresDriver) -> Any:
    import sqlalchemy as sa

    if isinstance(driver, PostgresDriver):
        return sa.create_engine(
            "postgresql+psycopg://", creator=lambda: driver.connect(autocommit=False), poolclass=sa.NullPool
        )
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(driver.path)), poolclass=sa.NullPool)
    sa.event.listen(engine, "connect", _no_implicit_begin)
    sa.event.listen(engine, "begin", _begin_immediate)
    return engine


def _no_implicit_begin(connection: Any, _record: Any) -> None:
    connection.isolation_level = None


def _begin_immediate(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def driver_path(url: str) -> str:
    """What to call a database in messages: its file, or its URL without the password."""
    if url.startswith("sqlite:///"):
        return url.removeprefix("sqlite:///")
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
