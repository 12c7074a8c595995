"""Missions and the pending events of their coordinators.

The tasks of a mission are in `tasks`; the coordinator's decisions are made in `graph`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.store.mailboxes.mailbox import Post, post
from interlock.store.schema import Mission, MissionEvent, Task, table
from interlock.store.tx import Tx

MISSIONS, EVENTS, TASKS = table(Mission), table(MissionEvent), table(Task)
_mi, _ev, _t = MISSIONS.c, EVENTS.c, TASKS.c
LONGEST_NOTE = 2_000
"""The most characters of a person's note on a mission that its coordinator and its agents are told."""
_TIME = UTCDateTime()
MISSION = sa.select(MISSIONS).where(_mi.id == b("mission"))
_ROUTE = sa.select(_mi.project_id, _mi.coordinator_agent_id).where(_mi.id == b("mission"))
_PENDING = sa.select(EVENTS).where(_ev.mission_id == b("mission"), _ev.consumed_at.is_(None)).order_by(_ev.id)
_CONSUME = (
    sa.update(EVENTS).where(_ev.id == b("event"), _ev.consumed_at.is_(None)).values(consumed_at=b("now", type_=_TIME))
)
_WITHOUT_AGENT = (
    sa.select(_t.mission_id)
    .where(_t.project_id == b("project"), _t.block_kind == "NO_AGENT", _t.ended_at.is_(None))
    .distinct()
    .order_by(_t.mission_id)
)
_CANCEL = sa.update(MISSIONS).where(_mi.id == b("mission")).values(canceled_at=b("now", type_=_TIME))
_SUMMARY = (
    sa.update(MISSIONS)
    .where(_mi.id == b("mission"))
    .values(summary=b("text"), estimate_microusd=b("estimate", type_=sa.BigInteger()))
)

_EXPECT = (
    sa.update(MISSIONS)
    .where(_mi.id == b("mission"))
    .values(estimate_microusd=_mi.estimate_microusd + b("more", type_=sa.BigInteger()))
)


def notify(tx: Tx, mission_id: str, kind: str, payload: dict[str, Any], now: datetime) -> None:
    """Adds an event for a mission's coordinator, in the transaction in which it happened.

    A single queued run of the coordinator consumes all events that are pending when it starts.
    """
    route = tx.one(_ROUTE, {"mission": mission_id})
    if route is None:
        return
    tx.add(MissionEvent, mission_id=mission_id, kind=kind, payload=payload, created_at=now)
    post(
        tx,
        Post(
            project_id=route.project_id,
            agent_id=route.coordinator_agent_id,
            kind="mission",
            payload={},
            idempotency_key=new_id("evt"),
            cause_kind="event",
            cause_id=kind,
            mission_id=mission_id,
            coalesce=True,
        ),
        now,
    )


def mission(tx: Tx, mission_id: str) -> Any | None:
    """One mission."""
    return tx.one(MISSION, {"mission": mission_id})


def missions(tx: Tx, project_id: str | None = None, most: int = 100) -> list[Any]:
    """Missions with the state and account of their root tasks, newest first."""
    query = (
        sa.select(
            _mi.id, _mi.project_id, _mi.goal, _mi.simulated, _mi.model, _mi.created_at, _mi.estimate_microusd,
            _mi.requested_by, _t.status, _t.title, _t.block_kind, _t.block_reason, _t.deliverable_id, _t.ended_at,
            _t.budget_microusd,
        )
        .join_from(MISSIONS, TASKS, _mi.id == _t.id)
        .order_by(_mi.created_at.desc(), _mi.id.desc())
        .limit(most)
    )  # fmt: skip
    return tx.rows(query if project_id is None else query.where(_mi.project_id == project_id))


def without_agent(tx: Tx, project_id: str) -> list[str]:
    """Ids of the missions in which a task found no suitable agent."""
    return [row.mission_id for row in tx.rows(_WITHOUT_AGENT, {"project": project_id})]


def pending(tx: Tx, mission_id: str) -> list[Any]:
    """Unconsumed events, in order."""
    return tx.rows(_PENDING, {"mission": mission_id})


def consume(tx: Tx, event_ids: Sequence[int], now: datetime) -> None:
    """Marks events as consumed."""
    for event in event_ids:
        tx.run(_CONSUME, {"event": event, "now": now})


def mark_canceled(tx: Tx, mission_id: str, now: datetime) -> None:
    """Marks a mission as cancelled."""
    tx.run(_CANCEL, {"mission": mission_id, "now": now})


def set_plan(tx: Tx, mission_id: str, summary: str, estimate_microusd: int) -> None:
    """Stores the plan's summary and estimated cost."""
    tx.run(_SUMMARY, {"mission": mission_id, "text": summary, "estimate": estimate_microusd})


def expect_more(tx: Tx, mission_id: str, more_microusd: int) -> None:
    """Raises the estimated cost of a mission by that of a task added to it."""
    tx.run(_EXPECT, {"mission": mission_id, "more": more_microusd})
