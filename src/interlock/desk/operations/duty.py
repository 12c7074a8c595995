"""Which process holds which duty, and when each job last fired; read-only."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Protocol

from interlock.desk.context import DeskContext
from interlock.desk.reading.views import View
from interlock.store.duties import firings, leaders
from interlock.store.mailboxes import processes
from interlock.store.tx import Tx

SCHEDULER = "scheduler"


class JobLike(Protocol):
    """The properties of a job that a listing needs."""

    @property
    def name(self) -> str:
        """Its name in `firings`."""

    @property
    def every_s(self) -> float:
        """Its period in seconds."""

    @property
    def on_record(self) -> bool:
        """Whether its firings are recorded."""

    @property
    def what(self) -> str:
        """A short description."""


async def duty(context: DeskContext, jobs: Sequence[JobLike]) -> View:
    """`leader` of the scheduler (None if there is none), all `duties` that are held, and the `jobs` in order."""
    return await context.store.read(_duty, jobs)


async def leader(context: DeskContext) -> View | None:
    """The process that fires the jobs: holder, host, pid, since when; None if there is none, or it has died."""
    return await context.store.read(_leader)


def _duty(tx: Tx, jobs: Sequence[JobLike]) -> View:
    held = [_holder(row) for row in leaders.leaders(tx) if row.holder is not None]
    return {"leader": _leader(tx), "duties": held, "jobs": [_job(tx, job) for job in jobs]}


def _leader(tx: Tx) -> View | None:
    row = leaders.leader(tx, SCHEDULER)
    if row is None or row.holder is None or processes.is_dead(row.host, row.pid, row.process_started):
        return None
    return _holder(row)


def _holder(row: Any) -> View:
    return {
        "duty": row.name, "holder": row.holder, "host": row.host.partition("/")[0], "pid": row.pid,
        "since": row.taken_at, "is_dead": processes.is_dead(row.host, row.pid, row.process_started),
    }  # fmt: skip


def _job(tx: Tx, job: JobLike) -> View:
    last = firings.last(tx, job.name)
    return {
        "name": job.name, "what": job.what, "every_s": job.every_s, "on_record": job.on_record,
        "last_fired_at": last.created_at if last else None,
        "last_status": last.status if last else None,
        "last_outcome": last.outcome if last else None,
        "next_fire_at": last.fire_at + timedelta(seconds=job.every_s) if last else None,
    }  # fmt: skip
