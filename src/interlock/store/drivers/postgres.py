"""PostgreSQL as the store's driver: pipelined group commit, units alone where a group fails.

Nothing here knows a table.
"""

import contextlib
from collections.abc import Mapping, Sequence
from time import monotonic, sleep
from typing import Any

from sqlalchemy.dialects.postgresql import psycopg as dialect

from interlock.core.text import storable_json
from interlock.store.drivers import server_settings
from interlock.store.drivers.connection_watchdog import CLOSING_S, SILENT_S
from interlock.store.drivers.sqlite import Outcome, Unit, Work
from interlock.store.drivers.statements import Statements
from interlock.store.drivers.wire import Wire
from interlock.store.errors import StoreUnavailable
from interlock.store.tx import PipelinedTx, is_relaxed

MALFORMED = (
    "INTERLOCK_DATABASE_URL is not a URL of PostgreSQL: write `postgresql://USER:PASSWORD@HOST/DATABASE`, with each "
    "character of the password that is not a letter or digit as %XX"
)
"""Does not quote the URL, since a parse error could reveal parts of the password."""
POOLER, NO_POOLER_KNOWN = (
    "unsupported startup parameter",
    (
        "a transaction pooler such as pgbouncer is at INTERLOCK_DATABASE_URL: set `database_pooler: true`, and "
        "`database_direct_url` to the way past it, if there is one"
    ),
)
"""A pooler's error for features that need a session, and what to do about it."""
WAKE_CHANNEL = "interlock_wake"
REPLAYS = 8
"""How often a unit is tried if its connection is lost, or if it conflicts with another process."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 1.0
"""The pauses between tries if the connection is lost repeatedly."""
PATIENCE_S = 5.0
"""How long a unit waits for rows, and a read for tables, that another process has locked."""
CONNECT_S = 10
STANDSTILL_MS = 20_000
"""The server then aborts the transaction of a stalled or unreachable process and releases its locks, before
anybody can take over that process's runs.
"""
NO_DEAD_PEERS: Mapping[str, Any] = {
    "keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000
}  # fmt: skip
"""TCP settings, in s and ms: a server that disappears silently is noticed within 20 s."""
REFUSED = ("password authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry")
"""Error codes of a server that was reached and rejects the connection."""
CROWDED = ("too many clients", "too many connections", "connection slots are reserved")
"""What it says where all its connections are taken."""
USUAL_ADVICE, MORE_ROOM = "check INTERLOCK_DATABASE_URL", "raise its limit of connections, or put a pooler before it"
RIGHTS = "use a role that owns the tables, or may create them in the schema"
"""What to do if the role lacks a privilege."""
ENCODING = "UTF8"
"""The encoding of the connection, and of a database that must hold all characters."""
UNCONVERTED = "SQL_ASCII"
"""Of a database that keeps what it is given byte by byte."""
MOVE = "take what it holds along with `interlock db backup FILE`"
APPLICATION = "interlock"
_BREAK_OFF = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND application_name = %s
AND pid <> pg_backend_pid() AND state <> 'idle' AND wait_event = 'ClientRead'
AND xact_start < clock_timestamp() - make_interval(secs => %s)
"""
"""The same for one that stalls in the middle of a pipeline, which the server would wait for forever."""


class PostgresDriver:
    """Opens connections to one database and commits batches of units on the writing one."""

    name = "postgresql"
    batch_limit = 32
    patience_s = PATIENCE_S
    standstill_ms = STANDSTILL_MS
    silent_s, closing_s, connect_s = SILENT_S, CLOSING_S, CONNECT_S

    def __init__(self, url: str, *, pooled: bool = False, direct_url: str | None = None) -> None:
        self.url, self.pooled = url, pooled
        """Behind a transaction pooler, sessions change between transactions: nothing is prepared or set in them."""
        self.listen_url = direct_url if pooled else direct_url or url
        """The URL for LISTEN; None if only polling works."""
        self.statements = Statements(dialect.dialect(paramstyle="format"))  # type: ignore[no-untyped-call]
        self._writer: Any = None
        self._wire: Wire | None = None
        self._writing_since: float | None = None
        self._reading: dict[PipelinedTx, float] = {}
        self.is_closing = self.is_given_up = False
        """Set while the store is being closed: lost connections are not replaced."""

    def waiting(self) -> list[tuple[Any, float]]:
        """Connections that wait for a response, each with the monotonic time of the request."""
        since, reading = self._writing_since, [(tx.connection, since) for tx, since in list(self._reading.items())]
        return reading if since is None else [(self._writer, since), *reading]

    def connect(self, *, autocommit: bool = True) -> Any:
        """A new connection, with TCP keepalives that detect dead peers.

        Raises Unreachable, without the password, if the server cannot be reached.
        """
        import psycopg
        from psycopg.types.json import set_json_dumps

        place = self.url.partition("://")[2].partition("?")[0]
        if set(place.rpartition("@")[0]) & set("/@[]"):
            raise Unreachable(MALFORMED, is_final=True)
        try:
            connection = psycopg.connect(
                self.url,
                autocommit=autocommit,
                connect_timeout=self.connect_s,
                application_name=APPLICATION,
                client_encoding=ENCODING,
                options=self._options(),
                **NO_DEAD_PEERS,
            )
            if not self.pooled:
                server_settings.override(connection)
        except (psycopg.ProgrammingError, ValueError) as error:
            raise Unreachable(MALFORMED, is_final=True) from error
        except psycopg.Error as error:
            if POOLER in str(error) and not self.pooled:
                raise Unreachable(NO_POOLER_KNOWN, is_final=True) from error
            advice = MORE_ROOM if any(each in str(error) for each in CROWDED) else USUAL_ADVICE
            message = f"cannot reach PostgreSQL: {first_line(error)}: {advice}"
            raise Unreachable(message, is_final=any(each in str(error) for each in REFUSED)) from error
        set_json_dumps(storable_json, connection)
        if self.pooled:
            connection.prepare_threshold = None
        return connection

    def _options(self) -> str | None:
        """The session's start-up options: those of the URL or PGOPTIONS (such as `search_path`), then our own."""
        from psycopg.conninfo import conninfo_to_dict
        from psycopg.pq import Conninfo

        if self.pooled:
            return None
        usual = next((each.val for each in Conninfo.get_defaults() if each.keyword == b"options"), None)
        asked = conninfo_to_dict(self.url).get("options") or (usual or b"").decode()
        return " ".join([str(asked), *(f"-c {name}={value}" for name, value in self._session.items())]).strip()

    @property
    def _session(self) -> dict[str, str]:
        """Session settings that override those of the database or the role."""
        return server_settings.of_session(self.standstill_ms)

    def _in_transaction(self, connection: Any) -> str | None:
        """Settings for each transaction, if a pooler shares the sessions."""
        if not self.pooled:
            return None
        return server_settings.in_transaction({**self._session, **server_settings.of_server(connection)})

    def open_writer(self) -> None:
        """Connects; called in the writer's thread."""
        self._writer = self.connect()
        self._wire = Wire(self._writer, prepares=not self.pooled)

    def close_writer(self) -> None:
        """Disconnects the writer."""
        if self._writer is not None:
            self._writer.close()
            self._writer = self._wire = None

    def open_reader(self) -> PipelinedTx:
        """A transaction object over a connection of its own, for `read`."""
        return PipelinedTx(Wire(self.connect(), prepares=not self.pooled), self.statements)

    def read(self, tx: PipelinedTx, fn: Unit, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`fn(tx, …)` over one read-only snapshot; a lost connection is replaced once.

        It waits for a table that is being altered as long as a unit waits for rows.
        """
        import psycopg

        is_anew, give_up_at = False, monotonic() + self.patience_s
        while True:
            try:
                if tx.connection.closed:
                    tx.over(Wire(self.connect(), prepares=not self.pooled))
                self._reading[tx] = monotonic()
                return self._look(tx, fn, args, kwargs)
            except psycopg.errors.LockNotAvailable as error:
                if monotonic() >= give_up_at:
                    raise StoreUnavailable(f"PostgreSQL did not answer: {first_line(error)}: try again") from error
            except psycopg.errors.InsufficientPrivilege as error:
                raise not_allowed(error) from error
            except (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout) as error:
                tx.connection.close()
                if is_anew:
                    raise Unreachable(f"PostgreSQL went away: {first_line(error)}") from error
                is_anew = True
            finally:
                self._reading.pop(tx, None)

    def _look(self, tx: PipelinedTx, fn: Unit, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import psycopg

        wire = tx.wire
        try:
            wire.enter()
            wire.send(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if (settings := self._in_transaction(tx.connection)) is not None:
                wire.send(settings.encode())
            found = fn(tx, *args, **kwargs)
            wire.send(b"COMMIT")
            wire.leave()
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                wire.leave()
            if not wire.roll_back():
                tx.connection.close()
            raise
        return found

    def commit(self, batch: Sequence[Work]) -> tuple[list[Outcome], bool]:
        """Commits the units of a batch together; if that fails, each alone."""
        try:
            return self._commit(batch)
        finally:
            self._writing_since = None

    def _commit(self, batch: Sequence[Work]) -> tuple[list[Outcome], bool]:
        try:
            self._connected()
            if len(batch) > 1:
                results, wake = self._transaction(batch)
                return [(result, None) for result in results], wake
        except (CommitUnknown, Unreachable) as error:
            return [(None, error) for _ in batch], False
        except Exception:  # noqa: BLE001 (whose fault it was is found out below)
            self._rollback()
        outcomes: list[tuple[Outcome, bool]] = []
        try:
            for work in batch:
                outcomes.append(self._alone(work))
        except Unreachable as error:
            outcomes += [((None, error), False)] * (len(batch) - len(outcomes))
        return [outcome for outcome, _ in outcomes], any(wake for _, wake in outcomes)

    def notify(self) -> None:
        """Notifies the other processes that work is ready; once per group, after the commit."""
        if self._wire is None:
            return
        self._writing_since = monotonic()
        with contextlib.suppress(Exception):
            self._wire.simply(b"NOTIFY " + WAKE_CHANNEL.encode())
        self._writing_since = None

    def _connected(self) -> None:
        if self._writer is None or self._writer.closed:
            self._writing_since = None
            if self.is_given_up:
                raise Unreachable("PostgreSQL went away while the store was being closed", is_final=True)
            self.open_writer()
        self._writing_since = monotonic()

    def _alone(self, work: Work) -> tuple[Outcome, bool]:
        """Commits one unit; retries after a conflict with another process or a lost connection.

        On a retry, a unit that selects before it inserts finds the row that another process has inserted meanwhile.
        """
        import psycopg

        failure: psycopg.Error | None = None
        tries, give_up_at = 0, monotonic() + self.patience_s
        while tries < REPLAYS and (failure is None or monotonic() < give_up_at):
            self._connected()
            try:
                results, wake = self._transaction([work])
                return (results[0], None), wake
            except CommitUnknown as error:
                return (None, error), False
            except psycopg.errors.LockNotAvailable as error:
                failure = error
            except (
                psycopg.OperationalError,
                psycopg.errors.UniqueViolation,
                psycopg.errors.IdleInTransactionSessionTimeout,
                psycopg.errors.ReadOnlySqlTransaction,
            ) as error:
                failure, tries = error, tries + 1
                if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
                    self.close_writer()
                if tries > 1 and not isinstance(error, psycopg.errors.UniqueViolation):
                    sleep(min(FIRST_PAUSE_S * 2.0**tries, LONGEST_PAUSE_S))
            except psycopg.errors.InsufficientPrivilege as error:
                self._rollback()
                return (None, not_allowed(error)), False
            except Exception as error:  # noqa: BLE001 (handed to whoever waits for the unit)
                self._rollback()
                return (None, error), False
            self._rollback()
        if isinstance(failure, psycopg.errors.LockNotAvailable) and self._has_broken_off():
            return self._alone(work)
        if failure is None or isinstance(failure, psycopg.errors.UniqueViolation):
            return (None, failure), False
        is_locked = isinstance(failure, psycopg.errors.LockNotAvailable)
        fault = StoreUnavailable if is_locked else Unreachable
        return (None, fault(f"PostgreSQL did not take the change: {first_line(failure)}: try again")), False

    def _has_broken_off(self) -> bool:
        """Terminates connections of stalled processes that hold locks; returns whether there were any."""
        import psycopg

        try:
            self._connected()
            found = self._writer.execute(_BREAK_OFF, [APPLICATION, self.standstill_ms / 1000]).fetchall()
        except psycopg.Error:
            return False
        return bool(found)

    def _transaction(self, batch: Sequence[Work]) -> tuple[list[Any], bool]:
        import psycopg

        wire = self._wire
        assert wire is not None
        tx = PipelinedTx(wire, self.statements)
        results: list[Any] = []
        failure: Exception | None = None
        try:
            wire.enter()
            self._execute(tx, batch, results)
        except Exception as error:  # noqa: BLE001 (raised below, once nothing is on its way any more)
            failure = error
        try:
            wire.leave()
        except psycopg.Error as error:
            failure = failure or error
        if failure is not None:
            raise failure
        try:
            wire.simply(b"COMMIT")
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self.close_writer()
            raise CommitUnknown(f"PostgreSQL went away during a commit: {first_line(error)}") from error
        return results, tx.wake

    def _execute(self, tx: PipelinedTx, batch: Sequence[Work], results: list[Any]) -> None:
        tx.wire.send(b"BEGIN ISOLATION LEVEL READ COMMITTED")
        if (settings := self._in_transaction(tx.connection)) is not None:
            tx.wire.send(settings.encode())
        if all(is_relaxed(unit) for unit, _, _ in batch):
            tx.wire.send(b"SET LOCAL synchronous_commit = off")
        for unit, args, kwargs in batch:
            results.append(unit(tx, *args, **kwargs))
        tx.wire.settle()
        tx.verify()

    def _rollback(self) -> None:
        """Rolls back with libpq: psycopg would deallocate all prepared statements."""
        if self._wire is not None and not self._wire.roll_back():
            self.close_writer()


def check_encoding(connection: Any, *, is_new: bool) -> None:
    """Raises Unreachable for a database whose encoding cannot hold all characters."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding == ENCODING or (encoding == UNCONVERTED and not is_new):
        return
    other = f"make another with `CREATE DATABASE … ENCODING '{ENCODING}' TEMPLATE template0`"
    raise Unreachable(
        f"the database `{connection.info.dbname}` has the encoding {encoding}, in which not every character can be "
        f"written: {other if is_new else f'{MOVE}, {other}, and restore it there with `interlock db restore FILE`'}",
        is_final=True,
    )


class Unreachable(StoreUnavailable):
    """No connection can be made, or none that lasts: nothing was written, and retrying is safe.

    `is_final` if retrying would not help: the URL is wrong, or the server rejects the user.
    """

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        self.is_final, self.is_cut_off = is_final, not is_final
        super().__init__(message)


def not_allowed(error: BaseException) -> Unreachable:
    """The message of the error if the role lacks a privilege."""
    return Unreachable(f"PostgreSQL refuses it: {first_line(error)}: {RIGHTS}", is_final=True)


class CommitUnknown(StoreUnavailable):
    """The connection broke during the commit: the change may or may not have been made."""

    is_cut_off = True


def first_line(error: BaseException | None) -> str:
    """A driver's error on one line, without the connection string."""
    text = " ".join(str(error).split())
    return text[:300] or type(error).__name__
