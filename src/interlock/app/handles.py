"""Handles: what posting a message gives, to be awaited until the message has been handled.

How a run comes to its end is the worker's matter; one look for all handles of a process is made here.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from time import monotonic
from typing import Any

from interlock.agents import current
from interlock.core.errors import InterlockError, NotFound, Refused
from interlock.desk.views import dollars
from interlock.store import queues, traces
from interlock.store.engine import Store
from interlock.store.errors import StoreError, StoreGone

POLL_S = 0.25
"""How often the ends of runs are looked for when nothing is heard of them."""
REST_S = 0.01
"""Between two looks, however much is heard."""
MISSED_S = 1.0
"""How often runs are looked for that are there no more: their agent was removed, or another state was restored."""
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

    def __init__(self, run_id: str, ends: "Ends", execute: Callable[[], Awaitable[object]] | None) -> None:
        self.run_id = run_id
        self._ends, self._execute = ends, execute

    def __repr__(self) -> str:
        return f"Handle({self.run_id!r})"

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self.result().__await__()

    async def result(self) -> RunResult:
        """The same as awaiting it.

        Raises QueueCleared or RunFailed where the message was not handled, Refused within a run (which would keep
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


class Ends:
    """Waits for the ends of runs, with one look at a time for all who wait. Lost connections are sat out."""

    def __init__(self, store: Store, check: Callable[[], None]) -> None:
        self._store, self._check = store, check
        self._waiting: dict[str, list[asyncio.Future[Any]]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def row(self, run_id: str) -> Any:
        """A run as it stands.

        Raises NotFound.
        """
        if (found := await self._store.read(traces.run, run_id)) is None:
            raise NotFound("run", run_id)
        return found

    async def of(self, run_id: str) -> Any:
        """The row of a run once it has ended.

        Raises NotFound, and what ended the worker of this process.
        """
        with contextlib.suppress(StoreError):
            if (found := await self.row(run_id)).status in queues.ENDED:
                return found
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run_id, []).append(done)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="handles")
        try:
            return await done
        finally:
            self._forget(run_id, done)

    async def close(self) -> None:
        """Ends looking; who still waits is told that the box is closed."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        self._tell_all(InterlockError("the box was closed while a handle was awaited: open it again and ask for it"))

    def _forget(self, run_id: str, done: "asyncio.Future[Any]") -> None:
        others = [each for each in self._waiting.get(run_id, ()) if each is not done]
        if others:
            self._waiting[run_id] = others
        else:
            self._waiting.pop(run_id, None)

    async def _look(self) -> None:
        news, missed_at = self._store.listener(), monotonic() + MISSED_S
        while self._waiting:
            try:
                for row in await self._store.read(queues.ended, list(self._waiting)):
                    for done in self._waiting.pop(row.id, ()):
                        if not done.done():
                            done.set_result(row)
                if monotonic() >= missed_at:
                    await self._miss()
                    missed_at = monotonic() + MISSED_S
            except StoreGone as error:
                self._tell_all(error)
            except StoreError:
                await asyncio.sleep(POLL_S)
            except Exception as error:  # noqa: BLE001 (handed to whoever waits)
                self._tell_all(error)
            await asyncio.sleep(REST_S)
            await news.wait(POLL_S)
            try:
                self._check()
            except Exception as error:  # noqa: BLE001 (handed to whoever waits)
                self._tell_all(error)

    async def _miss(self) -> None:
        """Tells who waits for a run that is there no more, so that nobody waits for ever."""
        for run_id in await self._store.read(queues.missing, list(self._waiting)):
            for done in self._waiting.pop(run_id, ()):
                if not done.done():
                    done.set_exception(NotFound("run", run_id))

    def _tell_all(self, error: BaseException) -> None:
        waiting, self._waiting = self._waiting, {}
        for done in (each for all_of_one in waiting.values() for each in all_of_one):
            if not done.done():
                done.set_exception(error)
