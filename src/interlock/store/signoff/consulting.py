"""Questions on which models vote before people are asked: created, released to people, or refused. Source: row C8.

Who votes, and how votes are counted, is in `agents.special.voting`; answers of people are in `approvals`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.state_machine.table import TaskState
from interlock.store.auditing import audit
from interlock.store.mailboxes import mailbox
from interlock.store.signoff import approvals
from interlock.store.signoff.approvals import APPROVALS, CONSULTING
from interlock.store.tx import Tx
from interlock.store.work import tasks

CONSENSUS = "system:consensus"
"""The actor recorded when the models refuse."""
VOTES = "votes"
"""The key in a request under which each model's vote is kept: seat, model, verdict, reason."""
_a = APPROVALS.c
_IS_OUT = sa.and_(_a.id == b("approval"), _a.status == CONSULTING)
_RELEASE = sa.update(APPROVALS).where(_IS_OUT).values(status="pending", reasons=b("why", type_=_a.reasons.type))
_REFUSE = (
    sa.update(APPROVALS)
    .where(_IS_OUT)
    .values(status="denied", decided_by=CONSENSUS, note=b("words"), answered_at=b("now", type_=UTCDateTime()))
)
_KEEP = sa.update(APPROVALS).where(_a.id == b("approval")).values(request=b("asked", type_=_a.request.type))
_CONSULTED = sa.select(APPROVALS).where(approvals.OPEN, _a.status == CONSULTING)


def consulted(tx: Tx) -> list[Any]:
    """The questions on which models are voting, oldest first."""
    return sorted(tx.rows(_CONSULTED), key=lambda row: (row.created_at, row.id))


def release(tx: Tx, approval_id: str, now: datetime, reasons: Sequence[str] = ()) -> Any | None:
    """Releases a question to people, with the models' answers among its reasons; its task now waits for them.

    Returns its row; None if models are not (or no longer) voting on it.
    """
    row = _locked(tx, approval_id)
    if row is None:
        return None
    if tx.count(_RELEASE, {"approval": approval_id, "why": [*row.reasons, *reasons]}) != 1:
        return None
    audit.note(
        tx, "APPROVAL_RELEASED", Actor(ActorKind.SYSTEM, CONSENSUS), now, project_id=row.project_id,
        mission_id=row.mission_id, task_id=row.task_id, run_id=row.run_id, subject=row.id, reasons=list(reasons),
    )  # fmt: skip
    task = tasks.task(tx, row.task_id) if row.task_id else None
    if task is not None and task.status == "IN_PROGRESS":
        wait = tasks.Move(
            task_id=task.id, to=TaskState.NEEDS_APPROVAL, actor=SYSTEM, key=f"hold:{row.id}",
            reason=row.request.get("summary", "a call waits for a person"), wait_for=f"approval:{row.id}",
        )  # fmt: skip
        tasks.advance(tx, wait, now)
    needs_others = row.people > 1 or row.not_requester
    approvals.notify_people(tx, row.id, row.project_id, row.mission_id, row.run_id, now, needs_others=needs_others)
    return approvals.approval(tx, approval_id)


def keep_votes(tx: Tx, approval_id: str, given: Sequence[Mapping[str, Any]]) -> None:
    """Stores the models' votes with the question, for its card."""
    row = approvals.approval(tx, approval_id)
    if row is not None:
        tx.run(_KEEP, {"approval": approval_id, "asked": {**row.request, VOTES: [dict(each) for each in given]}})


def refuse_by_consensus(tx: Tx, approval_id: str, reasons: str, now: datetime) -> bool:
    """Denies a question on behalf of the models, and wakes its run; the agent is told the `reasons`.

    False if models are not (or no longer) voting on it.
    """
    row = _locked(tx, approval_id)
    if row is None or tx.count(_REFUSE, {"approval": approval_id, "words": reasons, "now": now}) != 1:
        return False
    audit.note(
        tx, "APPROVAL_ANSWERED", Actor(ActorKind.SYSTEM, CONSENSUS), now, project_id=row.project_id,
        mission_id=row.mission_id, task_id=row.task_id, run_id=row.run_id, subject=row.id, verdict="deny",
        surface="consensus", name="the models that were asked", note=reasons, edited=False,
    )  # fmt: skip
    if row.run_id is not None and not approvals.open_of_run(tx, row.run_id):
        mailbox.wake(tx, row.run_id, now)
    return True


def _locked(tx: Tx, approval_id: str) -> Any | None:
    """The row, locked after its run's lane: the same order as in answering and cancelling."""
    row = approvals.approval(tx, approval_id)
    if row is None or row.status != CONSULTING:
        return None
    if row.run_id is not None:
        mailbox.lock(tx, row.run_id)
    return row
