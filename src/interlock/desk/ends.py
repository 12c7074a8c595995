"""Waits for runs to end or to stand still, with one look at a time for all who wait in this process.

What a run came to is for whoever waits to read; how a run comes to its end is the worker's job.
"""

import asyncio
import contextlib
from collections.abc import Callable
from time import monotonic
from typing import Any

from interlock.core.errors import InterlockError, NotFound
from interlock.core.values import ENDED_RUNS
from interlock.store import queues, traces
from interlock.store.engine import Store
from interlock.store.errors import StoreError, StoreGone

POLL_S = 0.25
"""How often is looked where nothing is heard of changes."""
REST_S = 0.005
"""Between two looks, however much is heard."""
MISSED_S = 1.0
"""How often runs are looked for that are there no more: their agent was removed, or another state was restored."""


def closed() -> InterlockError:
    """What is told to who still waits when the box is closed."""
    return InterlockError("the box was closed while a handle was awaited: open it again and ask for it")


class Ends:
    """Wakes who waits for a run. Lost connections are sat out.

    `check` raises what ended the worker of this process, if anything did; `told` is what those hear who wait when this
    is closed. With `or_waiting` a run that waits for a person wakes them too.
    """

    def __init__(
        self,
        store: Store,
        check: Callable[[], None],
        told: Callable[[], Exception] = closed,
        *,
        or_waiting: bool = False,
    ) -> None:
        self._store, self._check, self._told, self._or_waiting = store, check, told, or_waiting
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

        Raises as `news`.
        """
        with contextlib.suppress(StoreError):
            if (found := await self.row(run_id)).status in ENDED_RUNS:
                return found
        return await self.news(run_id)

    async def news(self, run_id: str) -> Any:
        """The next look at a run that finds it at its end; its row.

        Raises NotFound for a run that there is not, and what ended the worker of this process.
        """
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run_id, []).append(done)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="ends")
        try:
            return await done
        finally:
            self._forget(run_id, done)

    async def close(self) -> None:
        """Ends looking; who still waits is told so."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        self._fail(self._told())

    async def _look(self) -> None:
        news, missed_at = self._store.listener(), monotonic() + MISSED_S
        while self._waiting:
            try:
                for row in await self._store.read(queues.ended, list(self._waiting), or_waiting=self._or_waiting):
                    self._tell(row.id, row)
                if monotonic() >= missed_at:
                    for run_id in await self._store.read(queues.missing, list(self._waiting)):
                        self._tell(run_id, NotFound("run", run_id))
                    missed_at = monotonic() + MISSED_S
            except StoreGone as error:
                self._fail(error)
            except StoreError:
                await asyncio.sleep(POLL_S)
            except Exception as error:  # noqa: BLE001 (handed to whoever waits)
                self._fail(error)
            await asyncio.sleep(REST_S)
            await news.wait(POLL_S)
            try:
                self._check()
            except Exception as error:  # noqa: BLE001 (handed to whoever waits)
                self._fail(error)

    def _tell(self, run_id: str, what: Any) -> None:
        for done in self._waiting.pop(run_id, ()):
            if not done.done():
                done.set_exception(what) if isinstance(what, Exception) else done.set_result(what)

    def _fail(self, error: Exception) -> None:
        for run_id in list(self._waiting):
            self._tell(run_id, error)

    def _forget(self, run_id: str, done: "asyncio.Future[Any]") -> None:
        others = [each for each in self._waiting.get(run_id, ()) if each is not done]
        if others:
            self._waiting[run_id] = others
        else:
            self._waiting.pop(run_id, None)
