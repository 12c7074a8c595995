"""Handles: what `post` returns, to be awaited for the result of a message.

How the end of a run is noticed is in `desk.events.run_ends`.
"""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from interlock.agents.running import current
from interlock.core.errors import InterlockError, Refused
from interlock.desk.events.run_ends import RunWatcher
from interlock.desk.reading.views import dollars

CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a message that was handled."""

    run_id: str
    text: str
    """The agent's final answer."""
    stop_reason: str
    steps: int
    """Model calls."""
    cost_usd: float


class RunFailed(InterlockError):
    """A message was not handled: its run failed, was cancelled, or is a dead letter (`stop_reason`)."""

    def __init__(self, run_id: str, status: str, stop_reason: str, error: str | None) -> None:
        self.run_id, self.status, self.stop_reason, self.error = run_id, status, stop_reason, error
        why = f": {error}" if error else ""
        super().__init__(f"run `{run_id}` {self._what()} ({stop_reason}){why}: see `interlock trace {run_id}`")

    def _what(self) -> str:
        return "was cancelled" if self.status == "cancelled" else "failed"


class QueueCleared(RunFailed):
    """A message was rejected before anybody began with it: its agent's queue was cleared."""

    def _what(self) -> str:
        return "was rejected"


class Handle:
    """A posted message. `await` it for its `RunResult`, whichever process handles it.

    While a call of its run is held for a person, it keeps waiting. It can be awaited any number of times.
    """

    def __init__(self, run_id: str, ends: RunWatcher, execute: Callable[[], Awaitable[object]] | None) -> None:
        self.run_id = run_id
        self._ends, self._execute = ends, execute

    def __repr__(self) -> str:
        return f"Handle({self.run_id!r})"

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self.result().__await__()

    async def result(self) -> RunResult:
        """The same as awaiting it.

        Raises QueueCleared or RunFailed if the message was not handled; Refused within a run, since the two could
        block each other; NotFound for an unknown run; and what ended the worker of this process. Source: row E6.
        """
        if (inside := current.RUN.get()) is not None:
            raise Refused(
                f"run `{inside}` cannot wait for run `{self.run_id}`: both could wait for ever, "
                "so let the run end and take up the result in another one"
            )
        if self._execute is not None:
            await self._execute()
        return _judged(await self._ends.of(self.run_id))

    async def status(self) -> str:
        """The state of its run: created, running, waiting, completed, failed or cancelled.

        Raises NotFound for an unknown run.
        """
        return str((await self._ends.row(self.run_id)).status)


def _judged(row: Any) -> RunResult:
    if row.status == "completed":
        return RunResult(row.id, row.result or "", row.stop_reason, row.step_count, dollars(row.cost_microusd))
    kind = QueueCleared if row.stop_reason == CLEARED else RunFailed
    raise kind(row.id, row.status, row.stop_reason or row.status, row.error)
