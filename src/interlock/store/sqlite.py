"""SQLite as the store's driver: one writer, WAL, group commit with a savepoint for each unit.

Nothing here knows a table.
"""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.dialects import sqlite as dialect

from interlock.core.text import storable_json
from interlock.store.errors import StoreGone, StoreUnavailable, of_sqlite
from interlock.store.statements import Statements
from interlock.store.tx import SqliteTx, is_relaxed

Unit = Callable[..., Any]
Work = tuple[Unit, tuple[Any, ...], dict[str, Any]]
Outcome = tuple[Any, BaseException | None]
BUSY_S = 10.0


class SqliteDriver:
    """Opens connections to one database file and commits batches of units on the writing one."""

    name = "sqlite"
    batch_limit = 256

    def __init__(self, path: Path) -> None:
        self.path = path
        self.statements = Statements(dialect.dialect(paramstyle="qmark", json_serializer=storable_json))
        self._writer: sqlite3.Connection | None = None
        self._is_relaxed = False
        self._file: tuple[int, int] | None = None

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=512
            )
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("PRAGMA foreign_keys=ON")
            except BaseException:
                connection.close()
                raise
            return connection
        except sqlite3.Error as error:
            raise of_sqlite(error, str(self.path)) or error from error

    def open_writer(self) -> None:
        """Connects; called in the writer's thread."""
        self._writer = self._connect()
        self._file = self._identity()

    def check(self) -> None:
        """Raises StoreGone where the path leads to another file than the one that is open, or to none."""
        if self._identity() != self._file:
            raise StoreGone(str(self.path))

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def close_writer(self) -> None:
        """Disconnects the writer."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def open_reader(self) -> SqliteTx:
        """A transaction object over a connection that cannot write."""
        connection = self._connect()
        connection.execute("PRAGMA query_only=ON")
        return SqliteTx(connection, self.statements)

    def read(self, tx: Any, fn: Unit, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`fn(tx, …)` over one snapshot."""
        try:
            tx.connection.execute("BEGIN")
            try:
                return fn(tx, *args, **kwargs)
            finally:
                if tx.connection.in_transaction:
                    tx.connection.execute("COMMIT")
        except sqlite3.Error as error:
            self.check()
            raise of_sqlite(error, str(self.path)) or error from error

    def commit(self, batch: Sequence[Work]) -> tuple[list[Outcome], bool]:
        """Commits the units of a batch together; a unit that fails takes nothing else with it.

        Returns each unit's result or error, and whether waiting workers should be told.
        """
        writer = self._writer
        if writer is None:
            raise StoreUnavailable("the store is closed")
        try:
            return self._together(writer, batch)
        except sqlite3.Error as error:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            told = of_sqlite(error, str(self.path)) or error
            return [(None, told) for _ in batch], False

    def _together(self, writer: sqlite3.Connection, batch: Sequence[Work]) -> tuple[list[Outcome], bool]:
        tx = SqliteTx(writer, self.statements)
        outcomes: list[Outcome] = []
        wake = False
        self._relax(writer, all(is_relaxed(unit) for unit, _, _ in batch))
        writer.execute("BEGIN IMMEDIATE")
        if len(batch) == 1:
            return self._alone(writer, tx, batch[0])
        for unit, args, kwargs in batch:
            writer.execute("SAVEPOINT unit")
            tx.wake = False
            try:
                outcomes.append((unit(tx, *args, **kwargs), None))
                wake = wake or tx.wake
            except Exception as error:
                if not writer.in_transaction:
                    raise
                writer.execute("ROLLBACK TO unit")
                outcomes.append((None, self._told(error)))
            writer.execute("RELEASE unit")
        writer.execute("COMMIT")
        return outcomes, wake

    def _alone(self, writer: sqlite3.Connection, tx: SqliteTx, work: Work) -> tuple[list[Outcome], bool]:
        unit, args, kwargs = work
        try:
            result = unit(tx, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 (handed to whoever waits for the unit)
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            return [(None, self._told(error))], False
        writer.execute("COMMIT")
        return [(result, None)], tx.wake

    def _told(self, error: Exception) -> Exception:
        if isinstance(error, sqlite3.OperationalError):
            return of_sqlite(error, str(self.path)) or error
        return error

    def _relax(self, writer: sqlite3.Connection, is_relaxed: bool) -> None:
        if is_relaxed is not self._is_relaxed:
            writer.execute(f"PRAGMA synchronous={'NORMAL' if is_relaxed else 'FULL'}")
            self._is_relaxed = is_relaxed
