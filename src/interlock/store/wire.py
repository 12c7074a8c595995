"""Statements on their way to PostgreSQL in a pipeline, each prepared once a connection, at the level of libpq.

psycopg's cursors do the same with many times the work in Python for each statement, which a store has dozens of in a
run. What the statements are is not known here.
"""

import select
from collections import deque
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from interlock.core.text import storable_json

PREPARED, UNNAMED = b"interlock_%d", b""
MOST_PREPARED = 500
"""More than the store has; what is put together for one question does not fill the server's memory."""
POLL_MS = 1_000


class Answer:
    """What came of a statement, once its pipeline is settled."""

    __slots__ = ("_rows", "_wire", "name", "result")

    def __init__(self, wire: "Wire", name: bytes | None = None) -> None:
        self._wire, self.name = wire, name
        self.result: Any = None
        self._rows: deque[tuple[Any, ...]] | None = None

    @property
    def rowcount(self) -> int:
        """How many rows it touched or found."""
        return int(self.result.command_tuples or 0)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Its rows."""
        return self._wire.rows_of(self.result)

    def fetchone(self) -> tuple[Any, ...] | None:
        """Its first row, or None."""
        rows = self.fetchall()
        return rows[0] if rows else None


class Wire:
    """One connection in pipeline mode between `enter` and `leave`; its psycopg object rests meanwhile."""

    def __init__(self, connection: Any, *, prepares: bool) -> None:
        from psycopg import pq
        from psycopg.adapt import Transformer

        self.connection, self.prepares, self._pq = connection, prepares, pq
        self._libpq = connection.pgconn
        self._loading = Transformer(connection)
        self._waiting: deque[Answer] = deque()
        self._names: dict[bytes, bytes] = {}
        self._made = 0
        self._poll = select.poll()
        self._poll.register(self._libpq.socket, select.POLLIN)

    def enter(self) -> None:
        """Begins a pipeline."""
        self._waiting.clear()
        self._libpq.enter_pipeline_mode()

    def leave(self) -> None:
        """Ends it, what is still on its way heard out.

        Raises psycopg.Error for what failed.
        """
        try:
            if self._waiting:
                self.settle()
        finally:
            if self._libpq.status == self._pq.ConnStatus.OK:
                self._libpq.exit_pipeline_mode()

    def roll_back(self) -> bool:
        """Ends the transaction with nothing changed; False if the connection is of no more use."""
        if self._libpq.status != self._pq.ConnStatus.OK or self._libpq.pipeline_status != self._pq.PipelineStatus.OFF:
            return False
        if self._libpq.transaction_status == self._pq.TransactionStatus.IDLE:
            return True
        return bool(self._libpq.exec_(b"ROLLBACK").status == self._pq.ExecStatus.COMMAND_OK)

    def simply(self, sql: bytes) -> None:
        """Executes a statement without parameters by itself, where no pipeline is open, and hears that it is done.

        Raises psycopg.Error for one that failed.
        """
        from psycopg import OperationalError, errors

        result = self._libpq.exec_(sql)
        if self._libpq.status == self._pq.ConnStatus.BAD:
            raise OperationalError(self._libpq.get_error_message() or "the connection is lost")
        if result.status != self._pq.ExecStatus.COMMAND_OK:
            raise errors.error_from_result(result, "utf-8")

    def send(self, sql: bytes, params: Sequence[Any] = ()) -> Answer:
        """Sends a statement with `$1` for its parameters, whose types it tells by casts or by where they stand."""
        values, formats = _on_wire(params)
        libpq = self._libpq
        name = self._names.get(sql)
        if name is None and (not self.prepares or len(self._names) >= MOST_PREPARED):
            libpq.send_query_params(sql, values, None, formats)
        else:
            if name is None:
                self._made += 1
                name = self._names[sql] = PREPARED % self._made
                libpq.send_prepare(name, sql)
                self._waiting.append(Answer(self, sql))
            libpq.send_query_prepared(name, values, formats)
        answer = Answer(self)
        self._waiting.append(answer)
        return answer

    def settle(self) -> None:
        """Hears what came of everything that was sent; the server is told that nothing follows for now.

        Raises psycopg.Error for the first that failed: the others after it were not executed.
        """
        from psycopg import errors

        self._libpq.pipeline_sync()
        failed = None
        while self._waiting:
            answer = self._waiting.popleft()
            answer.result = result = self._next()
            if result.status not in (self._pq.ExecStatus.COMMAND_OK, self._pq.ExecStatus.TUPLES_OK):
                if answer.name is not None:
                    self._names.pop(answer.name, None)
                if failed is None and result.status == self._pq.ExecStatus.FATAL_ERROR:
                    failed = errors.error_from_result(result, "utf-8")
        while self._next().status != self._pq.ExecStatus.PIPELINE_SYNC:
            continue
        if failed is not None:
            raise failed

    def rows_of(self, result: Any) -> list[tuple[Any, ...]]:
        """The rows of a result, as Python values."""
        self._loading.set_pgresult(result)
        rows: list[tuple[Any, ...]] = self._loading.load_rows(0, result.ntuples, tuple)
        return rows

    def _next(self) -> Any:
        """The next result of the pipeline; results of statements are told apart by a None between them."""
        from psycopg import OperationalError

        while True:
            pending = self._libpq.flush()
            while self._libpq.is_busy():
                self._wait(sending=bool(pending))
                self._libpq.consume_input()
                pending = self._libpq.flush() if pending else 0
            result = self._libpq.get_result()
            if self._libpq.status == self._pq.ConnStatus.BAD:
                raise OperationalError(self._libpq.get_error_message() or "the connection is lost")
            if result is not None:
                return result

    def _wait(self, *, sending: bool) -> None:
        wanted = select.POLLIN | (select.POLLOUT if sending else 0)
        self._poll.modify(self._libpq.socket, wanted)
        self._poll.poll(POLL_MS)


def dollars(sql: str) -> bytes:
    """A statement with `%s` for its parameters as libpq wants it."""
    head, *rest = sql.split("%s")
    numbered = head + "".join(f"${number}{piece}" for number, piece in enumerate(rest, 1))
    return numbered.replace("%%", "%").encode()


def _on_wire(params: Sequence[Any]) -> tuple[list[bytes | None], list[int] | None]:
    values: list[bytes | None] = []
    formats: list[int] | None = None
    for value in params:
        kind = type(value)
        if kind is str:
            values.append(value.encode())
        elif value is None:
            values.append(None)
        elif kind is int:
            values.append(b"%d" % value)
        elif kind is bool:
            values.append(b"t" if value else b"f")
        elif kind is datetime:
            values.append(value.isoformat().encode())
        elif kind is float:
            values.append(repr(value).encode())
        elif kind is bytes:
            formats = formats or [0] * len(params)
            formats[len(values)] = 1
            values.append(value)
        elif isinstance(value, str):
            values.append(str.encode(value))
        else:
            values.append(storable_json(value.obj).encode())
    return values, formats
