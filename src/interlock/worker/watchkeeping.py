"""What a worker does beside its runs: its own beat, an eye on other workers, and waits that come to their end.

How a wait ends is `oversight.waiting`'s matter.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from interlock.agents.context import Runtime
from interlock.oversight import waiting
from interlock.store import leases, processes

ROUND_S = 5.0
_log = logging.getLogger(__name__)


class Watchkeeper:
    """Runs beside a worker until it is cancelled.

    A worker of another machine is dead when its beat has not changed for `reassign_s` on this process's monotonic
    clock, so that no clock's jump can kill it. One of this machine is dead when its process is. `lost` is called where
    this worker itself was taken for dead, and gives the id under which it goes on.
    """

    def __init__(self, runtime: Runtime, worker_id: str, lost: Callable[[], Awaitable[str]]) -> None:
        self.runtime, self.worker_id, self.lost = runtime, worker_id, lost
        self._seen: dict[str, tuple[int, float]] = {}
        self._beaten_at = runtime.clock.monotonic()

    async def run(self) -> None:
        """Keeps watch until it is cancelled."""
        while True:
            await asyncio.sleep(ROUND_S)
            await self.look()

    async def look(self) -> None:
        """One round. What fails is tried again in the next one, and keeps nothing else from being done."""
        for duty in (self._beat, self.take_back_from_the_dead, self._end_waits):
            try:
                await duty()
            except Exception as error:  # noqa: BLE001 (a worker without a beat loses its runs)
                _log.warning("watchkeeping failed: %s", error)

    async def _beat(self) -> None:
        now = self.runtime.clock.monotonic()
        if now - self._beaten_at < self.runtime.settings.times.heartbeat_s:
            return
        self._beaten_at = now
        if not await self.runtime.store.write(leases.beat, self.worker_id, self.runtime.clock.now()):
            self.worker_id = await self.lost()

    async def _end_waits(self) -> None:
        await waiting.sweep(self.runtime)

    async def take_back_from_the_dead(self, *, at_start: bool = False) -> list[str]:
        """Puts the runs of dead workers back into their queues; returns the workers' ids."""
        gone = []
        for worker in await self.runtime.store.read(leases.live):
            if worker.id != self.worker_id and self._is_dead(worker, at_start):
                await self.runtime.store.write(leases.take_back, worker.id, self.runtime.clock.now())
                gone.append(worker.id)
        return gone

    def _is_dead(self, worker: "leases.LiveWorker", at_start: bool) -> bool:
        if at_start and self.runtime.settings.is_embedded:
            return True
        if worker.host == processes.host():
            return processes.started(worker.pid) != worker.process_started
        now = self.runtime.clock.monotonic()
        beat, since = self._seen.get(worker.id, (worker.beat, now))
        if beat != worker.beat:
            beat, since = worker.beat, now
        self._seen[worker.id] = (beat, since)
        return now - since > self.runtime.settings.times.reassign_s
