"""A transaction as the doors see it: the same few verbs over SQLite and PostgreSQL.

No statement of any table lives here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlmodel import SQLModel

from interlock.core.errors import InterlockError
from interlock.core.telemetry import Fact
from interlock.store.statements import Statements
from interlock.store.wire import Wire

Params = Mapping[str, Any]
NONE: Params = {}
Ask = tuple[sa.Executable, Params]
"""A select with its parameters."""


ROWS_AT_ONCE = 8
"""Rows that one statement inserts on PostgreSQL."""

Unit = TypeVar("Unit", bound=Callable[..., Any])


def relaxed(unit: Unit) -> Unit:
    """Marks a unit whose loss in a power failure would be harmless, as its process would be gone too.

    Its commit does not wait for the disk; a kill of the process loses nothing all the same.
    """
    unit.relaxed = True  # type: ignore[attr-defined]
    return unit


def is_relaxed(unit: Callable[..., Any]) -> bool:
    """Whether `relaxed` marked it."""
    return getattr(unit, "relaxed", False)


def small(fn: Unit) -> Unit:
    """Marks a read of a few rows by their keys: on an embedded database it takes less than a change of threads."""
    fn.small = True  # type: ignore[attr-defined]
    return fn


class Observed:
    """A unit whose facts are told: it returns them beside its own result, those of its last try alone."""

    __slots__ = ("place", "relaxed", "unit")

    def __init__(self, unit: Callable[..., Any], place: str | None) -> None:
        self.unit, self.place, self.relaxed = unit, place, is_relaxed(unit)

    def __call__(self, tx: Tx, /, *args: Any, **kwargs: Any) -> tuple[Any, list[Fact]]:
        tx.place, tx.facts = self.place, []
        return self.unit(tx, *args, **kwargs), tx.facts


def observe(tx: Tx, kind: str, /, **fields: Any) -> None:
    """Has telemetry told of something once it is committed."""
    if tx.facts is not None:
        tx.facts.append(Fact(kind, fields))


class Tx(Protocol):
    """One unit of database work. Units are synchronous, pure database work, and may be run twice."""

    dialect: str
    """`sqlite` or `postgresql`."""
    wake: bool
    """Set by a unit that made work ready: waiting workers are told after the commit."""
    facts: list[Fact] | None
    """What telemetry is told of after the commit; None if nobody listens."""
    place: str | None
    """The traceparent of the run in which this happens, for runs that are posted here."""

    def run(self, core: sa.Executable, params: Params = NONE) -> None:
        """Executes; nobody needs the outcome."""

    def must(self, core: sa.Executable, params: Params, rows: int, error: InterlockError) -> None:
        """Executes; the unit fails with `error` unless exactly `rows` rows were touched.

        On PostgreSQL the count is looked at before the commit, not at once.
        """

    def must_see(self, core: sa.Executable, params: Params, error: InterlockError) -> None:
        """A select; the unit fails with `error` unless it finds exactly one row.

        On PostgreSQL that is looked at before the commit, not at once.
        """

    def stir(self, core: sa.Executable, params: Params) -> None:
        """Executes; where it touched a row, whoever waits for news is told after the commit.

        On PostgreSQL the count is looked at before the commit, not at once.
        """

    def count(self, core: sa.Executable, params: Params = NONE) -> int:
        """Executes and returns how many rows were touched (a round trip on PostgreSQL)."""

    def rows(self, core: sa.Executable, params: Params = NONE) -> list[Any]:
        """Named tuples of what a select or a returning clause gives."""

    def one(self, core: sa.Executable, params: Params = NONE) -> Any | None:
        """The first row, or None."""

    def ones(self, core: sa.Executable, many: Sequence[Params]) -> list[Any | None]:
        """The first row, or None, for each of several parameters (one round trip on PostgreSQL)."""

    def gather(self, asked: Sequence[Ask | None]) -> list[list[Any]]:
        """What several selects give (one round trip on PostgreSQL); nothing for None."""

    def add(self, model: type[SQLModel], /, **values: Any) -> None:
        """Inserts a row; columns left out take the model's defaults."""

    def add_new(self, model: type[SQLModel], /, **values: Any) -> None:
        """Inserts a row unless there is one with its key."""

    def add_many(self, model: type[SQLModel], rows: Iterable[Mapping[str, Any]], *, new: bool = False) -> None:
        """Inserts many rows of one model; `new` leaves out those whose key is there already."""


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

    def stir(self, core: sa.Executable, params: Params) -> None:
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
        self.stirred: list[Any] = []

    def _execute(self, core: sa.Executable, params: Params) -> tuple[Any, Any]:
        s = self.statements.of(core)
        return self.connection.execute(s.sql, s.bind(params), prepare=True), s

    def run(self, core: sa.Executable, params: Params = NONE) -> None:
        self._execute(core, params)

    def must(self, core: sa.Executable, params: Params, rows: int, error: InterlockError) -> None:
        self.checks.append((self._execute(core, params)[0], rows, error))

    def must_see(self, core: sa.Executable, params: Params, error: InterlockError) -> None:
        self.must(core, params, 1, error)

    def stir(self, core: sa.Executable, params: Params) -> None:
        self.stirred.append(self._execute(core, params)[0])

    def _heard(self, core: sa.Executable, params: Params) -> tuple[Any, Any]:
        """Executes and hears what came of it.

        INVARIANT: the server is told that nothing follows for now: only so it sees that a transaction stands still.
        """
        return self._execute(core, params)

    def count(self, core: sa.Executable, params: Params = NONE) -> int:
        return int(self._heard(core, params)[0].rowcount)

    def rows(self, core: sa.Executable, params: Params = NONE) -> list[Any]:
        cursor, s = self._heard(core, params)
        return [s.row(raw) for raw in cursor.fetchall()]

    def one(self, core: sa.Executable, params: Params = NONE) -> Any | None:
        cursor, s = self._heard(core, params)
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
        """Before the commit: sees what stirred, raises the error of the first `must` whose count was wrong."""
        self.wake = self.wake or any(cursor.rowcount > 0 for cursor in self.stirred)
        checks, self.checks = self.checks, []
        for cursor, rows, error in checks:
            if cursor.rowcount != rows:
                raise error


class PipelinedTx(PostgresTx):
    """Over a pipeline: what nobody has to hear of at once goes out with what somebody has."""

    def __init__(self, wire: Wire, statements: Statements) -> None:
        super().__init__(wire.connection, statements)
        self.wire = wire

    def over(self, wire: Wire) -> None:
        """Goes on over another connection."""
        self.wire, self.connection = wire, wire.connection

    def _execute(self, core: sa.Executable, params: Params) -> tuple[Any, Any]:
        s = self.statements.of(core)
        return self.wire.send(s.wired, s.bind(params)), s

    def _heard(self, core: sa.Executable, params: Params) -> tuple[Any, Any]:
        heard = self._execute(core, params)
        self.wire.settle()
        return heard

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
        """So many at once that a run writes its rows with one statement, few enough that each number is prepared."""
        s = self.statements.insert(model)
        made = [s.bind(row) for row in rows]
        for at in range(0, len(made), ROWS_AT_ONCE):
            some = made[at : at + ROWS_AT_ONCE]
            self.wire.send(s.wired_rows(len(some), unless_there=new), [value for row in some for value in row])
