"""Handles: what posting a message gives, to be awaited until the message has been handled.

How a run comes to its end is the worker's job, and how that is noticed `desk.ends`'s.
"""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from interlock.agents import current
from interlock.core.errors import InterlockError, Refused
from interlock.desk.ends import Ends
from interlock.desk.views import dollars

CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a message that was handled."""

    run_id: str
    text: str
    """The agent's last words."""
    stop_reason: str
    steps: int
    """Model calls."""
    cost_usd: float


class RunFailed(InterlockError):
    """A message was not handled: its run failed, was cancelled, or is a dead letter (`stop_reason`)."""

    def __init__(self, run_id: str, status: str, stop_reason: str, error: str | None) -> None:
        self.run_id, self.status, self.stop_reason, self.error = run_id, status, stop_reason, error
        why = f": {error}" if error else ""
        super().__init__(f"run `{run_id}` {self._what()} ({stop_reason}){why}: look with `interlock trace {run_id}`")

    def _what(self) -> str:
        return "was cancelled" if self.status == "cancelled" else "failed"


class QueueCleared(RunFailed):
    """A message was rejected before anybody began with it: its agent's queue was cleared."""

    def _what(self) -> str:
        return "was rejected"


class Handle:
    """A message on its way. `await` it for a `RunResult` once it has been handled, here or in another process.

    While a call of its run is held for a person, it waits. It can be awaited any number of times.
    """

    def __init__(self, run_id: str, ends: Ends, execute: Callable[[], Awaitable[object]] | None) -> None:
        self.run_id = run_id
        self._ends, self._execute = ends, execute

    def __repr__(self) -> str:
        return f"Handle({self.run_id!r})"

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self.result().__await__()

    async def result(self) -> RunResult:
        """The same as awaiting it.

        Raises QueueCleared or RunFailed if the message was not handled, Refused within a run (which would keep
        from working what it waits for), NotFound for a run that there is not, and what ended the worker of this
        process. Source: row E6.
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
        """How its run stands now: created, running, waiting, completed, failed or cancelled.

        Raises NotFound.
        """
        return str((await self._ends.row(self.run_id)).status)


def _judged(row: Any) -> RunResult:
    if row.status == "completed":
        return RunResult(row.id, row.result or "", row.stop_reason, row.step_count, dollars(row.cost_microusd))
    kind = QueueCleared if row.stop_reason == CLEARED else RunFailed
    raise kind(row.id, row.status, row.stop_reason or row.status, row.error)
