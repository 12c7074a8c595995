"""What a worker does beside its runs: its own beat, and an eye on processes of its machine that died.

Workers of other machines, and those that hang, are judged in `oversight.heartbeat`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from interlock.agents.context import Runtime
from interlock.store import leases, processes
from interlock.store.leases import LiveWorker

ROUND_S = 5.0
_log = logging.getLogger(__name__)


class Watchkeeper:
    """Runs beside a worker until it is cancelled.

    A worker of this machine is dead when its process is: its runs go on at once, at their places. `lost` is called
    where this worker itself was taken for dead, and gives the id under which it goes on.
    """

    def __init__(self, runtime: Runtime, worker_id: str, lost: Callable[[], Awaitable[str]]) -> None:
        self.runtime, self.worker_id, self.lost = runtime, worker_id, lost
        self._beaten_at = runtime.clock.monotonic()

    async def run(self) -> None:
        """Keeps watch until it is cancelled."""
        while True:
            await asyncio.sleep(min(ROUND_S, self.runtime.settings.times.heartbeat_s))
            await self.look()

    async def look(self) -> None:
        """One round. What fails is tried again in the next one, and keeps nothing else from being done."""
        for duty in (self._beat, self.take_back_from_the_dead):
            try:
                await duty()
            except Exception as error:  # noqa: BLE001 (a worker without a beat loses its runs)
                _log.warning("watchkeeping failed: %s", error)

    async def _beat(self) -> None:
        now = self.runtime.clock.monotonic()
        if now - self._beaten_at < self.runtime.settings.times.heartbeat_s:
            return
        if not await self.runtime.store.write(leases.beat, self.worker_id, self.runtime.clock.now()):
            self.worker_id = await self.lost()
        self._beaten_at = now

    async def take_back_from_the_dead(self, *, at_start: bool = False) -> list[str]:
        """Puts the runs of dead workers back into their queues; returns the workers' ids."""
        gone = []
        for worker in await self.runtime.store.read(leases.live):
            if worker.id != self.worker_id and self._is_dead(worker, at_start):
                now, limit = self.runtime.clock.now(), self.runtime.settings.crash_limit
                await self.runtime.store.write(leases.take_back, worker.id, now, crash_limit=limit)
                gone.append(worker.id)
        return gone

    def _is_dead(self, worker: LiveWorker, at_start: bool) -> bool:
        if at_start and self.runtime.settings.is_embedded:
            return True
        return processes.is_dead(worker.host, worker.pid, worker.process_started)
