"""Cancelling missions, tasks and runs, and acknowledging alerts."""

from datetime import datetime, timedelta
from typing import Any

from interlock.core.errors import Conflict, UsageError
from interlock.core.values import ENDED_RUNS
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.operations import executing
from interlock.desk.reading.finding import find, find_any
from interlock.desk.reading.views import View
from interlock.state_machine.table import TERMINAL, BlockKind, TaskState
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import held_emails
from interlock.store.work import missions as mission_store
from interlock.store.work import tasks as task_store

TRIES = 3


async def cancel(
    context: DeskContext,
    person: Person,
    ident: str,
    *,
    reason: str = "canceled by an operator",
    wait_s: float = executing.PROOF_S,
) -> View:
    """Cancels a mission, a task or a run: {kind, id, status, runs}, with the runs that were asked to stop.

    `in_flight` are those of them that were executing (see `executing.run_views`); if there are any, the result includes
    `executing.stop_report` after `wait_s` at most. Cancelling again has no effect: `changed` is false. Source: row I8.

    Raises Unknown, Refused, and Conflict for what has ended otherwise.
    """
    require_operator(person, "cancel anything")
    patience = timedelta(seconds=context.settings.times.blocked_escalation_s)
    view = await _tried(context, person, ident, reason, patience)
    return {**view, **await executing.stop_report(context, view["in_flight"], wait_s)} if view["in_flight"] else view


async def _tried(context: DeskContext, person: Person, ident: str, reason: str, patience: timedelta) -> View:
    for _ in range(TRIES - 1):
        try:
            return await context.store.write(_cancel, person, ident, reason, context.clock.now(), patience)
        except Ended:
            raise
        except Conflict:
            continue
    return await context.store.write(_cancel, person, ident, reason, context.clock.now(), patience)


class Ended(Conflict):
    """It has already ended by itself."""

    def __init__(self, kind: str, ident: str, status: str) -> None:
        self.kind, self.ident, self.status = kind, ident, status
        super().__init__(f"{kind} `{ident}` is {status} already: there is nothing to cancel")


def _cancel(tx: Tx, person: Person, ident: str, reason: str, now: datetime, patience: timedelta) -> View:
    kind, found = find_any(tx, ("task", "run"), ident)
    if kind == "run":
        return _cancel_run(tx, person, found, reason, now, patience)
    return end(tx, person, task_store.task(tx, found), reason, now)


def end(tx: Tx, person: Person, row: Any, reason: str, now: datetime, *, key: str | None = None) -> View:
    """Cancels a mission or a task (its row) in the caller's transaction; returns as `cancel`, without the stop report.

    `key` is the idempotency key of the transition, instead of a generated one.
    """
    kind = "mission" if row.parent_id is None else "task"
    if row.status == TaskState.CANCELED:
        return {"kind": kind, "id": row.id, "status": row.status, "runs": [], "in_flight": [], "changed": False}
    if row.status == TaskState.DONE:
        raise Ended(kind, row.id, row.status)
    stopped, in_flight = stop_runs(tx, row, reason, now)
    held_emails.hold(tx, kind, row.id, f"its {kind} was canceled ({reason})")
    if kind == "mission":
        _end_mission(tx, person, row.id, reason, now, key)
    else:
        if row.assignee_agent_id is not None:
            leases.cancel_started_by(tx, row.assignee_agent_id, now, reason)
        _end_task(tx, person, row, reason, now, key)
    status = str(TaskState.CANCELED)
    return {"kind": kind, "id": row.id, "status": status, "runs": stopped, "in_flight": in_flight, "changed": True}


def stop_runs(tx: Tx, row: Any, reason: str, now: datetime) -> tuple[list[str], list[View]]:
    """Stops the runs of a task or a mission, except the coordinator's own, which must process the events.

    Returns their ids, and those that were executing.
    """
    is_mission = row.parent_id is None
    found = traces.open_runs(tx, mission_id=row.id) if is_mission else traces.open_runs(tx, task_id=row.id)
    open_runs = [run for run in found if run.kind != "mission"]
    in_flight = executing.run_views(tx, [run for run in open_runs if run.status == "running"])
    for run in open_runs:
        leases.cancel(tx, run.id, now, reason)
    return [run.id for run in open_runs], in_flight


def _end_mission(tx: Tx, person: Person, mission_id: str, reason: str, now: datetime, key: str | None) -> None:
    mission_store.mark_canceled(tx, mission_id, now)
    task_store.lock(tx, mission_id)
    rows = task_store.of_mission(tx, mission_id)
    for row in sorted(rows, key=lambda r: r.parent_id is not None):
        if row.status not in TERMINAL:
            _end_task(tx, person, row, reason, now, key if row.id == mission_id else None)


def _end_task(tx: Tx, person: Person, row: Any, reason: str, now: datetime, key: str | None) -> None:
    for approval_id in approvals.pending_of_task(tx, row.id):
        approvals.void(tx, approval_id, reason)
    move = task_store.Move(
        task_id=row.id, to=TaskState.CANCELED, actor=person.actor, reason=reason,
        key=key or f"cancel:{row.id}",
    )  # fmt: skip
    task_store.advance(tx, move, now)


def _cancel_run(tx: Tx, person: Person, run_id: str, reason: str, now: datetime, patience: timedelta) -> View:
    run = traces.run(tx, run_id)
    assert run is not None
    if run.status == "cancelled":
        return {"kind": "run", "id": run_id, "status": run.status, "runs": [], "in_flight": [], "changed": False}
    if run.status in ENDED_RUNS:
        raise Ended("run", run_id, run.status)
    if run.kind == "mission":
        raise UsageError(f"run `{run_id}` is a step of a coordinator: cancel its mission `{run.mission_id}` instead")
    in_flight = executing.run_views(tx, [run] if run.status == "running" else [])
    status = leases.cancel(tx, run_id, now, reason)
    held_emails.hold(tx, "run", run_id, f"its run was canceled ({reason})")
    if status == "cancelled" and run.mission_id is not None:
        tell_coordinator(tx, person, run, reason, now, patience)
    audit.note(
        tx, "RUN_CANCELED", person.actor, now, project_id=run.project_id, mission_id=run.mission_id,
        task_id=run.task_id, run_id=run_id, reason=reason, surface=person.surface,
    )  # fmt: skip
    return {"kind": "run", "id": run_id, "status": status, "runs": [run_id], "in_flight": in_flight, "changed": True}


def tell_coordinator(tx: Tx, person: Person, run: Any, reason: str, now: datetime, patience: timedelta) -> None:
    """Reports the end of a run that no worker was executing; a task whose question it held waits for a person."""
    ended = {
        "run_id": run.id, "kind": run.kind, "purpose": run.payload.get("purpose"), "task_id": run.task_id,
        "status": "cancelled", "stop_reason": "cancelled", "result": None, "error": reason,
    }  # fmt: skip
    task = task_store.task(tx, run.task_id) if run.task_id else None
    if task is not None and task.status == TaskState.NEEDS_APPROVAL and not approvals.pending_of_task(tx, task.id):
        move = task_store.Move(
            task_id=task.id, to=TaskState.BLOCKED, actor=person.actor, reason=f"its run was canceled: {reason}",
            key=f"cancel:{run.id}", block_kind=BlockKind.OPERATOR, wait_for=f"owner:{person.id}",
            escalate_at=now + patience,
        )  # fmt: skip
        task_store.advance(tx, move, now)
    mission_store.notify(tx, run.mission_id, "run_ended", ended, now)


async def acknowledge(context: DeskContext, person: Person, ident: str) -> View:
    """Acknowledges an alert; `changed` is false if it was acknowledged before.

    Raises Unknown, Refused.
    """
    require_operator(person, "acknowledge alerts")
    return await context.store.write(_acknowledge, person, ident, context.clock.now())


def _acknowledge(tx: Tx, person: Person, ident: str, now: datetime) -> View:
    alert_id = find(tx, "alert", ident)
    row, changed = audit.one(tx, alert_id), audit.acknowledge(tx, alert_id, person.id, now)
    if changed and row is not None:
        audit.note(
            tx, "ALERT_ACKNOWLEDGED", person.actor, now, project_id=row.project_id, subject=alert_id,
            surface=person.surface, name=person.name, kind=row.kind,
        )  # fmt: skip
    return {"id": alert_id, "changed": changed}
