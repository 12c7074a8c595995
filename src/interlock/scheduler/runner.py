"""The scheduler: while this process leads, fires the background jobs; each firing is recorded before it starts.

What the jobs do is in `oversight`; the timing is in `timer`.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from interlock.agents.runtime import Runtime
from interlock.core.complaint import Complaint
from interlock.scheduler.fencing import FencedStore
from interlock.scheduler.jobs import Job, slot_at, standard_jobs
from interlock.scheduler.leadership import RENEW_S, Leadership
from interlock.store.auditing import audit
from interlock.store.duties import firings
from interlock.store.duties.leaders import LeadershipLost
from interlock.store.errors import StoreError, StoreGone, StoreUnavailable
from interlock.store.tx import Tx

if TYPE_CHECKING:
    from interlock.scheduler.timer import Timer

DUTY = "scheduler"
FAILED = "JOB_FAILED"
"""The kind of an alert about a job; the next firing that works settles it."""
STOP_S = 3.0
"""How long jobs may take to end when the process stops."""
NEARLY = 0.9
"""The fraction of a period that counts as a whole one, since timers are not exact."""
_log = logging.getLogger(__name__)


class Scheduler:
    """Fires the jobs of a database. Several processes may run one of these; exactly one of them leads."""

    def __init__(self, runtime: Runtime, jobs: Sequence[Job] | None = None) -> None:
        self.runtime = runtime
        self.jobs = tuple(standard_jobs(runtime.settings) if jobs is None else jobs)
        takeover_s = runtime.settings.times.leader_takeover_s
        self.leadership = Leadership(runtime.store, runtime.clock, DUTY, takeover_s=takeover_s)
        self._timer: Timer | None = None
        self._firing: set[asyncio.Task[object]] = set()
        self._waits_since: dict[str, float] = {}
        self._sound: set[str] = set()
        """The jobs about which no alert can be open: their last firing worked, in this term of leadership."""
        self._complaints: dict[str, Complaint] = defaultdict(lambda: Complaint(_log))
        """Of the duty, by its name, and of each job that cannot be recorded."""

    async def run(self, on_change: Callable[[bool], object] | None = None) -> None:
        """Competes for leadership until cancelled; then releases it at once.

        `on_change` is called with whether this process leads, at the start and whenever that changes or, while this
        process stands by, another begins to lead.

        Raises StoreGone if the database disappears.
        """
        reported: tuple[bool, int] | None = None
        try:
            while True:
                self.runtime.store.check()
                leads = await self.look()
                found = (leads, 0 if leads else self.leadership.term)
                if on_change is not None and found != reported:
                    on_change(leads)
                reported = found
                await asyncio.sleep(RENEW_S)
        finally:
            await asyncio.shield(self._leave())

    async def look(self) -> bool:
        """Acquires or renews the duty, starts or stops firing accordingly, and returns whether this process leads.

        Source: numbers, "Time" (takeover within 60 s).
        """
        try:
            leads = await self.leadership.hold()
            self._complaints[DUTY].over()
        except Exception as error:  # noqa: BLE001 (who stands by must go on to do so)
            self._complaints[DUTY].say("the scheduler cannot show its duty: %s", error)
            leads = self.leadership.leads
        if leads and self._timer is None:
            self._begin()
        elif not leads:
            await self._cease()
        elif self._timer is not None:
            self._timer.realign()
        return leads

    async def fire(self, job: Job) -> bool:
        """Runs a job unless its current slot has been fired; returns whether it ran. A job that fails does not raise.

        INVARIANT: no slot of a job is fired by two processes, and a process that lost the duty fires nothing.
        """
        current = asyncio.current_task()
        assert current is not None
        self._firing.add(current)
        try:
            is_fired = await self._fire(job, self.leadership.fence)
            self._complaints[job.name].over()
            return is_fired
        except (LeadershipLost, StoreGone) as error:
            _log.info("%s", error)
        except StoreError as error:
            self._complaints[job.name].say("job %s could not be recorded: %s", job.name, error)
        finally:
            self._firing.discard(current)
        return False

    async def _fire(self, job: Job, fence: int) -> bool:
        store, clock = self.runtime.store, self.runtime.clock
        if not job.on_record:
            return await self._look_after(job, fence)
        slot = await self._slot(job)
        if slot is None or not await store.write(firings.begin, DUTY, fence, job.name, slot, clock.now()):
            return False
        self._waits_since[job.name] = clock.monotonic()
        status, outcome, is_told = "done", None, False
        try:
            found = await job.work(replace(self.runtime, store=FencedStore(store, DUTY, fence)))
            outcome = found if isinstance(found, str) else None
        except (LeadershipLost, StoreGone):
            raise
        except Exception as error:  # noqa: BLE001 (a job never ends the scheduler)
            _log.warning("job %s failed: %s", job.name, error)
            status, outcome = "failed", f"{type(error).__name__}: {error}"
            is_told = not (isinstance(error, StoreUnavailable) and error.is_cut_off)
        await store.write(self._ended, fence, job, slot, status, outcome, is_told, clock.now())
        self._judge(job, is_sound=status == "done")
        return True

    async def _look_after(self, job: Job, fence: int) -> bool:
        """Runs a job whose firings are not recorded."""
        store = FencedStore(self.runtime.store, DUTY, fence)
        try:
            await job.work(replace(self.runtime, store=store))
        except (LeadershipLost, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 (a job never ends the scheduler)
            _log.warning("job %s failed: %s", job.name, error)
            await store.write(self._alert, job, f"{type(error).__name__}: {error}", self.runtime.clock.now())
            self._judge(job, is_sound=False)
        else:
            if job.name not in self._sound:
                await store.write(audit.settle, FAILED, job.name, self.runtime.clock.now())
            self._judge(job, is_sound=True)
        return True

    def _judge(self, job: Job, *, is_sound: bool) -> None:
        (self._sound.add if is_sound else self._sound.discard)(job.name)

    async def _slot(self, job: Job) -> datetime | None:
        """The slot for which a job is due now; None if it has been fired already.

        If the wall clock was set back, slots continue from the last one, one period of this process's monotonic clock
        apart, so that jobs do not stand still until the clock has caught up.
        """
        now, passed = self.runtime.clock.now(), self.runtime.clock.monotonic()
        slot = slot_at(now, job.every_s)
        last = await self.runtime.store.read(firings.last, job.name)
        since = self._waits_since.setdefault(job.name, passed)
        if last is None or last.fire_at < slot:
            return slot
        if last.fire_at == slot or passed - since < job.every_s * NEARLY:
            return None
        after: datetime = last.fire_at + timedelta(seconds=job.every_s)
        return after

    def _ended(
        self, tx: Tx, fence: int, job: Job, slot: datetime, status: str, outcome: str | None, is_told: bool,
        now: datetime,
    ) -> None:  # fmt: skip
        firings.end(tx, DUTY, fence, job.name, slot, status, outcome, now)
        if is_told:
            self._alert(tx, job, outcome, now)
        elif status == "done" and job.name not in self._sound:
            audit.settle(tx, FAILED, job.name, now)

    def _alert(self, tx: Tx, job: Job, why: str | None, now: datetime) -> None:
        audit.alert(
            tx, now, project_id=self.runtime.settings.project, severity="warning", kind=FAILED,
            text=f"the job `{job.name}` failed and is tried again in {job.every_s:g} s: {why}",
            key=f"job:{job.name}", subject=job.name,
        )  # fmt: skip

    def _begin(self) -> None:
        from interlock.scheduler.timer import Timer

        self._waits_since.clear()
        self._sound.clear()
        self._timer = Timer(self.jobs, self.fire, self.runtime.clock)

    async def _cease(self) -> None:
        timer, self._timer = self._timer, None
        if timer is None:
            return
        timer.pause()
        if self._firing:
            await asyncio.wait(set(self._firing), timeout=STOP_S)
        timer.stop()
        await asyncio.sleep(0)
        await asyncio.gather(*self._firing, return_exceptions=True)

    async def _leave(self) -> None:
        await self._cease()
        with contextlib.suppress(StoreError):
            await self.leadership.release()
