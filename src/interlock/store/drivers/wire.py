"""Pipelined statements over libpq, each prepared once per connection.

psycopg's cursors offer the same, at many times the Python overhead per statement, of which a run has dozens. Knows
nothing of the statements themselves.
"""

import select
from collections import deque
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from interlock.core.text import storable_json

PREPARED = b"interlock_%d"
MOST_PREPARED = 500
"""More than the store has; a limit, so that ad-hoc statements do not fill the server's memory."""
POLL_MS = 1_000


class Answer:
    """The result of a statement, available once its pipeline is settled."""

    __slots__ = ("_rows", "_wire", "name", "result")

    def __init__(self, wire: "Wire", name: bytes | None = None) -> None:
        self._wire, self.name = wire, name
        self.result: Any = None
        self._rows: deque[tuple[Any, ...]] | None = None

    @property
    def rowcount(self) -> int:
        """The number of rows affected or returned."""
        return int(self.result.command_tuples or 0)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Its rows."""
        return self._wire.rows_of(self.result)

    def fetchone(self) -> tuple[Any, ...] | None:
        """Its first row, or None."""
        rows = self.fetchall()
        return rows[0] if rows else None


class Wire:
    """A connection that is in pipeline mode between `enter` and `leave`; its psycopg object is not used meanwhile."""

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
        """Enters pipeline mode."""
        self._waiting.clear()
        self._libpq.enter_pipeline_mode()

    def leave(self) -> None:
        """Reads the outstanding results and leaves pipeline mode.

        Raises psycopg.Error for the first failure.
        """
        try:
            if self._waiting:
                self.settle()
        finally:
            if self._libpq.status == self._pq.ConnStatus.OK:
                self._libpq.exit_pipeline_mode()

    def roll_back(self) -> bool:
        """Rolls back the transaction; False if the connection is unusable."""
        if self._libpq.status != self._pq.ConnStatus.OK or self._libpq.pipeline_status != self._pq.PipelineStatus.OFF:
            return False
        if self._libpq.transaction_status == self._pq.TransactionStatus.IDLE:
            return True
        return bool(self._libpq.exec_(b"ROLLBACK").status == self._pq.ExecStatus.COMMAND_OK)

    def simply(self, sql: bytes) -> None:
        """Executes a single statement without parameters, outside a pipeline, and waits for it.

        Raises psycopg.Error for one that failed.
        """
        from psycopg import OperationalError, errors

        result = self._libpq.exec_(sql)
        if self._libpq.status == self._pq.ConnStatus.BAD:
            raise OperationalError(self._libpq.get_error_message() or "the connection is lost")
        if result.status != self._pq.ExecStatus.COMMAND_OK:
            raise errors.error_from_result(result, "utf-8")

    def send(self, sql: bytes, params: Sequence[Any] = ()) -> Answer:
        """Sends a statement with `$1` placeholders, whose types follow from casts or the context."""
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
        """Synchronises the pipeline and reads all results.

        Raises psycopg.Error for the first statement that failed; those after it were not executed.
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
        """The next result of the pipeline; None separates the results of statements."""
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
    """Converts `%s` placeholders to libpq's `$1`."""
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
