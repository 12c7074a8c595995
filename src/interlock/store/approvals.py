"""Approvals: questions put to people and their answers; `answer()` is the only way to sign off.

Who may be asked is decided by the policy; who answers is known from authentication by the caller.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict, NotFound, Refused
from interlock.core.ids import new_id
from interlock.core.values import Actor, ActorKind
from interlock.state_machine.table import TERMINAL, TaskState
from interlock.store import audit, ledger, mailbox, missions, outbox, tasks
from interlock.store.schema import Approval, ApprovalAnswer, Person, table
from interlock.store.tx import Tx

APPROVALS, ANSWERS, PEOPLE = table(Approval), table(ApprovalAnswer), table(Person)
_a, _an = APPROVALS.c, ANSWERS.c
_TIME = UTCDateTime()
_APPROVAL = sa.select(APPROVALS).where(_a.id == b("approval"))
_LOCKED = _APPROVAL.with_for_update()
_LOCK_TASK = sa.select(tasks.TASKS.c.id).where(tasks.TASKS.c.id == b("task_")).with_for_update()
_GIVEN = sa.select(_an.person_id, _an.verdict, _an.surface, _an.created_at).where(_an.approval_id == b("approval"))
_OPEN = sa.text("approvals.status IN ('pending', 'consulting')")
"""Without an answer yet, whoever is asked; in the words of the partial index."""
_OPEN_OF_RUN = sa.select(_a.id).where(_a.run_id == b("run_"), _OPEN)
_PENDING_OF_TASK = sa.select(_a.id).where(_a.task_id == b("task_"), _a.status == "pending")
OF_RUN = sa.select(APPROVALS).where(_a.run_id == b("run_")).order_by(_a.created_at, _a.id)
_DECIDE = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _a.status == sa.text("'pending'"))
    .values(
        status=b("to"), decided_by=b("who"), note=b("words"), answered_at=b("now", type_=_TIME),
        edited_args=b("given", type_=_a.edited_args.type), edited=b("changed", type_=sa.Boolean()), subject=b("bound"),
    )
)  # fmt: skip
_USE = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _a.status == "approved")
    .values(status="used", used_at=b("now", type_=_TIME))
)
_VOID = (
    sa.update(APPROVALS)
    .where(_a.run_id == b("run_"), _a.status.in_(("pending", "approved", "consulting")))
    .values(status="void", answered_at=b("now", type_=_TIME), note=b("words"))
)
_VOID_ONE = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _a.status.in_(("pending", "approved", "consulting")))
    .values(status="void", note=b("words"))
)
_EXPIRE = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _OPEN, _a.expires_at <= b("now", type_=_TIME))
    .values(status="expired", answered_at=b("now", type_=_TIME))
)
_DENIED = sa.select(_a.id).where(_a.task_id == b("task_"), _a.status == "denied").limit(1)
_DUE = sa.select(_a.id).where(_OPEN, _a.expires_at <= b("now", type_=_TIME)).order_by(_a.id)
CONSULTING = "consulting"
"""The state of a question that models are asked before people are. Source: row C8."""
ROLES_THAT_ANSWER = frozenset({"operator", "admin"})


class AlreadyAnswered(Conflict):
    """Somebody was first."""

    def __init__(self, row: Any, name: str | None) -> None:
        self.approval_id, self.status, self.by = row.id, row.status, row.decided_by
        who = f" by {name}" if name else ""
        when = f" at {row.answered_at:%Y-%m-%d %H:%M:%S} UTC" if row.answered_at else ""
        answer = "approved" if row.status == "used" else row.status
        super().__init__(f"approval `{row.id}` was already {answer}{who}{when}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person answered on a surface. `person_id`, `name` and `role` come from authentication."""

    approval_id: str
    person_id: str
    name: str
    role: str
    surface: str
    verdict: str
    """approve or deny."""
    note: str | None = None
    args: dict[str, Any] | None = None
    subject: str | None = None
    """With edited arguments: the digest of what is approved instead."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What an answer led to: the approval's row now, and how many more people must approve."""

    approval: Any
    still_needed: int


def ask(tx: Tx, **values: Any) -> None:
    """Puts a question into the queue; with the status consulting, one that people hear of only once it is released.

    How that goes on is in `consulting`.
    """
    tx.add(Approval, **values)
    audit.note(
        tx,
        "APPROVAL_ASKED",
        Actor(ActorKind.AGENT, values["asked_by"])
        if not values["asked_by"].startswith("system:")
        else Actor(ActorKind.SYSTEM, values["asked_by"]),
        values["created_at"],
        project_id=values["project_id"],
        mission_id=values.get("mission_id"),
        task_id=values.get("task_id"),
        run_id=values.get("run_id"),
        subject=values["id"],
        kind=values["kind"],
        risk=values["risk"],
        tool=values["request"].get("tool"),
    )
    if values.get("status") != CONSULTING:
        outbox.tell(
            tx, "approval", about(values["id"]), values["created_at"], project_id=values["project_id"],
            mission_id=values.get("mission_id"),
        )  # fmt: skip


def about(approval_id: str) -> str:
    """What the outbox calls an approval."""
    return f"approval:{approval_id}"


def answer(tx: Tx, given: Answer, now: datetime) -> Answered:
    """Records a person's answer; the first valid one (or the last of N people) decides and wakes the parked run.

    Raises NotFound, AlreadyAnswered, Refused.
    """
    found = tx.one(_APPROVAL, {"approval": given.approval_id})
    if found is None:
        raise NotFound("approval", given.approval_id)
    if found.run_id is not None:
        mailbox.lock(tx, found.run_id)
    row: Any = tx.one(_LOCKED, {"approval": given.approval_id})
    if row.status == CONSULTING:
        raise Conflict(f"approval `{row.id}` cannot be answered yet: the models are being asked first")
    if row.status != "pending":
        raise AlreadyAnswered(row, name_of(tx, row.decided_by))
    if row.expires_at is not None and row.expires_at <= now:
        raise Conflict(f"approval `{row.id}` expired at {row.expires_at:%Y-%m-%d %H:%M} UTC: cancel or retry its task")
    approvers = _may(tx, row, given)
    tx.add(
        ApprovalAnswer, id=new_id("ans"), approval_id=row.id, person_id=given.person_id, surface=given.surface,
        verdict=given.verdict, note=given.note, args=given.args, created_at=now,
    )  # fmt: skip
    missing = 0 if given.verdict == "deny" else max(0, row.people - len(approvers) - 1)
    if missing == 0:
        _decide(tx, row, given, now)
    outbox.touch(tx, about(row.id))
    actor = Actor(ActorKind.HUMAN, given.person_id)
    audit.note(
        tx, "APPROVAL_ANSWERED", actor, now, project_id=row.project_id, mission_id=row.mission_id, task_id=row.task_id,
        run_id=row.run_id, subject=row.id, verdict=given.verdict, surface=given.surface, name=given.name,
        note=given.note, edited=given.args is not None,
    )  # fmt: skip
    return Answered(tx.one(_APPROVAL, {"approval": row.id}), missing)


def _may(tx: Tx, row: Any, given: Answer) -> set[str]:
    if given.role not in ROLES_THAT_ANSWER:
        raise Refused(
            f"{given.name} is a {given.role} and may not answer approvals: ask an admin for the role operator"
        )
    if row.not_requester and given.verdict == "approve" and given.person_id == row.on_behalf_of:
        raise Refused(f"the policy asks for a second person: {given.name} started this mission and cannot approve it")
    answers = tx.rows(_GIVEN, {"approval": row.id})
    if any(a.person_id == given.person_id for a in answers):
        raise Refused(f"{given.name} has answered `{row.id}` already: another person must")
    if given.args is not None and row.people > 1 and answers:
        raise Refused("somebody approved this as it stands: deny it, or approve it without edits")
    return {a.person_id for a in answers if a.verdict == "approve"}


def _decide(tx: Tx, row: Any, given: Answer, now: datetime) -> None:
    edited = given.args is not None and given.verdict == "approve"
    tx.must(
        _DECIDE,
        {
            "approval": row.id,
            "to": "approved" if given.verdict == "approve" else "denied",
            "who": given.person_id,
            "words": given.note,
            "given": given.args if edited else None,
            "changed": edited,
            "bound": given.subject if edited and given.subject else row.subject,
            "now": now,
        },
        1,
        Conflict(f"approval `{row.id}` was answered by somebody else just now"),
    )
    if row.kind == "BUDGET" and given.verdict == "approve":
        asked = {**row.request, **(given.args or {})}
        ledger.raise_limit(tx, row.request["account"], int(asked["amount_microusd"]), given.person_id, now)
    if row.task_id is not None:
        _release_task(tx, row, given, now)
    if row.run_id is not None and not open_of_run(tx, row.run_id):
        mailbox.wake(tx, row.run_id, now)


def _release_task(tx: Tx, row: Any, given: Answer, now: datetime) -> None:
    """Moves a task on when the last question that it waits for is answered; of two at once, one is the last."""
    tx.one(_LOCK_TASK, {"task_": row.task_id})
    task = tasks.task(tx, row.task_id)
    person = Actor(ActorKind.HUMAN, given.person_id)
    words = given.note or f"{given.verdict} by {given.name}"
    if row.kind == "ESCALATION" and task is not None and task.status in ("BLOCKED", "NEEDS_APPROVAL"):
        _escalated(tx, row, task, given.verdict, person, words, now)
        return
    if task is None or task.status != "NEEDS_APPROVAL" or pending_of_task(tx, row.task_id):
        return
    if row.kind == "TASK_REVIEW" and given.verdict == "approve":
        done = tasks.Move(
            task_id=task.id, to=TaskState.DONE, actor=person, reason=words, key=f"answer:{row.id}", approval_id=row.id
        )
        tasks.advance(tx, done, now)
        return
    back = tasks.Move(
        task_id=task.id, to=TaskState(task.held_from), actor=person, reason=words, key=f"answer:{row.id}"
    )  # fmt: skip
    tasks.advance(tx, back, now)
    if row.kind == "TASK_REVIEW":
        again = tasks.Move(
            task_id=task.id, to=TaskState.IN_PROGRESS, actor=person, reason=words, key=f"feedback:{row.id}",
            feedback=words,
        )  # fmt: skip
        tasks.advance(tx, again, now)
    missions.notify(
        tx, task.mission_id, "answered", {"task_id": task.id, "kind": row.kind, "verdict": given.verdict}, now
    )  # fmt: skip


def _escalated(tx: Tx, row: Any, task: Any, verdict: str, person: Actor, words: str, now: datetime) -> None:
    """Approved: the task is back where it was before. Denied: it is canceled with what the question named."""
    if verdict == "deny":
        for task_id in (task.id, *row.request.get("cancels", [])):
            found = tasks.task(tx, task_id)
            if found is not None and found.status not in TERMINAL:
                key = f"answer:{row.id}:{task_id}"
                move = tasks.Move(task_id=task_id, to=TaskState.CANCELED, actor=person, reason=words, key=key)
                tasks.advance(tx, move, now)
        return
    if task.status == "BLOCKED":
        held = tasks.Move(
            task_id=task.id, to=TaskState.NEEDS_APPROVAL, actor=person, reason=words, key=f"escalated:{row.id}",
            wait_for=f"approval:{row.id}",
        )  # fmt: skip
        tasks.advance(tx, held, now)
    back = tasks.Move(
        task_id=task.id, to=TaskState(task.held_from), actor=person, reason=words, key=f"answer:{row.id}"
    )  # fmt: skip
    tasks.advance(tx, back, now)
    missions.notify(tx, task.mission_id, "answered", {"task_id": task.id, "kind": row.kind, "verdict": verdict}, now)


def name_of(tx: Tx, person_id: str | None) -> str | None:
    """What the one who answered is called; their id where nobody of that id is known."""
    row = tx.one(sa.select(PEOPLE.c.name).where(PEOPLE.c.id == person_id)) if person_id else None
    return row.name if row else person_id


def approval(tx: Tx, approval_id: str) -> Any | None:
    """One approval."""
    return tx.one(_APPROVAL, {"approval": approval_id})


def open_of_run(tx: Tx, run_id: str) -> list[str]:
    """Ids of the questions that a run waits for, those about which models are asked first among them."""
    return [row.id for row in tx.rows(_OPEN_OF_RUN, {"run_": run_id})]


def pending_of_task(tx: Tx, task_id: str) -> list[str]:
    """Ids of the questions that a task waits for."""
    return [row.id for row in tx.rows(_PENDING_OF_TASK, {"task_": task_id})]


def was_denied(tx: Tx, task_id: str) -> bool:
    """Whether a person has refused anything that a task's agents asked for."""
    return tx.one(_DENIED, {"task_": task_id}) is not None


def of_run(tx: Tx, run_id: str) -> list[Any]:
    """All approvals of a run in order."""
    return tx.rows(OF_RUN, {"run_": run_id})


def approvals(tx: Tx, *, status: str | None = "pending", mission_id: str | None = None, most: int = 200) -> list[Any]:
    """Approvals, oldest first; None for all states."""
    query = sa.select(APPROVALS).order_by(_a.created_at, _a.id).limit(most)
    if status is not None:
        query = query.where(_a.status == status)
    if mission_id is not None:
        query = query.where(_a.mission_id == mission_id)
    return tx.rows(query)


def use(tx: Tx, approval_id: str, now: datetime) -> None:
    """Spends an approval; fails the unit where it is not approved or was used before."""
    tx.must(_USE, {"approval": approval_id, "now": now}, 1, Conflict(f"approval `{approval_id}` cannot be used again"))


def void(tx: Tx, approval_id: str, reason: str) -> None:
    """Takes an approval out of force: what it was for is no longer so."""
    tx.run(_VOID_ONE, {"approval": approval_id, "words": reason})
    outbox.touch(tx, about(approval_id))


def void_of_run(tx: Tx, run_id: str, now: datetime, reason: str) -> None:
    """Takes all open approvals of a run out of force."""
    voids = {"run_": run_id, "words": reason, "now": now}
    if tx.dialect == "postgresql":
        tx.run(_VOID, voids)
    elif tx.count(_VOID, voids) == 0:
        return
    outbox.touch_voided(tx, run_id, now)


def expire(tx: Tx, approval_id: str, now: datetime) -> Any | None:
    """Ends a question whose time is over; returns it, or None where it was answered or is not due."""
    row = tx.one(_APPROVAL, {"approval": approval_id})
    if row is not None and row.run_id is not None:
        mailbox.lock(tx, row.run_id)
    if tx.count(_EXPIRE, {"approval": approval_id, "now": now}) != 1:
        return None
    outbox.touch(tx, about(approval_id))
    return tx.one(_APPROVAL, {"approval": approval_id})


def overdue(tx: Tx, now: datetime) -> list[str]:
    """Ids of pending approvals past their expiry."""
    return [row.id for row in tx.rows(_DUE, {"now": now})]
