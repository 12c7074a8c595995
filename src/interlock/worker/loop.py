"""The worker: claims runs, executes them concurrently, keeps its leases, and stops when it is told to.

Runs are dispatched by kind; `watchkeeping` finds dead workers.
"""

import asyncio
import contextlib
import logging
import os
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from interlock.agents.running import current, runner, steps
from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.agents.running.session import later
from interlock.agents.runtime import Runtime
from interlock.core.complaint import Complaint
from interlock.core.errors import InterlockError
from interlock.core.ids import new_id
from interlock.graph import coordinator
from interlock.oversight import checking
from interlock.store import squad
from interlock.store.drivers.postgres import CommitUnknown, Unreachable
from interlock.store.drivers.writer import Work
from interlock.store.errors import LeaseLost, StoreError
from interlock.store.mailboxes import controls, leases, mailbox, processes
from interlock.store.mailboxes.controls import Mode
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.tx import Tx, small
from interlock.worker import capabilities
from interlock.worker.fairness import Pace
from interlock.worker.watchkeeping import Watchkeeper, WorkerCallbacks

IDLE_POLL_S = 1.0
"""How often to look for delayed runs when nothing else happens, in seconds."""
HEED_S = 0.25
"""How often to look for controls while runs are executing, in seconds."""
STOP_S = 4.0
"""How long runs may take to hand themselves back when the process stops, in seconds."""
AT_ONCE_S = 1.5
"""The same if the process is to stop at once."""
STORE_RETRY_S = 1.0
CLAIMED_AT_ONCE = {"sqlite": 64, "postgresql": 16}
"""The most runs that begin in one round of the event loop: more would keep all others waiting. Runs that begin together
share commits. On PostgreSQL, where other workers claim too, a worker takes fewer."""
CROWD = 64
"""A worker for so many runs lets all of them proceed in one round of the event loop; one for more paces them."""
FEW = 16
"""Up to so many runs under way are not paced either."""
LONGEST_BACKOFF_S = 300.0
"""The longest wait before retrying a run whose end could not be recorded, in seconds."""
TRIES = 8
"""How often a run is tried whose end cannot be recorded, over about two minutes; then it is a dead letter."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Work:
    """A run that this worker executes."""

    kind: str
    task: asyncio.Task[None]
    interrupt: Interrupt


@dataclass(frozen=True, slots=True)
class HandedBack:
    """A run that a worker was executing when it stopped, and that continues elsewhere."""

    id: str
    kind: str
    persona: str | None


class Worker:
    """Executes the runs of a database in this process, `concurrency` at a time."""

    def __init__(self, runtime: Runtime, *, concurrency: int | None = None) -> None:
        self.runtime = runtime
        self.concurrency = concurrency or runtime.settings.concurrency
        self.id = new_id("wrk")
        self.handed_back: tuple[HandedBack, ...] = ()
        """The runs that were interrupted when it stopped, and wait for another worker or the next start."""
        self._able: frozenset[str] = frozenset()
        self._runs: dict[str, _Work] = {}
        self._stopping = self._draining = self._at_once = self._is_waiting = False
        self._is_registered = False
        self._wished = 0
        self._drained: list[str] = []
        self._pace = Pace(lambda: len(self._runs) > FEW)
        self._lacks = 0
        self._suspect_at = min(mailbox.SUSPECT, runtime.settings.crash_limit)
        self._keeper: Watchkeeper | None = None

    async def run(self) -> None:
        """Executes runs until `stop` is called; then hands running runs back, to continue at the next start.

        Raises StoreError if the database cannot be used at the start, StoreGone if it disappears.
        """
        self._keeper = await self._entered()
        beside = (
            asyncio.create_task(self._keeper.run(), name="watchkeeper"),
            asyncio.create_task(self._heed(), name="controls"),
        )
        try:
            with self.runtime.store.taking(self):
                while not self._stopping:
                    self.runtime.store.check()
                    try:
                        await self._round()
                    except StoreError:
                        await asyncio.sleep(STORE_RETRY_S)
        finally:
            for each in beside:
                each.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self._leave()

    def stop(self, *, at_once: bool = False) -> None:
        """Makes `run` end; with `at_once`, running tool calls get no time to finish."""
        self._stopping, self._at_once = True, at_once or self._at_once
        self.runtime.store.wake()

    async def drain(self) -> None:
        """Starts no more runs; returns once each running one has ended, or was handed back after its current step."""
        self._draining, self._drained = True, list(self._runs)
        for work in self._runs.values():
            work.interrupt.pause(wanted=True)
        while self._runs:
            await asyncio.wait([work.task for work in self._runs.values()])

    @property
    def in_hand(self) -> tuple[str, ...]:
        """The ids of the runs that it executes."""
        return tuple(self._runs)

    async def _entered(self) -> Watchkeeper:
        """Begins as soon as the database lets it: one whose connection is lost meanwhile is asked again."""
        complaint = Complaint(_log)
        while True:
            try:
                return await self._enter()
            except (Unreachable, CommitUnknown) as error:
                if error.is_final or self._stopping:
                    raise
                complaint.say("the worker cannot begin yet: %s", error)
                self.id = self.id if self._is_registered else new_id("wrk")
            await asyncio.sleep(STORE_RETRY_S)

    async def _enter(self) -> Watchkeeper:
        runtime = self.runtime
        self._able = await capabilities.detected(runtime.sandbox) | frozenset(runtime.settings.capabilities)
        if not self._is_registered:
            await self._register(self.id)
            self._is_registered = True
        keeper = Watchkeeper(runtime, self.id, WorkerCallbacks(self._lost, self._silent, lambda: self._runs))
        await keeper.take_back_from_the_dead(at_start=True)
        await keeper.end_orphans()
        live = await runtime.store.read(leases.running_runs)
        await runtime.workspaces.sweep(live)
        await runtime.store.write(leases.retry_now, runtime.clock.now())
        return keeper

    async def _register(self, worker_id: str) -> None:
        pid, now = os.getpid(), self.runtime.clock.now()
        process_started = processes.started(pid) or "unknown"
        self._lacks = await self.runtime.store.write(
            leases.register, worker_id, processes.host(), pid, process_started, now, able=self._able,
            concurrency=self.concurrency, version=version("interlock"),
        )  # fmt: skip

    async def _round(self) -> None:
        store = self.runtime.store
        await self._heed_controls()
        if self._room and await self._is_worth_a_claim() and (most := self._room):
            claims = await store.write(mailbox.claim, *self._wish(most))
            for claim in claims:
                self._start(claim)
            if len(claims) == most and self._room:
                return
            if len(self._runs) < self.concurrency:
                await asyncio.sleep(0)
        if not self._stopping:
            self._is_waiting = True
            try:
                await store.wait_for_work(IDLE_POLL_S)
            finally:
                self._is_waiting = False

    @property
    def _room(self) -> int:
        """How many runs it may claim now."""
        at_once = CLAIMED_AT_ONCE[self.runtime.store.dialect]
        return min(self.concurrency - len(self._runs), at_once) if self._may_claim else 0

    def _wish(self, most: int) -> tuple[str, int, datetime, int, int]:
        return self.id, most, self.runtime.clock.now(), self._lacks, self._suspect_at

    def unit(self) -> Work | None:
        """A claim to run in the transaction that makes work ready, while this worker waits and has room; else None."""
        most = self._room if self._is_waiting else 0
        self._wished = most
        return (mailbox.claim, self._wish(most), {}) if most else None

    def took(self, found: list[Claim]) -> bool:
        """Starts the runs that a commit has claimed for it; whether they are all that was ready.

        False wakes the worker: there may be more work, or something else has happened, such as a control.
        """
        for claim in found:
            self._start(claim)
        return 0 < len(found) < self._wished

    async def _is_worth_a_claim(self) -> bool:
        """Whether something is ready. On PostgreSQL always True: a claim that finds nothing costs less than asking."""
        store = self.runtime.store
        if store.dialect == "postgresql":
            return True
        return await store.read(mailbox.has_ready, self.runtime.clock.now(), self._lacks)

    @property
    def _may_claim(self) -> bool:
        return not (self._draining or self._stopping or self._keeper is None or self._keeper.is_silent)

    def _start(self, claim: Claim) -> None:
        interrupt = Interrupt()
        if self._draining:
            self._drained.append(claim.run.id)
            interrupt.pause(wanted=True)
        work = self._work(claim, interrupt)
        paced = work if self.concurrency <= CROWD else self._pace.keep(work)
        task = asyncio.create_task(paced, name=f"run {claim.run.id}")
        self._runs[claim.run.id] = _Work(claim.run.kind, task, interrupt)
        task.add_done_callback(lambda ended: self._ended(claim.run.id, ended))

    def _ended(self, run_id: str, ended: "asyncio.Task[None]") -> None:
        found = self._runs.get(run_id)
        if found is not None and found.task is ended:
            del self._runs[run_id]
        self.runtime.store.wake()

    async def _work(self, claim: Claim, interrupt: Interrupt) -> None:
        interrupt.has_begun = True
        current.RUN.set(claim.run.id)
        try:
            if claim.run.kind == "mission":
                if interrupt.reason is None:
                    await coordinator.handle(self.runtime, claim)
            elif claim.run.kind == checking.KIND:
                await checking.handle(self.runtime, claim, interrupt)
            else:
                await runner.handle(self.runtime, claim, interrupt)
        except Exception as error:  # noqa: BLE001 (a run never ends its worker: row E5)
            _log.warning("run %s could not be recorded: %s", claim.run.id, error)
            if not isinstance(error, InterlockError):
                self.runtime.telemetry.failed(error)
            await self._give_back(claim, error)

    async def _give_back(self, claim: Claim, error: Exception) -> None:
        """Puts a run back whose end could not be recorded, as soon as the store accepts it.

        A run that fails like this again and again, although the store works, becomes a dead letter.
        """
        while not self._stopping:
            try:
                await self.runtime.store.write(_put_back, claim, error, self.runtime.clock.now())
                return
            except LeaseLost:
                return
            except StoreError:
                await asyncio.sleep(STORE_RETRY_S)

    async def _heed(self) -> None:
        """Looks for controls in a task of its own, so that nothing the worker waits for delays a stop."""
        complaint = Complaint(_log)
        while True:
            await asyncio.sleep(HEED_S)
            try:
                await self._heed_controls()
                complaint.over()
            except StoreError as error:
                complaint.say("controls cannot be looked for: %s", error)

    async def _heed_controls(self) -> None:
        """Applies people's controls to the running runs. A coordinator's own step calls nothing, and ends by itself.

        Source: row I2.
        """
        if not self._runs:
            return
        mode, asked = await self.runtime.store.read(_orders, self.id)
        for run_id, work in list(self._runs.items()):
            control = asked.get(run_id)
            work.interrupt.pause(wanted=self._draining or mode is Mode.PAUSED or control == "pause")
            if control == "cancel":
                self._interrupt(run_id, Interruption.CONTROL)
            elif (mode is Mode.STOPPED or control == "stop") and work.kind != "mission":
                self._interrupt(run_id, Interruption.STOP)

    def _interrupt(self, run_id: str, reason: Interruption) -> None:
        found = self._runs.get(run_id)
        if found is not None and found.interrupt.reason is None:
            found.interrupt.reason = reason
            if found.interrupt.has_begun:
                found.task.cancel()

    async def _lost(self) -> str:
        """Another worker has declared this one dead: its runs belong to others, and it continues under a new id."""
        for run_id in list(self._runs):
            self._interrupt(run_id, Interruption.SHUTDOWN)
        fresh = new_id("wrk")
        await self._register(fresh)
        self.id = fresh
        return fresh

    def _silent(self) -> None:
        """It has not got a heartbeat through for too long: it drops its runs, since others may be given them.

        Source: row E10.
        """
        if self._runs:
            _log.warning("this worker cannot be heard: it lets go of its %d runs", len(self._runs))
        for run_id in list(self._runs):
            self._interrupt(run_id, Interruption.SILENCE)

    async def _leave(self) -> None:
        held = {run_id: work.task for run_id, work in self._runs.items()}
        for run_id in held:
            self._interrupt(run_id, Interruption.STOP if self._at_once else Interruption.SHUTDOWN)
        if held:
            await asyncio.wait(held.values(), timeout=AT_ONCE_S if self._at_once else STOP_S)
        with contextlib.suppress(StoreError):
            await self.runtime.store.write(leases.leave, self.id, self.runtime.clock.now())
            self.handed_back = await self.runtime.store.read(_handed_back, (*self._drained, *held))


def _put_back(tx: Tx, claim: Claim, error: Exception, now: datetime) -> None:
    """Puts a run back to be tried later; an unusable database does not count against the run."""
    reason, faults = f"{type(error).__name__}: {error}", claim.run.crashes
    if isinstance(error, StoreError):
        due_at = later(now, min(2.0**claim.run.attempt, LONGEST_BACKOFF_S))
        steps.hand_back(tx, claim, now, open_microusd=None, due_at=due_at, error=str(error), failed=True)
    elif faults + 1 >= TRIES:
        leases.set_aside(tx, claim, f"{faults + 1} tries in a row came to nothing, the last by {reason}", now)
    else:
        due_at = later(now, 2.0**faults)
        steps.hand_back(tx, claim, now, open_microusd=None, due_at=due_at, error=reason, failed=True)
        leases.count_fault(tx, claim.run.id)


def _handed_back(tx: Tx, run_ids: tuple[str, ...]) -> tuple[HandedBack, ...]:
    rows = [row for row in leases.fates(tx, frozenset(run_ids)) if row.status == "created"] if run_ids else []
    names = squad.names(tx, [row.agent_id for row in rows])
    return tuple(HandedBack(row.id, row.kind, names.get(row.agent_id)) for row in rows)


@small
def _orders(tx: Tx, worker_id: str) -> tuple[Mode, dict[str, str]]:
    """The mode of the squad, and the controls of this worker's runs by id."""
    return controls.mode(tx), {row.id: row.control for row in leases.controlled(tx, worker_id)}
