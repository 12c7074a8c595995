"""Firings of jobs: each is a row that is written before the work, so that none happens twice.

The jobs, and when they are due, are in `scheduler`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.duties import leaders
from interlock.store.schema import Firing, table
from interlock.store.tx import Tx

FIRINGS = table(Firing)
_f = FIRINGS.c
_TIME = UTCDateTime()
_SLOT = sa.select(_f.id).where(_f.job == b("name"), _f.fire_at == b("at", type_=_TIME))
_AT = sa.select(FIRINGS).where(_f.job == b("name"), _f.fire_at == b("at", type_=_TIME))
_LAST = sa.select(FIRINGS).where(_f.job == b("name")).order_by(_f.fire_at.desc()).limit(1)
_CUT_OFF = (
    sa.update(FIRINGS)
    .where(_f.job == b("name"), _f.status == "started", _f.fire_at != b("at", type_=_TIME))
    .values(status="failed", outcome="cut off: its process ended", ended_at=b("now", type_=_TIME))
)
_END = (
    sa.update(FIRINGS)
    .where(_f.job == b("name"), _f.fire_at == b("at", type_=_TIME), _f.status == "started")
    .values(status=b("to"), outcome=b("came_of_it"), ended_at=b("now", type_=_TIME))
)
_PRUNE = sa.delete(FIRINGS).where(_f.job == b("name"), _f.fire_at < b("before", type_=_TIME))
_PRUNE_SCHEDULES = sa.delete(FIRINGS).where(_f.created_at < b("before", type_=_TIME), _f.job.like("schedule:%"))
LONGEST_OUTCOME = 500
"""In characters."""


def begin(tx: Tx, duty: str, fence: int, job: str, fire_at: datetime, now: datetime) -> bool:
    """Records a firing before its work; False if it was recorded before.

    Firings that an earlier process left unfinished are marked as interrupted.

    Raises LeadershipLost if the duty is no longer held with this fencing token.
    """
    leaders.check(tx, duty, fence)
    if tx.one(_SLOT, {"name": job, "at": fire_at}) is not None:
        return False
    tx.add(Firing, job=job, fire_at=fire_at, fence=fence, created_at=now)
    tx.run(_CUT_OFF, {"name": job, "at": fire_at, "now": now})
    return True


def end(
    tx: Tx, duty: str, fence: int, job: str, fire_at: datetime, status: str, outcome: str | None, now: datetime
) -> None:
    """Records the end of a firing: done or failed. Raises LeadershipLost."""
    leaders.check(tx, duty, fence)
    words = outcome[:LONGEST_OUTCOME] if outcome else None
    tx.run(_END, {"name": job, "at": fire_at, "to": status, "came_of_it": words, "now": now})


def record(
    tx: Tx, job: str, fire_at: datetime, fence: int, status: str, outcome: str, now: datetime
) -> bool:  # fmt: skip
    """Records a firing in the transaction of its work; False if it was recorded before."""
    if is_known(tx, job, fire_at):
        return False
    tx.add(
        Firing, job=job, fire_at=fire_at, fence=fence, status=status, outcome=outcome[:LONGEST_OUTCOME],
        created_at=now, ended_at=now,
    )  # fmt: skip
    return True


def is_known(tx: Tx, job: str, fire_at: datetime) -> bool:
    """Whether a firing is recorded."""
    return tx.one(_SLOT, {"name": job, "at": fire_at}) is not None


def firing(tx: Tx, job: str, fire_at: datetime) -> Any | None:
    """A job's firing for a given time."""
    return tx.one(_AT, {"name": job, "at": fire_at})


def some(tx: Tx, wanted: Sequence[tuple[str, datetime]]) -> list[Any]:
    """The firings of jobs for given times, as far as they are known."""
    found = tx.ones(_AT, [{"name": job, "at": at} for job, at in wanted])
    return [row for row in found if row is not None]


def last(tx: Tx, job: str) -> Any | None:
    """A job's latest firing."""
    return tx.one(_LAST, {"name": job})


def prune(tx: Tx, job: str, before: datetime) -> int:
    """Deletes a job's firings from before a time; returns how many."""
    return tx.count(_PRUNE, {"name": job, "before": before})


def prune_schedules(tx: Tx, before: datetime) -> int:
    """Deletes the firings of users' schedules from before a time; returns how many."""
    return tx.count(_PRUNE_SCHEDULES, {"before": before})
