"""Ends waits that are over: approvals that expire, blocked tasks that escalate, members paused until the next day.

Nothing waits forever. Source: row A18.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from interlock.core.ids import new_id
from interlock.core.values import SYSTEM, digest
from interlock.policy.budgets import day_key
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases
from interlock.store.money import ledger, shortfalls
from interlock.store.runs import subagents
from interlock.store.signoff import approval_queue, approvals
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks

if TYPE_CHECKING:
    from interlock.agents.runtime import Runtime


async def sweep(runtime: "Runtime") -> None:
    """Ends every wait that is over. Reads first, and writes only if there is something to end."""
    now, store = runtime.clock.now(), runtime.store
    expires_at = now + timedelta(seconds=runtime.settings.approval_expires_s)
    escalate_at = now + timedelta(seconds=runtime.settings.times.blocked_escalation_s)
    for approval_id in await store.read(approvals.overdue, now):
        await store.write(expire, approval_id, escalate_at, now)
    for task_id in await store.read(tasks.to_escalate, now):
        await store.write(escalate, task_id, expires_at, now)
    for member_id in await store.read(_all_solvent, now):
        await store.write(resume_member, member_id, now)
    for agent_id in await store.read(subagents.overdue, now):
        await store.write(subagents.expire, agent_id, now)
    for run_id in await store.read(shortfalls.strays):
        await store.write(shortfalls.wake, run_id, now)


def expire(tx: Tx, approval_id: str, escalate_at: datetime, now: datetime) -> None:
    """Expires an unanswered question: cancels the run, blocks the task, alerts. Source: decisions, "Expiry"."""
    row = approvals.expire(tx, approval_id, now)
    if row is None:
        return
    if row.run_id is not None:
        leases.cancel(tx, row.run_id, now, "nobody answered in time", stop_reason="approval_expired")
    text = f"approval `{row.id}` expired without an answer: {approval_queue.headline(row)}"
    ids = [row.task_id] if row.task_id else []
    if row.kind == shortfalls.BUDGET and row.run_id is None:
        for run in shortfalls.parked(tx, ledger.account(tx, row.request["account"])):
            leases.cancel(tx, run.id, now, "nobody answered in time", stop_reason="approval_expired")
        ids = [task.id for task in shortfalls.held(tx, row.id)]
    for task_id in ids:
        task = tasks.task(tx, task_id)
        if task is None or task.status != "NEEDS_APPROVAL":
            continue
        blocked = tasks.Move(
            task_id=task.id, to=TaskState.BLOCKED, actor=SYSTEM, reason=text, key=f"expired:{row.id}:{task.id}",
            block_kind=BlockKind.EXPIRED, wait_for="owner:operator", escalate_at=escalate_at,
        )  # fmt: skip
        tasks.advance(tx, blocked, now)
    audit.alert(
        tx, now, project_id=row.project_id, severity="warning", kind="APPROVAL_EXPIRED", text=text,
        key=f"expired:{row.id}", subject=row.id,
    )  # fmt: skip


def escalate(tx: Tx, task_id: str, expires_at: datetime, now: datetime) -> None:
    """Asks a person about a task that has been blocked for too long. Source: row B4."""
    task = tasks.task(tx, task_id)
    if task is None or task.status != "BLOCKED" or task.escalate_at is None or task.escalate_at > now:
        return
    approval_id = new_id("apr")
    summary = f"blocked ({task.block_kind}): {task.block_reason}; approve to try again, deny to keep it blocked"
    approvals.ask(
        tx,
        id=approval_id,
        kind="ESCALATION",
        project_id=task.project_id,
        mission_id=task.mission_id,
        task_id=task.id,
        subject=digest({"task": task.id, "version": task.version}),
        request={"summary": summary, "task": task.title, "persona": task.persona, "block_kind": task.block_kind},
        risk="YELLOW",
        rules=["escalation"],
        reasons=[task.block_reason or ""],
        asked_by="system:escalation",
        created_at=now,
        expires_at=expires_at,
    )
    move = tasks.Move(
        task_id=task.id, to=TaskState.NEEDS_APPROVAL, actor=SYSTEM, reason=summary, key=f"escalate:{approval_id}",
        wait_for=f"approval:{approval_id}",
    )  # fmt: skip
    tasks.advance(tx, move, now)
    audit.alert(
        tx, now, project_id=task.project_id, severity="warning", kind="TASK_BLOCKED", text=f"{task.title}: {summary}",
        key=f"blocked:{task.id}:{task.version}", subject=task.id,
    )  # fmt: skip


def resume_member(tx: Tx, member_id: str, now: datetime) -> None:
    """Resumes a member that was paused at its daily budget, once a new day has begun or its limit was raised."""
    squad.lock_member(tx, member_id)
    member = squad.member(tx, member_id)
    if member is None or not _solvent(tx, [member], now):
        return
    if squad.set_state(tx, member.id, "ACTIVE", None, seen="PAUSED"):
        for mission_id in missions.without_agent(tx, member.project_id):
            missions.notify(tx, mission_id, "tick", {}, now)


def _all_solvent(tx: Tx, now: datetime) -> list[str]:
    return _solvent(tx, squad.paused_for_budget(tx), now)


def _solvent(tx: Tx, members: Sequence[Any], now: datetime) -> list[str]:
    """Ids of those members that were paused at their daily budget and may resume; few statements however many."""
    pauses = [(member, *pause) for member in members if (pause := squad.budget_pause(member)) is not None]
    accounts = {row.id: row for row in ledger.some(tx, [account_id for _, account_id, _ in pauses])}
    zones = {member.project_id: "UTC" for member, _, _ in pauses}
    for project_id in zones:
        project = squad.project(tx, project_id)
        zones[project_id] = project.timezone if project else "UTC"
    return [
        member.id
        for member, account_id, need in pauses
        if account_id.rpartition(":")[2] != day_key(now, zones[member.project_id])
        or _covers(accounts.get(account_id), need)
    ]


def _covers(account: Any | None, need_microusd: int) -> bool:
    return (
        account is not None
        and not account.frozen
        and account.settled_microusd + need_microusd <= account.limit_microusd
    )  # fmt: skip
