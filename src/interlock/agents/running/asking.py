"""Questions that a run puts to people: queued, while its task waits for the answer and the run is parked.

What is asked, and why, is up to the caller; answers are taken up by `calls`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from interlock.agents.special import voting
from interlock.core.values import SYSTEM
from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.messages import rounds
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import tasks
from interlock.tools.execute import CallStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A question about a call that waits for a person: the columns of an `approvals` row, except those of the run."""

    call_id: str | None
    """Our id of the call; None if the question is not about a call."""
    subject: str
    approval: dict[str, Any]
    call_status: str = CallStatus.HELD
    replaces: str | None = None
    """An approval that this one replaces."""
    args: Any = None
    """Where people have changed the arguments: what they are now."""
    consults: voting.Consultation | None = None
    """The models that are asked before people are. Source: row C8."""


def ask(tx: Tx, claim: Claim, holds: Sequence[Hold], now: datetime) -> None:
    """Puts questions into the queue and the task into NEEDS_APPROVAL."""
    run = claim.run
    task_id = run.task_id or run.mission_id
    for order, hold in enumerate(holds):
        if hold.replaces is not None:
            approvals.void(tx, hold.replaces, "what was approved has changed")
        approvals.ask(
            tx, project_id=run.project_id, mission_id=run.mission_id, task_id=task_id, run_id=run.id,
            tool_call_id=hold.call_id, subject=hold.subject, asked_by=run.agent_id,
            created_at=now + timedelta(microseconds=order), **hold.approval,
        )  # fmt: skip
        if hold.consults is not None:
            voting.ask(tx, hold.consults.who, hold.consults.question, now)
        if hold.call_id is not None:
            traces.hold(tx, hold.call_id, hold.call_status, hold.approval["id"], hold.subject, hold.args)
    asked = [hold for hold in holds if hold.approval.get("status") != approvals.CONSULTING]
    if asked and task_id is not None:
        task = tasks.task(tx, task_id)
        if task is not None and task.status == "IN_PROGRESS":
            first = asked[0].approval
            wait = tasks.Move(
                task_id=task_id, to=TaskState.NEEDS_APPROVAL, actor=SYSTEM, key=f"hold:{first['id']}",
                reason=first["request"].get("summary", "a call waits for a person"), wait_for=f"approval:{first['id']}",
            )  # fmt: skip
            tasks.advance(tx, wait, now)


def park_unless_answered(tx: Tx, claim: Claim, now: datetime) -> bool:
    """Parks a run that waits for people; returns False if all of them have answered in the meantime.

    The lane is locked first, as `approvals.answer` does, so that no answer is missed.
    """
    mailbox.lock(tx, claim.run.id)
    if not approvals.open_of_run(tx, claim.run.id):
        mailbox.own(tx, claim)
        return False
    mailbox.park(tx, claim, now)
    squad.set_status(tx, claim.run.agent_id, "idle", now)
    rounds.ended(tx, claim.run, now)
    return True
