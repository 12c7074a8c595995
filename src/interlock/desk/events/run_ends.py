"""Waits for runs to end or to park, with one shared query for all waiters of this process."""

import asyncio
import contextlib
from collections.abc import Callable
from time import monotonic
from typing import Any

from interlock.core.errors import InterlockError, NotFound
from interlock.core.values import ENDED_RUNS
from interlock.store.engine import Store
from interlock.store.errors import StoreError, StoreGone
from interlock.store.mailboxes import queues
from interlock.store.runs import traces

POLL_S = 0.25
"""The poll interval if no change is notified."""
REST_S = 0.005
"""The minimum time between two queries."""
MISSED_S = 1.0
"""How often to check for runs that no longer exist, as after a restore."""


def closed_error() -> InterlockError:
    """The error for pending waits when the box is closed."""
    return InterlockError("the box was closed while a handle was awaited: open it again and ask for it")


class RunWatcher:
    """Waits for runs. Survives lost connections.

    `check` raises the error that ended this process's worker, if any; `on_close` makes the error for pending waits when
    this is closed. With `or_waiting`, a run that waits for a person counts as well.
    """

    def __init__(
        self,
        store: Store,
        check: Callable[[], None],
        on_close: Callable[[], Exception] = closed_error,
        *,
        or_waiting: bool = False,
    ) -> None:
        self._store, self._check, self._on_close, self._or_waiting = store, check, on_close, or_waiting
        self._waiting: dict[str, list[asyncio.Future[Any]]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def row(self, run_id: str) -> Any:
        """The current row of a run.

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
        """The row of a run, once a query finds that it has ended; queries at least once.

        Raises NotFound for an unknown run, and the error that ended this process's worker.
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
        """Stops waiting; pending waits fail."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        self._fail(self._on_close())

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
