"""The progress of a mission: what happened since the last look, and whether it still advances by itself."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from interlock.desk.context import DeskContext
from interlock.desk.operations import emergency
from interlock.desk.reading.views import View, view
from interlock.store import counts, squad
from interlock.store.auditing import audit
from interlock.store.errors import StoreUnavailable
from interlock.store.money import shortfalls
from interlock.store.signoff import approvals as approval_store
from interlock.store.tx import Tx
from interlock.store.work import missions as mission_store
from interlock.store.work import tasks as task_store


class Standing(StrEnum):
    """The standing of a mission, for somebody who waits for it."""

    MOVING = "moving"
    DONE = "done"
    WAITING = "waiting"
    """Waits for a person's answer."""
    STOPPED = "stopped"
    """Stopped by a budget, a cancellation or another control."""
    FAILED = "failed"
    """Blocked by something that no person's answer will release."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a mission. `activities` are those after the given one."""

    mission_id: str
    standing: Standing
    status: str
    reason: str | None
    activities: tuple[View, ...]
    tasks: tuple[View, ...]
    approvals: tuple[str, ...]
    """Ids of its pending questions."""
    deliverable_id: str | None
    seen: int
    """The id of the latest activity."""
    busy: bool
    """Whether its runs are queued or executing; after its end, these may be the Learner's."""


LOOK_S = 0.2
"""The poll interval of `follow`."""
SAT_OUT_S = 10.0
"""How long `follow` retries if the database cannot be reached."""


async def follow(
    context: DeskContext, mission_id: str, *, after: int = 0, while_waiting: Callable[[], object] = lambda: None
) -> AsyncGenerator[Progress, None]:
    """Polls a mission's progress, each time with the activities since the previous one, until the caller stops.

    `while_waiting` is called before each poll and may raise. Raises StoreUnavailable if the database cannot be reached
    for ten seconds, and at once if waiting would not help.
    """
    silent_since: float | None = None
    while True:
        while_waiting()
        try:
            found = await progress(context, mission_id, after=after)
        except StoreUnavailable as error:
            now = context.clock.monotonic()
            silent_since = now if silent_since is None else silent_since
            if error.is_final or now - silent_since >= SAT_OUT_S:
                raise
        else:
            silent_since = None
            yield found
            after = found.seen
        await asyncio.sleep(LOOK_S)


async def progress(context: DeskContext, mission_id: str, *, after: int = 0) -> Progress:
    """A mission's progress now, and its activities after the id `after`."""
    return await context.store.read(_progress, mission_id, after)


def _progress(tx: Tx, mission_id: str, after: int) -> Progress:
    rows = task_store.of_mission(tx, mission_id)
    root = next(row for row in rows if row.parent_id is None)
    pending = approval_store.approvals(tx, mission_id=mission_id)
    news = audit.activities(tx, mission_id=mission_id, after=after)
    agents = [row.assignee_agent_id for row in rows if row.assignee_agent_id]
    names = squad.names(tx, agents)
    hindrance = emergency.hindrance(tx)
    busy = _busy(tx, root, is_held_up=hindrance is not None)
    standing, reason = _standing(tx, rows, root, pending, busy, hindrance)
    return Progress(
        mission_id=mission_id,
        standing=standing,
        status=root.status,
        reason=reason,
        activities=tuple(view(row) for row in news),
        tasks=tuple(
            view(
                row, "id", "key", "title", "persona", "status", "block_kind", "block_reason",
                works=names.get(row.assignee_agent_id or "", row.persona),
            )
            for row in rows
            if row.parent_id is not None
        ),
        approvals=tuple(row.id for row in pending),
        deliverable_id=root.deliverable_id,
        seen=news[-1].id if news else after,
        busy=busy,
    )  # fmt: skip


def _busy(tx: Tx, root: Any, *, is_held_up: bool) -> bool:
    """Whether any run of a mission is executing or queued; if nothing may start, only executing runs count."""
    if is_held_up:
        return counts.at_work(tx, root.id) > 0
    if counts.moving(tx, root.id):
        return True
    return root.status != "BLOCKED" and not counts.shut_in(tx, root.id) and bool(mission_store.pending(tx, root.id))


def _standing(
    tx: Tx, rows: list[Any], root: Any, pending: list[Any], busy: bool, hindrance: str | None
) -> tuple[Standing, str | None]:  # fmt: skip
    """INVARIANT: a mission is MOVING as long as anything can happen without a person."""
    if root.status == "DONE":
        return Standing.DONE, None
    if root.status == "CANCELED":
        return Standing.STOPPED, "it was canceled"
    put_off = counts.put_off(tx, root.id)
    if busy:
        return Standing.MOVING, next((why for why, _ in put_off), None)
    if hindrance is not None and counts.queued(tx, root.id):
        return Standing.STOPPED, hindrance
    if any(row.kind != "BUDGET" for row in pending):
        return Standing.WAITING, "it waits for a person"
    if pending:
        return Standing.STOPPED, str(pending[0].request.get("summary") or "its budget is used up")
    if shortfalls.parked_in(tx, root.id):
        return Standing.STOPPED, "the project's money for today is used up: see `interlock approvals`"
    if hindered := [why for why, passes in put_off if not passes]:
        return Standing.FAILED, f"{hindered[0]}; nothing is lost: put it right, then continue with `interlock up`"
    if shut := counts.shut_in(tx, root.id):
        return Standing.STOPPED, "; ".join(_why_shut(persona, state) for persona, state in shut)
    blocked = [row for row in rows if row.status == "BLOCKED"]
    kinds = {row.block_kind for row in blocked}
    reason = "; ".join(dict.fromkeys(row.block_reason for row in blocked if row.block_reason)) or None
    if kinds & {"BUDGET", "OPERATOR", "BREAKER"}:
        return Standing.STOPPED, reason
    if blocked:
        return Standing.FAILED, reason
    return Standing.MOVING, None


def _why_shut(persona: str, state: str) -> str:
    if state == "QUARANTINED":
        return f"`{persona}` is quarantined: `interlock release {persona}` lets it work again"
    return f"`{persona}` is {state.lower()}"
