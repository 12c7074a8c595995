"""Quarantine and release of a member: its mailboxes, runs and tasks, in one transaction.

Authorisation is up to the desk; what becomes of interrupted runs, to the runner.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import Actor
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import squad
from interlock.store.knowledge import incidents
from interlock.store.mailboxes import leases
from interlock.store.messages import feed
from interlock.store.runs import offspring
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import held_emails, missions, tasks
from interlock.store.work.tasks import Move

QUARANTINED = "QUARANTINED"
_t, _tr, _ag = tasks.TASKS.c, tasks.TRANSITIONS.c, squad.AGENTS.c
_OURS = _t.assignee_agent_id.in_(sa.select(_ag.id).where(_ag.member_id == b("member")))
_OPEN = (
    sa.select(tasks.TASKS)
    .where(_OURS, _t.ended_at.is_(None), _t.status.in_(("ASSIGNED", "IN_PROGRESS", "REVIEW", "NEEDS_APPROVAL")))
    .order_by(_t.id)
)
_HELD = (
    sa.select(tasks.TASKS)
    .where(_OURS, _t.ended_at.is_(None), _t.status.in_(("BLOCKED", "NEEDS_APPROVAL")))
    .order_by(_t.id)
)
_LAST_BLOCK = (
    sa.select(_tr.idempotency_key)
    .where(_tr.task_id == b("task"), _tr.to_status == "BLOCKED")
    .order_by(_tr.created_at.desc(), _tr.id.desc())
    .limit(1)
)
_PENDING = (
    sa.select(approvals.APPROVALS.c.id, approvals.APPROVALS.c.kind)
    .where(approvals.APPROVALS.c.task_id == b("task"), approvals.APPROVALS.c.status == "pending")
    .order_by(approvals.APPROVALS.c.created_at, approvals.APPROVALS.c.id)
)


@dataclass(frozen=True, slots=True)
class QuarantineResult:
    """What a quarantine has stopped."""

    runs: tuple[Any, ...]
    """The runs that were active, as `leases.at_work` returns them."""
    tasks: tuple[str, ...]
    """Ids of the tasks that were blocked."""


def quarantine(
    tx: Tx, member: Any, actor: Actor, reason: str, stamp: str, escalate_at: datetime, now: datetime
) -> QuarantineResult | None:  # fmt: skip
    """Closes a member's mailboxes, recalls its runs at once and blocks its open tasks; None if it was in quarantine.

    `stamp` identifies this quarantine. The mailboxes are closed first, so that a concurrent claim is either seen here
    or finds them closed. Source: decisions, "Controls".

    Raises Conflict if a task was changed concurrently: retry.
    """
    squad.lock_member(tx, member.id)
    row: Any = squad.member(tx, member.id)
    if row.state == QUARANTINED:
        return None
    squad.set_state(tx, member.id, QUARANTINED, reason)
    _feed(tx, member, QUARANTINED, reason, now)
    runs = leases.at_work(tx, member_id=member.id)
    for run in runs:
        leases.ask_back(tx, run.id, at_once=True)
    for child in offspring.abroad(tx, member.id):
        for run_id in offspring.open_runs(tx, child.agent_id):
            leases.cancel(tx, run_id, now, f"who started it was set apart: {reason}")
    held_emails.hold(tx, "member", member.id, reason)
    rows = tx.rows(_OPEN, {"member": member.id})
    for task in rows:
        _block(tx, member, task, actor, reason, stamp, escalate_at, now)
    if not rows:
        incidents.note(tx, "QUARANTINE", reason, now, project_id=member.project_id, member=member.id)
    return QuarantineResult(tuple(runs), tuple(task.id for task in rows))


def _block(
    tx: Tx, member: Any, task: Any, actor: Actor, reason: str, stamp: str, escalate_at: datetime, now: datetime
) -> None:
    move = Move(
        task_id=task.id, to=TaskState.BLOCKED, actor=actor, reason=reason, key=f"{_key(member.id)}{stamp}:{task.id}",
        block_kind=BlockKind.OPERATOR, wait_for=f"owner:{actor.id}", escalate_at=escalate_at,
    )  # fmt: skip
    tasks.advance(tx, move, now)
    incidents.note(
        tx, "QUARANTINE", reason, now, project_id=task.project_id, mission_id=task.mission_id, task_id=task.id,
        agent_id=task.assignee_agent_id, member=member.id,
    )  # fmt: skip


def release(tx: Tx, member: Any, actor: Actor, reason: str, stamp: str, now: datetime) -> list[str] | None:
    """Reopens a member's mailboxes and restores the tasks that its quarantine blocked; None if it was in none.

    Raises Conflict if a task was changed concurrently: retry.
    """
    squad.lock_member(tx, member.id)
    if not squad.set_state(tx, member.id, "ACTIVE", None, seen=QUARANTINED):
        return None
    _feed(tx, member, "ACTIVE", reason, now)
    back = [task for task in tx.rows(_HELD, {"member": member.id}) if _is_ours(tx, member.id, task)]
    for task in back:
        _put_back(tx, task, actor, reason, f"release:{stamp}:{task.id}", now)
    for mission_id in missions.without_agent(tx, member.project_id):
        missions.notify(tx, mission_id, "tick", {}, now)
    return [task.id for task in back]


def _feed(tx: Tx, member: Any, state: str, reason: str, now: datetime) -> None:
    payload = {"member": member.id, "persona": member.persona, "state": state, "reason": reason}
    feed.append(tx, "control_changed", now, project_id=member.project_id, payload=payload)


def _key(member_id: str) -> str:
    return f"quarantine:{member_id}:"


def _is_ours(tx: Tx, member_id: str, task: Any) -> bool:
    """Whether a task is still blocked by a quarantine of this member, escalated in the meantime or not."""
    last = tx.one(_LAST_BLOCK, {"task": task.id})
    if last is None or not last.idempotency_key.startswith(_key(member_id)):
        return False
    return task.status == "BLOCKED" or bool(escalations(tx, task.id))


def escalations(tx: Tx, task_id: str) -> list[str]:
    """Ids of the open questions whether a task is to go on."""
    return [row.id for row in tx.rows(_PENDING, {"task": task_id}) if row.kind == "ESCALATION"]


def _put_back(tx: Tx, task: Any, actor: Actor, reason: str, key: str, now: datetime) -> None:
    """Restores the state before the block; if questions of its own are still open, the task waits for these."""
    for approval_id in escalations(tx, task.id):
        approvals.void(tx, approval_id, reason)
    pending = approvals.pending_of_task(tx, task.id)
    goal = TaskState(task.held_from)
    is_direct = task.status == "BLOCKED" and goal in (TaskState.ASSIGNED, TaskState.IN_PROGRESS) and not pending
    if task.status == "BLOCKED" and not is_direct:
        wait_for = f"approval:{pending[0]}" if pending else f"owner:{actor.id}"
        held = Move(
            task_id=task.id, to=TaskState.NEEDS_APPROVAL, actor=actor, reason=reason, key=f"{key}:held",
            wait_for=wait_for,
        )  # fmt: skip
        tasks.advance(tx, held, now)
    if not pending:
        tasks.advance(tx, Move(task_id=task.id, to=goal, actor=actor, reason=reason, key=key), now)
