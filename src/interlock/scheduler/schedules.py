"""Fires users' schedules, each due time exactly once: the firing is recorded in the transaction of what it starts.

When a schedule is due is computed in `timetable`; what it starts is prepared in `starting`.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from interlock.agents.runtime import Runtime
from interlock.core.errors import InterlockError, UsageError
from interlock.core.ids import new_id
from interlock.core.values import SYSTEM
from interlock.desk.operations.duty import SCHEDULER
from interlock.scheduler import starting
from interlock.scheduler.starting import Start
from interlock.scheduler.timetable import LEAST_S, Timetable, stored
from interlock.store.auditing import audit
from interlock.store.duties import firings, leaders, schedules
from interlock.store.duties.leaders import LeadershipLost
from interlock.store.errors import StoreError
from interlock.store.mailboxes import controls
from interlock.store.mailboxes.controls import Mode
from interlock.store.tx import Tx

MOST = 100
"""Most firings of one sweep; the others are due at the next."""
SET_BACK_S = 2.0
"""A smaller backward jump of the wall clock is ignored."""
MOST_MISSED = 100
FAILED = "SCHEDULE_FAILED"
"""The kind of the alert about a schedule that could not start its goal or message."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Look:
    mode: Mode
    unset: list[Any]
    due: list[Any]


class Schedules:
    """The job that fires users' schedules; one for each process, since it compares that process's clocks."""

    def __init__(self) -> None:
        self._seen: tuple[datetime, float] | None = None

    async def sweep(self, runtime: Runtime) -> None:
        """Fires the schedules that are due. While the squad is not running, they stay due, and fire once afterwards."""
        clock, store = runtime.clock, runtime.store
        now, passed = clock.now(), clock.monotonic()
        if self._is_new_or_set_back(now, passed):
            await ensure_heartbeat(runtime)
            for row in await store.read(schedules.active):
                await realign(runtime, row)
        self._seen = now, passed
        look = await store.read(_look, now)
        for row in look.unset:
            await realign(runtime, row)
        if look.mode is Mode.RUNNING:
            for row in look.due:
                await fire(runtime, row)

    def _is_new_or_set_back(self, now: datetime, passed: float) -> bool:
        if self._seen is None:
            return True
        before, passed_before = self._seen
        return (now - before).total_seconds() < passed - passed_before - SET_BACK_S


def _look(tx: Tx, now: datetime) -> _Look:
    return _Look(controls.mode(tx), schedules.unset(tx), schedules.due(tx, now, MOST))


async def fire(runtime: Runtime, row: Any) -> None:
    """Fires a schedule for the time it was due at; later times missed since then are merged into this firing.

    INVARIANT: the firing, what it starts and the next due time are one transaction, which commits only if the schedule
    has not changed since it was read; so each firing happens once, whatever is killed and however many processes fire.

    Raises LeadershipLost, StoreError.
    """
    store, now = runtime.store, runtime.clock.now()
    try:
        times = stored(row)
    except UsageError as error:
        await store.write(_end, row, str(error), now)
        return
    upcoming, missed = times.after(max(now, row.next_at)), _missed(times, row.next_at, now)
    try:
        start = await starting.prepare(runtime, row, row.next_at)
        await store.write(_fire, row, start, missed, upcoming, now)
    except (LeadershipLost, StoreError):
        raise
    except Exception as error:  # noqa: BLE001 (a schedule never keeps others from being fired)
        why = str(error) if isinstance(error, InterlockError) else f"{type(error).__name__}: {error}"
        _log.warning("schedule %s could not start: %s", row.name, why)
        await store.write(_fail, row, why, upcoming, now)


def _missed(times: Timetable, due_at: datetime, now: datetime) -> str:
    """How many later due times have passed, in words; empty if none has."""
    count, at = 0, times.after(due_at)
    while at <= now and count < MOST_MISSED:
        count, at = count + 1, times.after(at)
    return f" (and for {count:,}{' or more' if count == MOST_MISSED else ''} missed since)" if count else ""


def _fire(tx: Tx, seen: Any, start: Start, missed: str, upcoming: datetime, now: datetime) -> None:
    row = _still(tx, seen)
    if row is None or controls.mode(tx) is not Mode.RUNNING:
        return
    if firings.is_known(tx, schedules.job(row.id), row.next_at):
        schedules.fired(
            tx, row.id, row.version, fire_at=row.next_at, outcome=row.last_outcome or "fired before",
            next_at=upcoming, now=now,
        )  # fmt: skip
        return
    outcome = start.write(tx, now) + missed
    _record(tx, row, "done", outcome, upcoming, now)
    if not start.is_quiet:
        audit.note(
            tx, "SCHEDULE_FIRED", SYSTEM, now, project_id=row.project_id, subject=row.id, name=row.name,
            fire_at=row.next_at.isoformat(), outcome=outcome,
        )  # fmt: skip
    audit.settle(tx, FAILED, row.id, now)


def _fail(tx: Tx, seen: Any, why: str, upcoming: datetime, now: datetime) -> None:
    row = _still(tx, seen)
    if row is None:
        return
    _record(tx, row, "failed", why, upcoming, now)
    _alert(tx, row, f"the schedule `{row.name}` could not start: {why}; it is tried again at its next time", now)


def _record(tx: Tx, row: Any, status: str, outcome: str, upcoming: datetime, now: datetime) -> None:
    held = leaders.leader(tx, SCHEDULER)
    fence = held.fence if held is not None else 0
    firings.record(tx, schedules.job(row.id), row.next_at, fence, status, outcome, now)
    words = outcome if status == "done" else f"{status}: {outcome}"
    schedules.fired(
        tx, row.id, row.version, fire_at=row.next_at, outcome=words[: firings.LONGEST_OUTCOME], next_at=upcoming,
        now=now,
    )  # fmt: skip


def _still(tx: Tx, seen: Any) -> Any | None:
    """The schedule's row, locked, if it has not changed since it was read; else None."""
    row = schedules.schedule(tx, seen.id, lock=True)
    return row if row is not None and (row.version, row.state) == (seen.version, "active") else None


def _end(tx: Tx, seen: Any, why: str, now: datetime) -> None:
    row = _still(tx, seen)
    if row is not None:
        schedules.set_state(tx, row.id, "ended", why, None, now)
        _alert(tx, row, f"the schedule `{row.name}` is not fired any more: {why}: remove it and add it again", now)


def _alert(tx: Tx, row: Any, text: str, now: datetime) -> None:
    audit.alert(
        tx, now, project_id=row.project_id, severity="warning", kind=FAILED, subject=row.id, text=text,
        key=f"schedule:{row.id}",
    )  # fmt: skip


async def realign(runtime: Runtime, row: Any) -> None:
    """Recomputes a due time that is unset, or too far ahead because the wall clock was ahead when it was computed.

    No time for which a schedule has fired comes again. Intervals are counted from now.
    """
    now = runtime.clock.now()
    try:
        times = stored(row)
    except UsageError as error:
        await runtime.store.write(_end, row, str(error), now)
        return
    anchor: datetime = row.anchor_at
    if row.every_s is not None:
        latest = now + timedelta(seconds=row.every_s)
        upcoming = times.after(now) if row.next_at is None and anchor <= now else latest
        anchor = anchor if upcoming < latest else now
        too_far = row.next_at is not None and row.next_at > latest
    else:
        upcoming = times.after(now if row.last_at is None else max(now, row.last_at))
        too_far = row.next_at is not None and row.next_at > upcoming
    if row.next_at is None or too_far:
        await runtime.store.write(
            schedules.move, row.id, row.version, next_at=upcoming, anchor_at=anchor, now=now
        )  # fmt: skip


async def ensure_heartbeat(runtime: Runtime) -> None:
    """Creates the schedule that reads HEARTBEAT.md for this process's project, or updates it from the settings."""
    await runtime.store.write(_ensure, runtime, new_id("sch"), runtime.clock.now())


def _ensure(tx: Tx, runtime: Runtime, ident: str, now: datetime) -> None:
    settings = runtime.settings
    wanted, every_s = settings.heartbeat, max(LEAST_S, settings.heartbeat.every_s)
    row = schedules.named(tx, settings.project, schedules.HEARTBEAT, lock=True)
    if row is None:
        schedules.add(
            tx, id=ident, project_id=settings.project, name=schedules.HEARTBEAT, kind=schedules.HEARTBEAT,
            persona=wanted.persona, text="HEARTBEAT.md", every_s=every_s, timezone=settings.timezone, anchor_at=now,
            next_at=now + timedelta(seconds=every_s), created_by=SYSTEM.id, created_at=now, updated_at=now,
        )  # fmt: skip
    elif row.kind == schedules.HEARTBEAT and (row.persona, row.every_s) != (wanted.persona, every_s):
        schedules.refit(tx, row.id, persona=wanted.persona, every_s=every_s, now=now)
