"""The atomic exchange of an installation's database for a prepared SQLite database."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlmodel import SQLModel

import interlock.store.schema  # noqa: F401 (defines the tables)
from interlock.store.drivers import lock_holders
from interlock.store.drivers.postgres import WAKE_CHANNEL, CommitUnknown, PostgresDriver, first_line
from interlock.store.drivers.sqlite import BUSY_S, SqliteDriver
from interlock.store.engine import driver_for
from interlock.store.errors import StoreTooNew, StoreUnavailable, of_sqlite
from interlock.store.tx import PostgresTx
from interlock.store.upkeep import epochs, migrate, undone
from interlock.store.upkeep.epochs import Uncertain
from interlock.store.upkeep.snapshots import SqliteSnapshot, sqlite_columns

Begin = Callable[[tuple[int, int]], Uncertain]
"""Begins the new epoch in the prepared database, given the highest fencing token and the epoch of the replaced one."""


def into_sqlite(driver: SqliteDriver, prepared: sqlite3.Connection, begin: Begin) -> Uncertain:
    """Copies the pages of a prepared database into the file, in one transaction; a damaged or missing file is replaced
    by a rename, and the damaged one is kept beside it.
    """
    is_sound = is_sound_file(driver.path)
    if not is_sound:
        found = begin((0, 0))
        _put(driver.path, prepared)
        return found
    with contextlib.closing(sqlite3.connect(driver.path, timeout=BUSY_S, isolation_level=None)) as target:
        lost = undone.find(undone.of_sqlite(target), undone.of_sqlite(prepared))
        found = replace(begin(_standing(driver.path)), undone=lost)
        target.execute("PRAGMA synchronous=FULL")
        with _patience(driver.path) as progress:
            prepared.backup(target, pages=-1, progress=progress, sleep=0.1)
        target.execute("PRAGMA journal_mode=WAL")
        target.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return found


@contextlib.contextmanager
def _patience(path: Path) -> Iterator[Callable[[int, int, int], None]]:
    """A progress callback that gives up if another process keeps the file locked."""
    tries = 0

    def progress(status: int, _remaining: int, _total: int) -> None:
        nonlocal tries
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            tries += 1
            if tries > BUSY_S * 10:
                raise StoreUnavailable(f"the database `{path}` is locked by another process: nothing was changed")

    yield progress


def holds_something(url: str, *, pooled: bool = False) -> bool:
    """Whether there is a database of ours that is intact, as far as can be told at once.

    Raises StoreError for one of something else, or if it cannot be reached.
    """
    driver = driver_for(url, pooled=pooled)
    if isinstance(driver, PostgresDriver):
        return migrate.revision(url, pooled=pooled, only_looks=True) is not None
    try:
        return is_sound_file(driver.path)
    except sqlite3.OperationalError as error:
        raise of_sqlite(error, str(driver.path)) or error from error


def is_sound_file(path: Path) -> bool:
    """Whether the file is an intact Interlock database; False if it is damaged, empty or missing.

    Raises StoreError for another application's database, and sqlite3.OperationalError if it cannot be read now.
    """
    if not path.exists() or not path.stat().st_size:
        return False
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return False
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False
    try:
        return migrate.revision(f"sqlite:///{path}") is not None
    except StoreTooNew:
        return True


def _standing(path: Path) -> tuple[int, int]:
    """The highest fencing token and the epoch of the database that is replaced, whatever its revision."""
    with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
        fences = [0]
        for table in ("lanes", "leaders"):
            if "fence" in sqlite_columns(connection, table):
                fences += [n for (n,) in connection.execute(f"SELECT max(fence) FROM {table}") if n is not None]
        epoch = connection.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()
    return max(fences), int(epoch[0]) if epoch else 0


def _put(path: Path, prepared: sqlite3.Connection) -> None:
    source = Path(prepared.execute("PRAGMA database_list").fetchone()[2])
    aside = f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"  # noqa: TID251 (a name)
    if path.exists() and path.stat().st_size:
        os.link(path, path.with_name(aside))
        for suffix in ("-wal", "-shm", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(path.with_name(aside + suffix))
    for where in (source, source.parent):
        _sync(where)
    source.chmod(0o600)
    source.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def into_postgres(
    driver: PostgresDriver, prepared: sqlite3.Connection, begin: Begin, patience_s: float = migrate.PATIENCE_S
) -> Uncertain:
    """Replaces every row of a PostgreSQL database in one transaction; concurrent writers wait, and then find that
    their leases are lost.

    It gives way to users of its tables and retries, so that nobody waits behind it for long.

    Raises StoreUnavailable if a table is still in use after `patience_s`, and CommitUnknown if it is not known whether
    the rows were replaced.
    """
    there = migrate.revision(driver.url, pooled=driver.pooled)
    if there is not None and there not in migrate.KNOWN:
        raise StoreTooNew(there, migrate.HEAD)
    if there != migrate.HEAD:
        migrate.migrate_to(driver.url, pooled=driver.pooled)
    tables = [table.name for table in SQLModel.metadata.sorted_tables]
    with driver.connect() as connection:
        _take(connection, tables, patience_s)
        lost = undone.find(lambda query: connection.execute(query).fetchall(), undone.of_sqlite(prepared))
        found = replace(begin(epochs.standing(PostgresTx(connection, driver.statements))), undone=lost)
        connection.execute(f"TRUNCATE {', '.join(tables)}")
        snapshot = SqliteSnapshot(prepared)
        for name in tables:
            _copy(connection, snapshot, name, sqlite_columns(prepared, name))
        for table in SQLModel.metadata.sorted_tables:
            if table.autoincrement_column is not None and table.autoincrement_column.name == "id":
                _count_on(connection, table.name)
        _commit(connection)
    return found


def _commit(connection: Any) -> None:
    """Raises CommitUnknown if the connection is lost meanwhile."""
    from psycopg import OperationalError

    try:
        connection.execute("COMMIT")
    except OperationalError as error:
        raise CommitUnknown(
            f"PostgreSQL went away while the backup was put in place: {first_line(error)}: look whether it is there "
            "with `interlock missions`, and restore it again if not"
        ) from error
    with contextlib.suppress(OperationalError):
        connection.execute(f"NOTIFY {WAKE_CHANNEL}")


def _take(connection: Any, tables: list[str], patience_s: float) -> None:
    """Begins a transaction with an exclusive lock on all tables."""
    from psycopg.errors import LockNotAvailable

    give_up_at = monotonic() + patience_s
    while True:
        connection.execute("BEGIN")
        for setting in migrate.LONG_WORK:
            connection.execute(setting)
        connection.execute(f"SELECT pg_advisory_xact_lock({migrate.LOCK_KEY})")
        try:
            connection.execute(f"SET LOCAL lock_timeout = '{migrate.CHANGE_S}s'")
            connection.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
            connection.execute(migrate.LONG_WORK[0])
            return
        except LockNotAvailable as error:
            connection.execute("ROLLBACK")
            if monotonic() >= give_up_at:
                raise StoreUnavailable(f"{lock_holders.describe_holders(connection)}: nothing was changed") from error
        sleep(migrate.PAUSE_S)


def _copy(connection: Any, snapshot: SqliteSnapshot, table: str, columns: dict[str, str]) -> None:
    names = ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in snapshot.rows(table, columns):
            copy.write_row(row)


def _count_on(connection: Any, table: str) -> None:
    """Sets the sequences to continue after the restored ids."""
    connection.execute(
        f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))"
        f" WHERE EXISTS (SELECT FROM {table})"
    )
