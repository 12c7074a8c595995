"""The transaction interface of the store's functions: the same few methods over SQLite and PostgreSQL.

Contains no statements about any table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlmodel import SQLModel

from interlock.core.errors import InterlockError
from interlock.core.telemetry import Fact
from interlock.store.drivers.statements import Statements
from interlock.store.drivers.wire import Wire

Params = Mapping[str, Any]
NONE: Params = {}
Ask = tuple[sa.Executable, Params]
"""A select with its parameters."""


ROWS_AT_ONCE = 8
"""The maximum number of rows per insert statement on PostgreSQL."""

Unit = TypeVar("Unit", bound=Callable[..., Any])


def relaxed(unit: Unit) -> Unit:
    """Marks a unit whose loss in a power failure would be harmless, since its process would be gone too.

    Its commit does not wait for the disk; killing the process still loses nothing.
    """
    unit.relaxed = True  # type: ignore[attr-defined]
    return unit


def is_relaxed(unit: Callable[..., Any]) -> bool:
    """Whether a unit is marked by `relaxed`."""
    return getattr(unit, "relaxed", False)


def small(fn: Unit) -> Unit:
    """Marks a read of a few rows by key: on an embedded database it is cheaper than a thread switch."""
    fn.small = True  # type: ignore[attr-defined]
    return fn


class Observed:
    """Wraps a unit to return its telemetry facts beside its result; only those of its last try."""

    __slots__ = ("place", "relaxed", "unit")

    def __init__(self, unit: Callable[..., Any], place: str | None) -> None:
        self.unit, self.place, self.relaxed = unit, place, is_relaxed(unit)

    def __call__(self, tx: Tx, /, *args: Any, **kwargs: Any) -> tuple[Any, list[Fact]]:
        tx.place, tx.facts = self.place, []
        return self.unit(tx, *args, **kwargs), tx.facts


def observe(tx: Tx, kind: str, /, **fields: Any) -> None:
    """Reports a fact to telemetry once the transaction is committed."""
    if tx.facts is not None:
        tx.facts.append(Fact(kind, fields))


class Tx(Protocol):
    """The transaction of one unit of work. Units are synchronous, do only database work, and may be retried."""

    dialect: str
    """`sqlite` or `postgresql`."""
    wake: bool
    """Set by a unit that made work ready: waiting workers are notified after the commit."""
    facts: list[Fact] | None
    """The facts for telemetry after the commit; None if it is disabled."""
    place: str | None
    """The traceparent of the run in which this happens, for runs that are posted here."""

    def run(self, core: sa.Executable, params: Params = NONE) -> None:
        """Executes a statement; the outcome is not needed."""

    def must(self, core: sa.Executable, params: Params, rows: int, error: InterlockError) -> None:
        """Executes a statement; the unit fails with `error` unless exactly `rows` rows were affected.

        On PostgreSQL, checked before the commit, not at once.
        """

    def must_see(self, core: sa.Executable, params: Params, error: InterlockError) -> None:
        """Executes a select; the unit fails with `error` unless it finds exactly one row.

        On PostgreSQL, checked before the commit, not at once.
        """

    def run_and_wake(self, core: sa.Executable, params: Params) -> None:
        """Executes a statement; if it affected a row, waiting workers are notified after the commit.

        On PostgreSQL, the count is read before the commit, not at once.
        """

    def count(self, core: sa.Executable, params: Params = NONE) -> int:
        """Executes a statement; returns the number of affected rows (a round trip on PostgreSQL)."""

    def rows(self, core: sa.Executable, params: Params = NONE) -> list[Any]:
        """The rows of a select or a RETURNING clause, as named tuples."""

    def one(self, core: sa.Executable, params: Params = NONE) -> Any | None:
        """The first row, or None."""

    def ones(self, core: sa.Executable, many: Sequence[Params]) -> list[Any | None]:
        """The first row, or None, for each of several parameter sets (one round trip on PostgreSQL)."""

    def gather(self, asked: Sequence[Ask | None]) -> list[list[Any]]:
        """The rows of several selects (one round trip on PostgreSQL); an empty list for None."""

    def add(self, model: type[SQLModel], /, **values: Any) -> None:
        """Inserts a row; omitted columns take the model's defaults."""

    def add_new(self, model: type[SQLModel], /, **values: Any) -> None:
        """Inserts a row unless one with its key exists."""

    def add_many(self, model: type[SQLModel], rows: Iterable[Mapping[str, Any]], *, new: bool = False) -> None:
        """Inserts many rows of one model; `new` skips those whose keys exist."""


class SqliteTx:
    """Over a `sqlite3` connection in autocommit mode."""

    dialect = "sqlite"
    facts: list[Fact] | None = None
    place: str | None = None

    def __init__(self, connection: sqlite3.Connection, statements: Statements) -> None:
        self.connection, self.statements, self.wake = connection, statements, False

    def run(self, core: sa.Executable, params: Params = NONE) -> None:
        s = self.statements.of(core)
        self.connection.execute(s.sql, s.bind(params))

    def must(self, core: sa.Executable, params: Params, rows: int, error: InterlockError) -> None:
        if self.count(core, params) != rows:
            raise error

    def must_see(self, core: sa.Executable, params: Params, error: InterlockError) -> None:
        s = self.statements.of(core)
        if len(self.connection.execute(s.sql, s.bind(params)).fetchall()) != 1:
            raise error

    def run_and_wake(self, core: sa.Executable, params: Params) -> None:
        self.wake = self.count(core, params) > 0 or self.wake

    def count(self, core: sa.Executable, params: Params = NONE) -> int:
        s = self.statements.of(core)
        return self.connection.execute(s.sql, s.bind(params)).rowcount

    def rows(self, core: sa.Executable, params: Params = NONE) -> list[Any]:
        s = self.statements.of(core)
        return [s.row(raw) for raw in self.connection.execute(s.sql, s.bind(params)).fetchall()]

    def one(self, core: sa.Executable, params: Params = NONE) -> Any | None:
        s = self.statements.of(core)
        raw = self.connection.execute(s.sql, s.bind(params)).fetchone()
        return None if raw is None else s.row(raw)

    def ones(self, core: sa.Executable, many: Sequence[Params]) -> list[Any | None]:
        return [self.one(core, params) for params in many]

    def gather(self, asked: Sequence[Ask | None]) -> list[list[Any]]:
        return [self.rows(*ask) if ask is not None else [] for ask in asked]

    def add(self, model: type[SQLModel], /, **values: Any) -> None:
        s = self.statements.insert(model)
        self.connection.execute(s.sql, s.bind(values))

    def add_new(self, model: type[SQLModel], /, **values: Any) -> None:
        s = self.statements.insert(model)
        self.connection.execute(s.unless_there, s.bind(values))

    def add_many(self, model: type[SQLModel], rows: Iterable[Mapping[str, Any]], *, new: bool = False) -> None:
        s = self.statements.insert(model)
        self.connection.executemany(s.unless_there if new else s.sql, [s.bind(r) for r in rows])


class PostgresTx:
    """Over a psycopg connection, each statement by itself."""

    dialect = "postgresql"
    facts: list[Fact] | None = None
    place: str | None = None

    def __init__(self, connection: Any, statements: Statements) -> None:
        self.connection, self.statements, self.wake = connection, statements, False
        self.checks: list[tuple[Any, int, InterlockError]] = []
        self.waking: list[Any] = []

    def _execute(self, core: sa.Executable, params: Params) -> tuple[Any, Any]:
        s = self.statements.of(core)
        return self.connection.execute(s.sql, s.bind(params), prepare=True), s

    def run(self, core: sa.Executable, params: Params = NONE) -> None:
        self._execute(core, params)

    def must(self, core: sa.Executable, params: Params, rows: int, error: InterlockError) -> None:
        self.checks.append((self._execute(core, params)[0], rows, error))

    def must_see(self, core: sa.Executable, params: Params, error: InterlockError) -> None:
        self.must(core, params, 1, error)

    def run_and_wake(self, core: sa.Executable, params: Params) -> None:
        self.waking.append(self._execute(core, params)[0])

    def _result_of(self, core: sa.Executable, params: Params) -> tuple[Any, Any]:
        """Executes a statement and reads its result.

        INVARIANT: the pipeline is synchronised, since only then can the server detect a stalled transaction.
        """
        return self._execute(core, params)

    def count(self, core: sa.Executable, params: Params = NONE) -> int:
        return int(self._result_of(core, params)[0].rowcount)

    def rows(self, core: sa.Executable, params: Params = NONE) -> list[Any]:
        cursor, s = self._result_of(core, params)
        return [s.row(raw) for raw in cursor.fetchall()]

    def one(self, core: sa.Executable, params: Params = NONE) -> Any | None:
        cursor, s = self._result_of(core, params)
        raw = cursor.fetchone()
        return None if raw is None else s.row(raw)

    def ones(self, core: sa.Executable, many: Sequence[Params]) -> list[Any | None]:
        return [self.one(core, params) for params in many]

    def gather(self, asked: Sequence[Ask | None]) -> list[list[Any]]:
        return [self.rows(*ask) if ask is not None else [] for ask in asked]

    def add(self, model: type[SQLModel], /, **values: Any) -> None:
        s = self.statements.insert(model)
        self.connection.execute(s.sql, s.bind(values), prepare=True)

    def add_new(self, model: type[SQLModel], /, **values: Any) -> None:
        s = self.statements.insert(model)
        self.connection.execute(s.unless_there, s.bind(values), prepare=True)

    def add_many(self, model: type[SQLModel], rows: Iterable[Mapping[str, Any]], *, new: bool = False) -> None:
        add = self.add_new if new else self.add
        for row in rows:
            add(model, **row)

    def verify(self) -> None:
        """Before the commit: evaluates each `run_and_wake`; raises the error of the first `must` with a wrong count."""
        self.wake = self.wake or any(cursor.rowcount > 0 for cursor in self.waking)
        checks, self.checks = self.checks, []
        for cursor, rows, error in checks:
            if cursor.rowcount != rows:
                raise error


class PipelinedTx(PostgresTx):
    """Over a pipeline: statements whose results are not needed at once are sent together with the next that are."""

    def __init__(self, wire: Wire, statements: Statements) -> None:
        super().__init__(wire.connection, statements)
        self.wire = wire

    def over(self, wire: Wire) -> None:
        """Continues over another connection."""
        self.wire, self.connection = wire, wire.connection

    def _execute(self, core: sa.Executable, params: Params) -> tuple[Any, Any]:
        s = self.statements.of(core)
        return self.wire.send(s.wired, s.bind(params)), s

    def _result_of(self, core: sa.Executable, params: Params) -> tuple[Any, Any]:
        result = self._execute(core, params)
        self.wire.settle()
        return result

    def ones(self, core: sa.Executable, many: Sequence[Params]) -> list[Any | None]:
        asked = [self._execute(core, params) for params in many]
        self.wire.settle()
        found = [(s, answer.fetchone()) for answer, s in asked]
        return [None if raw is None else s.row(raw) for s, raw in found]

    def gather(self, asked: Sequence[Ask | None]) -> list[list[Any]]:
        answers = [self._execute(*ask) if ask is not None else None for ask in asked]
        self.wire.settle()
        return [[found[1].row(raw) for raw in found[0].fetchall()] if found else [] for found in answers]

    def add(self, model: type[SQLModel], /, **values: Any) -> None:
        s = self.statements.insert(model)
        self.wire.send(s.wired, s.bind(values))

    def add_new(self, model: type[SQLModel], /, **values: Any) -> None:
        s = self.statements.insert(model)
        self.wire.send(s.wired_unless_there, s.bind(values))

    def add_many(self, model: type[SQLModel], rows: Iterable[Mapping[str, Any]], *, new: bool = False) -> None:
        """Inserts in batches: large enough for a run's rows, few enough sizes that each is a prepared statement."""
        s = self.statements.insert(model)
        made = [s.bind(row) for row in rows]
        for at in range(0, len(made), ROWS_AT_ONCE):
            some = made[at : at + ROWS_AT_ONCE]
            self.wire.send(s.wired_rows(len(some), unless_there=new), [value for row in some for value in row])
