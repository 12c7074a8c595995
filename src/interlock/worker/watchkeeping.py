"""A worker's background duties: its own heartbeat, and cleaning up after dead workers on its machine.

Workers on other machines, and those that hang, are handled by `oversight.heartbeat`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from interlock.agents.runtime import Runtime
from interlock.core.complaint import Complaint
from interlock.core.values import SYSTEM
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases, processes
from interlock.store.mailboxes.leases import LiveWorker
from interlock.tools import orphans
from interlock.tools.contract import CHILD_ENDED

ROUND_S = 5.0
GUARD_S = 1.0
SILENT_AT = 0.9
"""The fraction of `reassign_s` without a recorded heartbeat after which a worker's runs may soon be given to others."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerCallbacks:
    """Callbacks into the worker that the watchkeeper serves."""

    lost: Callable[[], Awaitable[str]]
    """Called when this worker has been declared dead; returns the id under which it continues."""
    silent: Callable[[], object] = lambda: None
    """Called repeatedly while no heartbeat has been recorded for so long that others may take the worker's runs."""
    in_hand: Callable[[], Collection[str]] = lambda: ()
    """The ids of the runs that the worker is executing."""


class Watchkeeper:
    """Runs beside a worker until it is cancelled.

    A worker on this machine is dead when its process is: its runs return to the heads of their queues at once, and
    child processes that it left behind are ended. A run leased to this worker that it is not executing is put back.
    """

    def __init__(self, runtime: Runtime, worker_id: str, callbacks: WorkerCallbacks) -> None:
        self.runtime, self.worker_id, self.callbacks = runtime, worker_id, callbacks
        self._beaten_at = runtime.clock.monotonic()
        self._missing: frozenset[tuple[str, int]] = frozenset()
        self._complaints = {duty: Complaint(_log) for duty in self._duties}

    async def run(self) -> None:
        """Runs until cancelled. A slow database does not delay the check that heartbeats get through."""
        guarding = asyncio.create_task(self._guard(), name="guard")
        try:
            while True:
                await asyncio.sleep(min(ROUND_S, self.runtime.settings.times.heartbeat_s))
                await self.look()
        finally:
            guarding.cancel()
            await asyncio.gather(guarding, return_exceptions=True)

    @property
    def is_silent(self) -> bool:
        """Whether others may soon declare this worker dead. Source: row E10, numbers, "Time"."""
        silent_s = self.runtime.clock.monotonic() - self._beaten_at
        return silent_s >= SILENT_AT * self.runtime.settings.times.reassign_s

    async def look(self) -> None:
        """Performs each duty once. One that fails is logged and tried again in the next round; the others still run."""
        for name, duty in self._duties.items():
            try:
                await duty(self)
                self._complaints[name].over()
            except Exception as error:  # noqa: BLE001 (a worker without a beat loses its runs)
                self._complaints[name].say("watchkeeping failed: %s: %s", name, error)

    async def _guard(self) -> None:
        """INVARIANT: a worker whose heartbeats do not get through drops its runs before others take them."""
        while True:
            await asyncio.sleep(min(GUARD_S, self.runtime.settings.times.reassign_s / 20))
            if self.is_silent:
                self.callbacks.silent()

    async def _beat(self) -> None:
        began = self.runtime.clock.monotonic()
        if began - self._beaten_at < self.runtime.settings.times.heartbeat_s:
            return
        if not await self.runtime.store.write(leases.beat, self.worker_id, self.runtime.clock.now()):
            self.worker_id = await self.callbacks.lost()
        self._beaten_at = began

    async def take_back_from_the_dead(self, *, at_start: bool = False) -> list[str]:
        """Puts the runs of dead workers on this machine back into their queues; returns the workers' ids."""
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

    async def put_back_what_is_lost(self) -> list[str]:
        """Puts back runs that are leased to this worker, but were not being executed at two consecutive checks.

        This happens after a claim whose commit was never acknowledged. Returns the ids of the runs.
        """
        rows = await self.runtime.store.read(leases.held, self.worker_id)
        mine = set(self.callbacks.in_hand())
        missing = {(row.id, row.fence): row for row in rows if row.id not in mine}
        lost = [row for key, row in missing.items() if key in self._missing]
        self._missing = frozenset(missing)
        for row in lost:
            if await self.runtime.store.write(leases.put_back, self.worker_id, row, self.runtime.clock.now()):
                _log.warning("run %s was this worker's and nobody worked on it: it is put back", row.id)
        return [row.id for row in lost]

    async def end_orphans(self) -> None:
        """Ends child processes that dead workers on this machine left behind, and records each in the audit log."""
        runtime = self.runtime
        for child in await orphans.end_orphans(runtime.settings.home):
            _log.warning("a child process of a dead worker was ended: %s of call %s", child.program, child.call_id)
            await runtime.store.write(
                audit.note, CHILD_ENDED, SYSTEM, runtime.clock.now(), project_id=runtime.settings.project,
                run_id=child.run_id, subject=child.call_id, program=child.program, pid=child.pid, orphan=True,
            )  # fmt: skip

    _duties: ClassVar[Mapping[str, Callable[["Watchkeeper"], Awaitable[object]]]] = {
        "beat": _beat,
        "the dead": take_back_from_the_dead,
        "lost runs": put_back_what_is_lost,
        "orphans": end_orphans,
    }
