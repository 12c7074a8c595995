"""Carries out an answer: raises limits, admits tools, resumes, returns or cancels tasks.

Whether an answer is valid is decided in `approvals`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import Actor, ActorKind
from interlock.state_machine.table import TERMINAL, TaskState
from interlock.store.money import shortfalls
from interlock.store.schema import Approval, table
from interlock.store.signoff import known_tools
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks

_a = table(Approval).c
_LOCK_TASK = sa.select(tasks.TASKS.c.id).where(tasks.TASKS.c.id == b("task_")).with_for_update()
_PENDING_OF_TASK = sa.select(_a.id).where(_a.task_id == b("task_"), _a.status == "pending")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer that decided a question."""

    verdict: str
    """approve or deny."""
    person_id: str
    name: str
    note: str | None
    args: dict[str, Any] | None = None

    @property
    def actor(self) -> Actor:
        """The person as an actor."""
        return Actor(ActorKind.HUMAN, self.person_id)


def follow(tx: Tx, row: Any, word: Decision, now: datetime) -> None:
    """Carries out the answer to a question (its row), except for waking the run that waits for it."""
    if row.kind == "BUDGET" and word.verdict == "approve":
        shortfalls.pay(tx, row, word.args, word.person_id, word.note, now)
    if row.kind == "BUDGET":
        shortfalls.release(tx, row, word.actor, word.note or f"{word.verdict} by {word.name}", now)
    if row.kind == "ESCALATION" and word.verdict == "approve":
        shortfalls.restore_tasks(tx, row, word.actor, word.note or f"{word.verdict} by {word.name}", now)
    if row.kind == "TOOL_CHANGE":
        known_tools.judged(tx, row.id, is_accepted=word.verdict == "approve")
    if row.task_id is not None:
        _release_task(tx, row, word, now)


def pending_of_task(tx: Tx, task_id: str) -> list[str]:
    """Ids of the open questions that a task waits for."""
    return [row.id for row in tx.rows(_PENDING_OF_TASK, {"task_": task_id})]


def _release_task(tx: Tx, row: Any, word: Decision, now: datetime) -> None:
    """Moves a task on when its last open question is answered; concurrent answers are serialised."""
    tx.one(_LOCK_TASK, {"task_": row.task_id})
    task = tasks.task(tx, row.task_id)
    reason = word.note or f"{word.verdict} by {word.name}"
    if row.kind == "ESCALATION" and task is not None and task.status in ("BLOCKED", "NEEDS_APPROVAL"):
        _escalated(tx, row, task, word, reason, now)
        return
    if task is None or task.status != "NEEDS_APPROVAL" or pending_of_task(tx, row.task_id):
        return
    if row.kind == "TASK_REVIEW" and word.verdict == "approve":
        done = tasks.Move(
            task_id=task.id, to=TaskState.DONE, actor=word.actor, reason=reason, key=f"answer:{row.id}",
            approval_id=row.id,
        )  # fmt: skip
        tasks.advance(tx, done, now)
        return
    _back(tx, row, task, word, reason, now)
    if row.kind == "TASK_REVIEW":
        again = tasks.Move(
            task_id=task.id, to=TaskState.IN_PROGRESS, actor=word.actor, reason=reason, key=f"feedback:{row.id}",
            feedback=reason,
        )  # fmt: skip
        tasks.advance(tx, again, now)
    _tell(tx, row, task, word, now)


def _escalated(tx: Tx, row: Any, task: Any, word: Decision, reason: str, now: datetime) -> None:
    """Approved: the task returns to its previous state. Denied: it is cancelled, with what the question named."""
    if word.verdict == "deny":
        for task_id in (task.id, *row.request.get("cancels", [])):
            found = tasks.task(tx, task_id)
            if found is not None and found.status not in TERMINAL:
                key = f"answer:{row.id}:{task_id}"
                move = tasks.Move(task_id=task_id, to=TaskState.CANCELED, actor=word.actor, reason=reason, key=key)
                tasks.advance(tx, move, now)
        return
    if task.status == "BLOCKED":
        held = tasks.Move(
            task_id=task.id, to=TaskState.NEEDS_APPROVAL, actor=word.actor, reason=reason, key=f"escalated:{row.id}",
            wait_for=f"approval:{row.id}",
        )  # fmt: skip
        tasks.advance(tx, held, now)
    _back(tx, row, task, word, reason, now)
    _tell(tx, row, task, word, now)


def _back(tx: Tx, row: Any, task: Any, word: Decision, reason: str, now: datetime) -> None:
    to = TaskState(task.held_from)
    move = tasks.Move(task_id=task.id, to=to, actor=word.actor, reason=reason, key=f"answer:{row.id}")
    tasks.advance(tx, move, now)


def _tell(tx: Tx, row: Any, task: Any, word: Decision, now: datetime) -> None:
    news = {"task_id": task.id, "kind": row.kind, "verdict": word.verdict}
    if row.kind == "PLAN":
        news |= {"approval_id": row.id, "note": word.note}
    missions.notify(tx, task.mission_id, "answered", news, now)
