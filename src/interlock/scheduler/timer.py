"""Calls back at each job's times, with APScheduler; what a call does is in `runner`."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta

from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from interlock.core.clock import Clock
from interlock.scheduler.jobs import Job, slot_at

_quiet = logging.getLogger(f"{__name__}.apscheduler")
"""Silences APScheduler's warning about a time that passed while its job was still running: that is expected."""


class Slots(BaseTrigger):  # type: ignore[misc]
    """A trigger at each whole multiple of a period. Missed times, however many, are merged into one."""

    def __init__(self, every_s: float) -> None:
        self.every_s = every_s

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """The next time after now."""
        return slot_at(now, self.every_s) + timedelta(seconds=self.every_s)


class Timer:
    """Calls `fire` with each job: once at the start, then at its times, never twice at once. Source: stack, 4."""

    def __init__(self, jobs: Iterable[Job], fire: Callable[[Job], Awaitable[object]], clock: Clock) -> None:
        self._clock = clock
        _quiet.setLevel(logging.ERROR)
        self._scheduler = AsyncIOScheduler(
            timezone=UTC, jobstores={"default": MemoryJobStore()}, executors={"default": AsyncIOExecutor()},
            logger=_quiet,
        )  # fmt: skip
        for job in jobs:
            self._scheduler.add_job(
                fire, Slots(job.every_s), args=(job,), id=job.name, next_run_time=clock.now(),
                coalesce=True, max_instances=1, misfire_grace_time=None,
            )  # fmt: skip
        self._scheduler.start()

    def realign(self) -> None:
        """Reschedules jobs whose next time is too far ahead because the wall clock was set back."""
        now = self._clock.now()
        for entry in self._scheduler.get_jobs():
            if entry.next_run_time > now + timedelta(seconds=entry.trigger.every_s):
                entry.modify(next_run_time=entry.trigger.get_next_fire_time(None, now))

    def pause(self) -> None:
        """Makes no further calls; running ones continue."""
        self._scheduler.pause()

    def stop(self) -> None:
        """Makes no further calls, and cancels running ones."""
        self._scheduler.shutdown(wait=False)
