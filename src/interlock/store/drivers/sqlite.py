"""SQLite as the store's driver: one writer, WAL, group commit with a savepoint for each unit.

Nothing here knows a table.
"""

import contextlib
import logging
import math
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy.dialects import sqlite as dialect

from interlock.core.text import storable_json
from interlock.store.drivers.statements import Statements
from interlock.store.errors import StoreGone, StoreUnavailable, locked, of_sqlite
from interlock.store.tx import SqliteTx, is_relaxed

Unit = Callable[..., Any]
Work = tuple[Unit, tuple[Any, ...], dict[str, Any]]
Outcome = tuple[Any, BaseException | None]
Committed = tuple[list[Outcome], bool]
Then = Callable[[SqliteTx], None]
BUSY_S = 10.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.001, 0.05
"""Between looks whether another process has let go of the database."""
CACHE_KIB = 32 * 1024
UNITS_A_LOG, BYTES_A_LOG = 4096, 32 << 20
"""After so many, the log is copied into the file; pages that are written again and again, once."""
UNITS_A_LOOK = 64
"""Between looks how long the log has become."""
ROOM_BYTES, ROOM_AT_ONCE = 16 << 20, 4 << 20
"""How long the log is made ahead of what is committed, and by how much with each look: what is there is written over in
half of the time that a file takes to grow, since where its blocks are need not be written down with each commit."""
SPARE_BYTES = 1 << 30
"""What must be left free on the disk."""
SHARE_S = 0.01
"""How long units of a group are begun while the event loop waits; the rest is the next group."""
QUICK_S, HICCUP = 0.02, 32
"""A disk that takes longer for a commit is waited for by a thread, where it did so among that many commits before: one
is no slow disk, and the thread costs more than the next such wait."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""How long after a slow commit the thread commits; doubled with each that is slow again."""
CAREFUL_BATCHES = 64
"""After a unit has failed, units have savepoints of their own for so many batches."""
_log = logging.getLogger(__name__)


class SqliteDriver:
    """Opens connections to one database file and commits batches of units on the writing one."""

    name = "sqlite"
    batch_limit = 256

    def __init__(self, path: Path) -> None:
        self.path, self.quick_s = path, QUICK_S
        self.statements = Statements(dialect.dialect(paramstyle="qmark", json_serializer=storable_json))
        self._writer: sqlite3.Connection | None = None
        self._is_relaxed = False
        self._opened: dict[Path, tuple[int, int] | None] = {path: None}
        self._commit_s = 0.0
        self._slow_until = 0.0
        self._since_slow = HICCUP
        self._pause_s = FIRST_PAUSE_S
        self._careful = 0
        self._logged, self._look_at = 0, UNITS_A_LOOK
        self._is_long = self._is_short = self._is_tight = False

    def _connect(self, *, patience_s: float = BUSY_S) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=512
            )
            try:
                if not self._begin(connection, BUSY_S, by="PRAGMA journal_mode=WAL"):
                    raise StoreUnavailable(locked(str(self.path)))
                connection.execute("PRAGMA schema_version").fetchone()  # a read; it creates the log
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("PRAGMA foreign_keys=ON")
                connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
                connection.execute("PRAGMA wal_autocheckpoint=0")
                connection.execute(f"PRAGMA journal_size_limit={BYTES_A_LOG}")
                connection.execute(f"PRAGMA busy_timeout={patience_s * 1000:.0f}")
            except BaseException:
                connection.close()
                raise
            return connection
        except sqlite3.Error as error:
            raise of_sqlite(error, str(self.path)) or error from error

    def open_writer(self) -> None:
        """Connects; called in the writer's thread."""
        self._writer = self._connect(patience_s=0)
        self._opened = {path: _inode(path) for path in (self.path, self._log_path)}

    def check(self) -> None:
        """Raises StoreGone if the path of the database or of its log leads to another file than is open, or to none.

        SQLite removes the log only once nobody has the database open. If somebody else does, other processes begin a
        new one, and what one side commits the other neither sees nor keeps.
        """
        for path, opened in self._opened.items():
            if _inode(path) != opened:
                raise StoreGone(str(path))

    def close_writer(self) -> None:
        """Disconnects the writer."""
        if self._writer is not None:
            self._opened.pop(self._log_path, None)
            self._writer.close()
            self._writer = None

    def open_reader(self) -> SqliteTx:
        """A transaction object over a connection that cannot write."""
        connection = self._connect()
        connection.execute("PRAGMA query_only=ON")
        return SqliteTx(connection, self.statements)

    def nearest(self) -> SqliteTx:
        """A transaction object over the writing connection, for reads while nobody writes."""
        if self._writer is None:
            raise StoreUnavailable("the store is closed")
        return SqliteTx(self._writer, self.statements)

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

    @property
    def is_quick(self) -> bool:
        """Whether commits are too short to be worth a change of threads, as far as is known."""
        return monotonic() >= self._slow_until

    @property
    def wants_tidying(self) -> bool:
        """Whether the log is to be copied into the file or made longer, which takes longer than a commit."""
        return self._is_long or self._is_short

    def commit_at_once(self, batch: Sequence[Work], then: Then | None = None) -> Committed | None:
        """As `commit`, but without waiting: None if another process writes to the database.

        It gives the outcomes of the first units where all of them would take long. Where they made work ready, `then`
        is called before they are committed; what it wrote is undone where it fails.
        """
        self._commit_s = 0.0
        done = self._commit(batch, patience_s=0.0, until_s=monotonic() + SHARE_S, then=then)
        if self._commit_s > self.quick_s:
            if self._since_slow < HICCUP:
                self._slow_until = monotonic() + self._pause_s
                self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
            self._since_slow = 0
        elif done is not None:
            self._since_slow += 1
            self._pause_s = FIRST_PAUSE_S
        return done

    def commit(self, batch: Sequence[Work]) -> Committed:
        """Commits the units of a batch together; a unit that fails takes nothing else with it.

        Returns each unit's result or error, and whether waiting workers should be told.
        """
        done = self._commit(batch, patience_s=BUSY_S)
        if done is None:
            failure = StoreUnavailable(locked(str(self.path)))
            return [(None, failure) for _ in batch], False
        if self.wants_tidying:
            self._tidy()
        return done

    def _commit(
        self, batch: Sequence[Work], patience_s: float, until_s: float = math.inf, then: Then | None = None
    ) -> Committed | None:
        writer = self._writer
        if writer is None:
            raise StoreUnavailable("the store is closed")
        try:
            self._relax(writer, all(is_relaxed(unit) for unit, _, _ in batch))
            if not self._begin(writer, patience_s):
                return None
            done = self._together(writer, batch, patience_s, until_s, then)
            self._grew(len(done[0]) if done is not None else 0)
            return done
        except sqlite3.Error as error:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            failure = of_sqlite(error, str(self.path)) or error
            return [(None, failure) for _ in batch], False

    def _begin(self, writer: sqlite3.Connection, patience_s: float, by: str = "BEGIN IMMEDIATE") -> bool:
        """Begins a transaction; False if another process writes for longer than `patience_s`.

        Or carries out another statement that SQLite refuses at once, whatever its timeout: a new database's first log.
        """
        wait_s, give_up_at = FIRST_WAIT_S, monotonic() + patience_s
        while True:
            try:
                writer.execute(by)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
            else:
                return True
            if monotonic() >= give_up_at:
                return False
            sleep(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    def _together(
        self, writer: sqlite3.Connection, batch: Sequence[Work], patience_s: float, until_s: float, then: Then | None
    ) -> Committed | None:
        """Tries without savepoints first, since units hardly ever fail; they bear to be run twice."""
        tx = SqliteTx(writer, self.statements)
        if len(batch) == 1:
            return self._alone(writer, tx, batch[0], then)
        if self._careful:
            self._careful -= 1
            return self._each(writer, tx, batch, then)
        outcomes: list[Outcome] = []
        try:
            for unit, args, kwargs in batch:
                outcomes.append((unit(tx, *args, **kwargs), None))
                if monotonic() > until_s:
                    break
        except Exception:  # noqa: BLE001 (whose fault it was is found out below)
            self._careful = CAREFUL_BATCHES
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            if not self._begin(writer, patience_s):
                return None
            return self._each(writer, SqliteTx(writer, self.statements), batch, then)
        self._end(writer, tx, then)
        return outcomes, tx.wake

    def _each(self, writer: sqlite3.Connection, tx: SqliteTx, batch: Sequence[Work], then: Then | None) -> Committed:
        outcomes: list[Outcome] = []
        wake = False
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
                outcomes.append((None, self._translated(error)))
            writer.execute("RELEASE unit")
        tx.wake = wake
        self._end(writer, tx, then)
        return outcomes, wake

    def _alone(self, writer: sqlite3.Connection, tx: SqliteTx, work: Work, then: Then | None) -> Committed:
        unit, args, kwargs = work
        try:
            result = unit(tx, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 (handed to whoever waits for the unit)
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            return [(None, self._translated(error))], False
        self._end(writer, tx, then)
        return [(result, None)], tx.wake

    def _end(self, writer: sqlite3.Connection, tx: SqliteTx, then: Then | None) -> None:
        if then is not None and tx.wake:
            writer.execute("SAVEPOINT next")
            try:
                then(tx)
            except Exception as error:
                if not writer.in_transaction:
                    raise
                _log.warning("what became ready could not be taken at once: %s", error)
                writer.execute("ROLLBACK TO next")
            writer.execute("RELEASE next")
        begun = monotonic()
        writer.execute("COMMIT")
        self._commit_s = monotonic() - begun

    def _grew(self, units: int) -> None:
        self._logged += units
        if self._logged >= self._look_at:
            self._look_at += UNITS_A_LOOK
            log_bytes = self._log_bytes()
            self._is_long = self._logged >= UNITS_A_LOG or log_bytes > BYTES_A_LOG
            self._is_short = log_bytes < ROOM_BYTES and not self._is_tight

    @property
    def _log_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")

    def _log_bytes(self) -> int:
        try:
            return self._log_path.stat().st_size
        except OSError:
            return 0

    def _tidy(self) -> None:
        """Copies the log into the file as far as readers let it, from its start again where it is done with; or makes
        one longer that is short."""
        is_long, self._is_long, self._is_short = self._is_long, False, False
        if self._writer is None:
            return
        with contextlib.suppress(sqlite3.Error):
            if is_long:
                self._logged, self._look_at = 0, UNITS_A_LOOK
                self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            elif self._begin(self._writer, patience_s=0.0):
                try:
                    self._is_tight = not _lengthened(self._log_path)
                finally:
                    self._writer.execute("ROLLBACK")

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, sqlite3.OperationalError):
            return of_sqlite(error, str(self.path)) or error
        return error

    def _relax(self, writer: sqlite3.Connection, is_relaxed: bool) -> None:
        if is_relaxed is not self._is_relaxed:
            writer.execute(f"PRAGMA synchronous={'NORMAL' if is_relaxed else 'FULL'}")
            self._is_relaxed = is_relaxed


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _lengthened(log: Path) -> bool:
    """Writes zeros behind what a log holds, which end it for its readers as the end of the file does.

    False if the disk has too little room for it, or is at fault; then the log is as it was.
    INVARIANT: nobody appends to the log meanwhile: whoever calls has the lock of the database's one writer.
    """
    try:
        with log.open("r+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if shutil.disk_usage(log.parent).free < SPARE_BYTES:
                return False
            try:
                file.write(bytes(ROOM_AT_ONCE))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise
    except OSError:
        return False
    return True
