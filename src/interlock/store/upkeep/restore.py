"""Restores a backup: prepares, verifies and migrates a new database beside the old one, then exchanges them atomically.

Starting the new epoch is in `epochs`. INVARIANT: the old database is untouched until the exchange, which is one
transaction or one rename: a kill leaves either the old state or the new one.
"""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from interlock.core.errors import Conflict, InterlockError
from interlock.store.drivers.postgres import PostgresDriver, first_line
from interlock.store.drivers.sqlite import SqliteDriver
from interlock.store.engine import driver_for
from interlock.store.errors import StoreError, StoreTooNew, StoreUnavailable, of_sqlite
from interlock.store.mailboxes import processes
from interlock.store.tx import SqliteTx
from interlock.store.upkeep import epochs, migrate
from interlock.store.upkeep.archive import Archive, BadArchive, Manifest, Part
from interlock.store.upkeep.epochs import Beginning, Uncertain
from interlock.store.upkeep.exchange import into_postgres, into_sqlite
from interlock.store.upkeep.snapshots import OURS, sqlite_columns

SCRATCH = "restoring-"
"""The name prefix of scratch directories, followed by the PID."""
AT_ONCE = 500
_SPEED = ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA foreign_keys=OFF")


def restore(
    url: str, path: Path, folder: Path, start: Callable[[Manifest], Beginning], *, silent_s: float | None,
    patience_s: float = migrate.PATIENCE_S, pooled: bool = False,
) -> tuple[Manifest, Uncertain]:  # fmt: skip
    """Replaces the contents of a database by those of a backup, or creates the database.

    On SQLite, the caller must make sure that no process executes runs. On PostgreSQL, workers that sent a heartbeat
    within `silent_s` cause a Conflict; with None they are fenced off instead. Other users of the tables are waited for,
    up to `patience_s`. `folder` needs room for a copy. `pooled` if the URL leads to a transaction pooler.

    Blocking. Raises UsageError, BadArchive, StoreTooNew, Conflict, StoreError, and InterlockError if the disk is full.
    """
    driver = driver_for(url, pooled=pooled)
    with Archive(path) as archive, _scratch(folder) as scratch, _translated(scratch, url):
        if isinstance(driver, PostgresDriver):
            _refuse_while_at_work(driver, start(archive.manifest).now, silent_s)
        prepare(archive, scratch)
        with contextlib.closing(sqlite3.connect(scratch, isolation_level=None)) as connection:
            tx = SqliteTx(connection, SqliteDriver(scratch).statements)

            def begin(replaced: tuple[int, int]) -> Uncertain:
                connection.execute("BEGIN")
                found = epochs.begin(tx, start(archive.manifest), replaced)
                connection.execute("COMMIT")
                return found

            if isinstance(driver, PostgresDriver):
                _refuse_while_at_work(driver, start(archive.manifest).now, silent_s)
                return archive.manifest, into_postgres(driver, connection, begin, patience_s)
            return archive.manifest, into_sqlite(driver, connection, begin)


def prepare(archive: Archive, scratch: Path) -> None:
    """Creates an SQLite database with this version's schema from an archive; verifies every digest.

    Raises BadArchive, and StoreTooNew for an archive of a newer version.
    """
    manifest = archive.manifest
    if manifest.revision not in migrate.KNOWN:
        raise StoreTooNew(manifest.revision, migrate.HEAD)
    url = f"sqlite:///{scratch}"
    migrate.migrate_to(url, manifest.revision)
    with contextlib.closing(sqlite3.connect(scratch, isolation_level=None)) as connection:
        for pragma in _SPEED:
            connection.execute(pragma)
        there = {
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
        }
        if {part.table for part in manifest.parts} != there - {OURS}:
            raise BadArchive(archive.path, f"does not hold the tables of revision `{manifest.revision}`")
        for part in manifest.parts:
            _load(connection, archive, part)
        if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
            raise BadArchive(archive.path, "holds rows that refer to others that are not there")
    if manifest.revision != migrate.HEAD:
        migrate.migrate_to(url)


def _load(connection: sqlite3.Connection, archive: Archive, part: Part) -> None:
    if sqlite_columns(connection, part.table) != dict(part.columns) and (
        sorted(sqlite_columns(connection, part.table).items()) != sorted(part.columns.items())
    ):
        raise BadArchive(archive.path, f"has other columns in `{part.table}` than its revision")
    names = ", ".join(f'"{name}"' for name in part.columns)
    places = ", ".join("?" * len(part.columns))
    connection.execute("BEGIN")
    connection.execute(f"DELETE FROM {part.table}")
    rows = archive.rows(part)
    while batch := list(islice(rows, AT_ONCE)):
        try:
            connection.executemany(f"INSERT INTO {part.table} ({names}) VALUES ({places})", batch)
        except (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError, OverflowError) as error:
            raise BadArchive(archive.path, f"holds rows in `{part.table}` that cannot be") from error
    connection.execute("COMMIT")


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A scratch directory that only this user can read; removes those that killed processes have left."""
    for left in folder.glob(f"{SCRATCH}*"):
        pid = left.name.removeprefix(SCRATCH)
        if pid.isdigit() and (int(pid) == os.getpid() or processes.started(int(pid)) is None):
            shutil.rmtree(left, ignore_errors=True)
    made = folder / f"{SCRATCH}{os.getpid()}"
    try:
        made.mkdir(mode=0o700)
        yield made / "interlock.db"
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise InterlockError(f"cannot prepare the restore in `{folder}`: {problem}: nothing was changed") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def _translated(scratch: Path, url: str) -> Iterator[None]:
    import psycopg

    try:
        yield
    except sqlite3.Error as error:
        translated = of_sqlite(error, str(scratch.parent)) or StoreError(f"the restore failed: {error}")
        raise StoreUnavailable(f"{translated}: nothing was changed") from error
    except psycopg.Error as error:
        where = migrate.driver_path(url)
        raise StoreUnavailable(
            f"`{where}` did not take the backup: {first_line(error)}: nothing was changed"
        ) from error  # fmt: skip


def _refuse_while_at_work(driver: PostgresDriver, now: datetime, silent_s: float | None) -> None:
    """Raises Conflict if a worker has sent a heartbeat recently."""
    if silent_s is None or migrate.revision(driver.url, pooled=driver.pooled) is None:
        return
    with driver.connect() as connection:
        found: Any = connection.execute(
            "SELECT count(*) FROM workers WHERE state = 'running'"
            " AND beat_at BETWEEN %s::timestamptz - make_interval(secs => %s)"
            " AND %s::timestamptz + make_interval(secs => %s)",
            [now, silent_s, now, silent_s],
        ).fetchone()
    if found[0]:
        workers = "1 worker is" if found[0] == 1 else f"{found[0]} workers are"
        raise Conflict(f"{workers} at work on this database: stop them first, or give `--force` to shut them out")
