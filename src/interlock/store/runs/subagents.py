"""Starts and expires subagents, within limits.

Which personas may be started is up to the tools, the prompt to `agents`; `posting.report` reports the ends of their
runs to the parent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Refused
from interlock.core.values import SYSTEM, Actor
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases, mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.runs import offspring, traces
from interlock.store.runs.offspring import EXPIRED, KIND, SUBAGENTS
from interlock.store.schema import Subagent
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx

BACKGROUND, SESSION = "background", "session"
LOCK_KEY = 0x5AB_A6E7
"""The key of the PostgreSQL advisory lock that serialises starts; SQLite has only one writer."""
_s = SUBAGENTS.c
_TURN = sa.select(sa.func.pg_advisory_xact_lock(LOCK_KEY))
_OVERDUE = (
    sa.select(_s.agent_id)
    .where(_s.ended_at.is_(None), _s.expires_at <= b("now", type_=UTCDateTime()))
    .order_by(_s.expires_at)
    .limit(100)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A request to start a subagent; idempotent by `token`."""

    token: str
    run_id: str
    """The requesting run, whose task's or mission's account is charged."""
    actor: Actor
    prompt: str
    persona: str
    persona_json: Mapping[str, Any] | None = None
    """None for the persona of the requesting agent."""
    label: str | None = None
    """Distinguishes the sessions of a parent. Without one it is a background agent."""
    labels: tuple[str, ...] = ()
    most: int
    per_parent: int
    life_s: float


@dataclass(frozen=True, slots=True)
class Started:
    """A started subagent, and the key of its session."""

    agent_id: str
    key: str
    persona: str
    expires_at: datetime


def start(tx: Tx, order: Order, now: datetime) -> Started:
    """Starts a subagent with a session of its own, and posts its first message.

    Raises Refused, without changes, if the run is being ended, is itself a subagent's, or a limit is reached.
    Source: row E11; numbers, "Subagents".
    """
    found = mailbox.lock(tx, order.run_id)
    if found is None or found.status != "running" or found.control in ("cancel", "stop"):
        raise Refused("this run is being ended: it starts no agents any more")
    run, parent = traces.run(tx, order.run_id), squad.agent(tx, found.agent_id)
    assert run is not None
    assert parent is not None
    if parent.descriptor.get("kind") == KIND:
        raise Refused("a background agent starts no agents: do it yourself, or say in your result what is left to do")
    who = Descriptor(KIND, run.project_id, order.persona, {"parent": parent.id, "call": order.token})
    if (known := squad.found(tx, who)) is not None:
        row: Any = offspring.one(tx, known.id)
        return Started(known.id, row.key, known.persona, row.expires_at)
    _within_limits(tx, order, parent)
    if not squad.is_active(tx, run.project_id, order.persona):
        raise Refused(f"`{order.persona}` may not work now: choose another persona, or do it yourself")
    return _made(tx, order, run, parent, who, now)


def _within_limits(tx: Tx, order: Order, parent: Any) -> None:
    if tx.dialect == "postgresql":
        tx.run(_TURN)
    own = offspring.of_parent(tx, parent.id)
    if order.label is not None and any(row.label == order.label for row in own):
        raise Refused(f"your agent `{order.label}` is still at work: wait for its end, or choose another label")
    if len(own) >= order.per_parent:
        raise Refused(f"{len(own)} of your agents are at work, which is the most: wait until one has ended")
    if (count := offspring.live(tx)) >= order.most:
        raise Refused(f"{count} background agents are at work, which is the most: try again later")


def _made(tx: Tx, order: Order, run: Any, parent: Any, who: Descriptor, now: datetime) -> Started:
    persona: Mapping[str, Any] = parent.persona_json if order.persona_json is None else order.persona_json
    child = squad.ensure_agent(tx, who, persona, str(persona.get("trust", "")), now)
    kind = BACKGROUND if order.label is None else SESSION
    key = child.id if order.label is None else f"{parent.id}:{KIND}:{order.label}"
    expires_at = now + timedelta(seconds=order.life_s)
    payload = {"text": order.prompt, "from": parent.persona, "agent": parent.id, "task": run.task_id}
    if run.channel_id is not None:
        payload["within"] = run.channel_id
    message = Post(
        project_id=run.project_id, agent_id=child.id, kind=KIND, payload=payload,
        idempotency_key=f"{KIND}:{order.token}", cause_kind="run", cause_id=run.id, parent_run_id=run.id,
        report_to=parent.id, mission_id=run.mission_id, labels=order.labels, simulated=run.simulated,
        model=run.model if run.simulated else None,
    )  # fmt: skip
    first = mailbox.post(tx, message, now)[0]
    tx.add(
        Subagent, agent_id=child.id, parent_id=parent.id, parent_run_id=run.id, kind=kind, label=order.label, key=key,
        purpose=order.prompt[:500], run_id=first, created_at=now, expires_at=expires_at,
    )  # fmt: skip
    audit.note(
        tx, "SUBAGENT_STARTED", order.actor, now, project_id=run.project_id, mission_id=run.mission_id,
        task_id=run.task_id, run_id=run.id, subject=child.id, persona=order.persona, label=order.label,
    )  # fmt: skip
    return Started(child.id, key, order.persona, expires_at)


def overdue(tx: Tx, now: datetime) -> list[str]:
    """Ids of the subagents past their expiry."""
    return [row.agent_id for row in tx.rows(_OVERDUE, {"now": now})]


def expire(tx: Tx, agent_id: str, now: datetime) -> bool:
    """Ends an expired subagent: cancels its runs and notifies the parent once. False if it had ended.

    Source: numbers, "Subagents".
    """
    found = offspring.one(tx, agent_id)
    if found is None or found.ended_at is not None or found.expires_at > now:
        return False
    runs = offspring.open_runs(tx, agent_id)
    if runs:
        mailbox.lock(tx, runs[0])
    if not offspring.end(tx, agent_id, EXPIRED, now):
        return False
    why = "its time is over"
    audit.note(
        tx, "SUBAGENT_EXPIRED", SYSTEM, now, project_id=_project(tx, agent_id), run_id=found.run_id, subject=agent_id,
        parent=found.parent_id, reason=why,
    )  # fmt: skip
    if runs:
        offspring.suppress_reports(tx, agent_id, but=runs[0])
    for run_id in runs:
        leases.cancel(tx, run_id, now, why, stop_reason=EXPIRED)
    return True


def _project(tx: Tx, agent_id: str) -> str:
    found = squad.agent(tx, agent_id)
    return str(found.project_id) if found is not None else ""
