"""Tasks: their rows, threads and deliverables, and `advance()`, the only way to change a task's state.

Which changes are allowed is the state machine's job.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict, NotFound, Refused
from interlock.core.ids import new_id
from interlock.core.values import Actor
from interlock.state_machine.machine import Allowed, TaskFacts, check, held_from_after
from interlock.state_machine.table import HELD, TERMINAL, BlockKind, TaskState
from interlock.store.auditing import audit
from interlock.store.messages import feed, mention_notices, outbox
from interlock.store.schema import Approval, Deliverable, Task, TaskDependency, TaskMessage, TaskTransition, table
from interlock.store.tx import Tx
from interlock.store.work import evidence, missions

TASKS, DEPENDENCIES, TRANSITIONS = table(Task), table(TaskDependency), table(TaskTransition)
MESSAGES, DELIVERABLES = table(TaskMessage), table(Deliverable)
_t, _d, _tr, _tm, _de = TASKS.c, DEPENDENCIES.c, TRANSITIONS.c, MESSAGES.c, DELIVERABLES.c
_TIME = UTCDateTime()
TASK = sa.select(TASKS).where(_t.id == b("task"))
_TO_CHANGE = TASK.with_for_update()
_UPSTREAM = (
    sa.select(_t.id, _t.status, _t.superseded_by)
    .join_from(DEPENDENCIES, TASKS, _d.depends_on_id == _t.id)
    .where(_d.task_id == b("task"))
)
_REVIEWERS = sa.select(_t.assignee_agent_id).where(
    _t.mission_id == b("mission"), _t.reviews_task_id == b("task"), _t.assignee_agent_id.is_not(None)
)
_MISSION_STATE = (
    sa.select(_t.status, missions.MISSIONS.c.canceled_at)
    .join_from(TASKS, missions.MISSIONS, missions.MISSIONS.c.id == _t.id, isouter=True)
    .where(_t.id == b("mission"))
)
_WAITING = sa.select(sa.func.count().label("pending")).where(
    table(Approval).c.task_id == b("task"), table(Approval).c.status == sa.text("'pending'")
)
_RECORD = sa.select(table(Approval).c.request).where(
    table(Approval).c.id == b("approval"),
    table(Approval).c.kind == "TASK_REVIEW",
    table(Approval).c.task_id == b("task"),
    table(Approval).c.status == "approved",
)
_TRANSITION = sa.select(TRANSITIONS).where(_tr.idempotency_key == b("key"))
_MOVE_COLUMNS = (
    "status", "assignee_agent_id", "held_from", "block_kind", "block_reason", "wait_for", "escalate_at", "feedback",
    "deliverable_id", "approval_id", "review_cycles", "attempt", "generation",
)  # fmt: skip
_MOVE = (
    sa.update(TASKS)
    .where(_t.id == b("task"), _t.status == b("was"), _t.version == b("seen"))
    .values(
        **{name: b(f"to_{name}", type_=_t[name].type) for name in _MOVE_COLUMNS},
        version=_t.version + 1,
        updated_at=b("now", type_=_TIME),
        ended_at=b("ended", type_=_TIME),
        idle_calls=sa.text("0"),
        idle_microusd=sa.text("0"),
    )
)
_IDLE = (
    sa.update(TASKS)
    .where(_t.id == b("task"))
    .values(idle_calls=b("calls"), idle_microusd=b("amount", type_=sa.BigInteger()))
)
_BY_MISSION = sa.select(TASKS).where(_t.mission_id == b("mission")).order_by(_t.created_at, _t.id)
_LINKS = (
    sa.select(_d.task_id, _d.depends_on_id)
    .join_from(DEPENDENCIES, TASKS, _d.task_id == _t.id)
    .where(_t.mission_id == b("mission"))
    .order_by(_d.task_id, _d.depends_on_id)
)
_HANDED_IN = (
    sa.update(TASKS)
    .where(_t.id == b("task"))
    .values(deliverable_id=b("deliverable"), updated_at=b("now", type_=_TIME), version=_t.version + 1)
)
_DELIVERABLE = sa.select(DELIVERABLES).where(_de.id == b("deliverable"))
_THREAD = sa.select(MESSAGES).where(_tm.task_id == b("task")).order_by(_tm.created_at, _tm.id)
_NOTES = (
    sa.select(_tm.text, _tm.created_at)
    .where(
        sa.or_(_tm.task_id == b("task"), _tm.task_id == b("mission")),
        _tm.kind == sa.text("'COMMENT'"), _tm.author_kind == sa.text("'human'"),
    )
    .order_by(_tm.created_at.desc(), _tm.id.desc())
    .limit(b("most", type_=sa.Integer()))
)  # fmt: skip
_CHANGES = sa.select(TRANSITIONS).where(_tr.task_id == b("task")).order_by(_tr.created_at, _tr.id)
_STUCK = sa.select(_t.id).where(_t.ended_at.is_(None), _t.status == "BLOCKED", _t.escalate_at <= b("now", type_=_TIME))
_UNSET: Any = object()
_KEEPS_REASON = frozenset(
    {("ASSIGNED", "IN_PROGRESS"), ("ASSIGNED", "NEEDS_APPROVAL"), ("IN_PROGRESS", "NEEDS_APPROVAL"),
     ("NEEDS_APPROVAL", "ASSIGNED"), ("NEEDS_APPROVAL", "IN_PROGRESS")}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A requested change of a task's state. Idempotent by `key`: a repetition returns the first result."""

    task_id: str
    to: TaskState
    actor: Actor
    reason: str
    key: str
    block_kind: BlockKind | None = None
    wait_for: str | None = None
    escalate_at: datetime | None = None
    assignee_agent_id: str | None = _UNSET
    feedback: str | None = _UNSET
    approval_id: str | None = None
    failed_attempt: bool = False
    new_generation: bool = False
    """Whether another agent takes over."""
    agent_lost: bool = False


class TransitionRefused(Refused):
    """The state machine does not allow this transition by this actor."""

    def __init__(self, task_id: str, status: str, to: str, why: str) -> None:
        self.task_id, self.status, self.to, self.why = task_id, status, to, why
        super().__init__(f"task `{task_id}` cannot go from {status} to {to}: {why}")


def advance(tx: Tx, move: Move, now: datetime) -> str:
    """Changes a task's state if the state machine allows it; returns the id of the transition.

    Writes the transition, the activity and the event for the mission's coordinator in the same transaction.

    Raises NotFound, TransitionRefused, and Conflict if somebody else changed the task first.
    """
    row = tx.one(_TO_CHANGE, {"task": move.task_id})
    if done := tx.one(_TRANSITION, {"key": move.key}):
        return str(done.id)
    if row is None:
        raise NotFound("task", move.task_id)
    facts = facts_of(tx, row, move)
    verdict = check(facts, move.to, move.actor, reason=move.reason, block_kind=move.block_kind)
    if not isinstance(verdict, Allowed):
        raise TransitionRefused(move.task_id, row.status, str(move.to), verdict.why)
    moved = _moved(row, facts, move, now)
    tx.must(_MOVE, moved, 1, Conflict(f"task `{move.task_id}` was changed by somebody else: look again"))
    transition_id = new_id("trn")
    tx.add(
        TaskTransition,
        id=transition_id,
        task_id=move.task_id,
        from_status=row.status,
        to_status=str(move.to),
        actor_kind=str(move.actor.kind),
        actor_id=move.actor.id,
        reason=move.reason,
        idempotency_key=move.key,
        created_at=now,
    )
    _announce(tx, row, move, now)
    if row.status in HELD and move.to not in HELD:
        audit.settle(tx, audit.TASK_WAITS, row.id, now)
    return transition_id


def facts_of(tx: Tx, row: Any, move: Move) -> TaskFacts:
    """The facts about a task that the state machine needs."""
    wanted = "REVIEW" if row.reviews_task_id else "DONE"
    upstream = tx.rows(_UPSTREAM, {"task": row.id})
    met = all(
        u.status == "DONE" or (u.id == row.reviews_task_id and u.status == wanted) or u.superseded_by for u in upstream
    )
    root = tx.one(_MISSION_STATE, {"mission": row.mission_id})
    assignee = row.assignee_agent_id if move.assignee_agent_id is _UNSET else move.assignee_agent_id
    return TaskFacts(
        status=TaskState(row.status),
        persona=row.persona,
        is_root=row.parent_id is None,
        blocked_kind=BlockKind(row.block_kind) if row.block_kind else None,
        held_from=TaskState(row.held_from) if row.held_from else None,
        assignee_agent_id=assignee,
        reviewer_agent_ids=tuple(
            each.assignee_agent_id for each in tx.rows(_REVIEWERS, {"mission": row.mission_id, "task": row.id})
        ),
        has_deliverable=row.deliverable_id is not None,
        has_approval_record=_is_approved(tx, row, move.approval_id),
        missing_evidence=evidence.missing(tx, row) if row.checks and move.to is TaskState.DONE else (),
        dependencies_met=met,
        mission_canceled=root is not None and (root.status == "CANCELED" or root.canceled_at is not None),
        waiting_path=move.wait_for is not None,
        agent_lost=move.agent_lost,
        pending_approvals=waiting.pending if (waiting := tx.one(_WAITING, {"task": row.id})) else 0,
    )


def _is_approved(tx: Tx, row: Any, approval_id: str | None) -> bool:
    """Whether the approval is for the task's latest deliverable, and not for an earlier version or something else."""
    record = tx.one(_RECORD, {"approval": approval_id, "task": row.id}) if approval_id else None
    return record is not None and record.request.get("deliverable") == row.deliverable_id


def _moved(row: Any, facts: TaskFacts, move: Move, now: datetime) -> dict[str, Any]:
    waits = move.to in HELD
    return {
        "task": row.id,
        "was": row.status,
        "seen": row.version,
        "now": now,
        "ended": now if move.to in TERMINAL else None,
        "to_status": str(move.to),
        "to_assignee_agent_id": facts.assignee_agent_id,
        "to_held_from": held_from_after(facts, move.to),
        "to_block_kind": str(move.block_kind) if move.to is TaskState.BLOCKED and move.block_kind else None,
        "to_block_reason": _reason_kept(row, move),
        "to_wait_for": move.wait_for if waits else None,
        "to_escalate_at": move.escalate_at if waits else None,
        "to_feedback": row.feedback if move.feedback is _UNSET else move.feedback,
        "to_deliverable_id": row.deliverable_id,
        "to_approval_id": move.approval_id,
        "to_review_cycles": row.review_cycles + int(row.status == "REVIEW" and move.to is TaskState.IN_PROGRESS),
        "to_attempt": 0 if move.new_generation else row.attempt + int(move.failed_attempt),
        "to_generation": row.generation + int(move.new_generation),
    }


def _reason_kept(row: Any, move: Move) -> str | None:
    """The reason why a task is blocked, or was reassigned; kept until the next deliverable. Source: row E8."""
    if move.to is TaskState.BLOCKED or move.agent_lost:
        return move.reason
    taken_over = row.block_kind is None and (row.status, str(move.to)) in _KEEPS_REASON
    return str(row.block_reason) if taken_over and row.block_reason else None


def _announce(tx: Tx, row: Any, move: Move, now: datetime) -> None:
    audit.note(
        tx,
        "TASK_TRANSITION",
        move.actor,
        now,
        project_id=row.project_id,
        mission_id=row.mission_id,
        task_id=row.id,
        **{"from": row.status, "to": str(move.to), "reason": move.reason, "title": row.title},
    )
    payload = {"task_id": row.id, "from": row.status, "to": str(move.to), "by": str(move.actor.kind)}
    missions.notify(tx, row.mission_id, "task_changed", payload, now)
    feed.append(tx, "task_changed", now, project_id=row.project_id, payload={**payload, "mission_id": row.mission_id})
    _tell_people(tx, row, move, now)


def _tell_people(tx: Tx, row: Any, move: Move, now: datetime) -> None:
    """Updates the mission's card in its threads; if the mission itself moved, announces its end or its wait."""
    outbox.touch(tx, f"mission:{row.mission_id}")
    if row.parent_id is not None:
        return
    if move.to in TERMINAL:
        subject = f"ended:{row.mission_id}"
    elif move.to is TaskState.BLOCKED:
        subject = f"blocked:{row.mission_id}:{row.version}"
    else:
        return
    outbox.notify(tx, "ended", subject, now, project_id=row.project_id, mission_id=row.mission_id)


def add(tx: Tx, **values: Any) -> None:
    """Inserts a task in INBOX."""
    tx.add(Task, **values)
    payload = {"task_id": values["id"], "from": None, "to": "INBOX", "mission_id": values["mission_id"]}
    feed.append(tx, "task_changed", values["created_at"], project_id=values["project_id"], payload=payload)


def depend(tx: Tx, task_id: str, on: str) -> None:
    """Adds a dependency between two tasks."""
    tx.add(TaskDependency, task_id=task_id, depends_on_id=on)


def task(tx: Tx, task_id: str) -> Any | None:
    """One task."""
    return tx.one(TASK, {"task": task_id})


def lock(tx: Tx, task_id: str) -> None:
    """Prevents others from changing a task's state, or what belongs to a mission by its root, until the end of the
    transaction."""
    tx.one(_TO_CHANGE, {"task": task_id})


def some(tx: Tx, task_ids: Sequence[str]) -> list[Any | None]:
    """Each of several tasks."""
    return tx.ones(TASK, [{"task": each} for each in task_ids])


def of_mission(tx: Tx, mission_id: str) -> list[Any]:
    """All tasks of a mission, the root first."""
    return tx.rows(_BY_MISSION, {"mission": mission_id})


def links(tx: Tx, mission_id: str) -> list[Any]:
    """The dependencies within a mission."""
    return tx.rows(_LINKS, {"mission": mission_id})


def upstream(tx: Tx, task_id: str) -> list[str]:
    """Ids of the tasks that a task depends on."""
    return sorted(row.id for row in tx.rows(_UPSTREAM, {"task": task_id}))


def to_escalate(tx: Tx, now: datetime) -> list[str]:
    """Ids of blocked tasks that are due for escalation."""
    return sorted(row.id for row in tx.rows(_STUCK, {"now": now}))


def hand_in(tx: Tx, deliverable: dict[str, Any], now: datetime) -> None:
    """Inserts a deliverable and makes it the task's current one."""
    tx.add(Deliverable, created_at=now, **deliverable)
    tx.run(_HANDED_IN, {"task": deliverable["task_id"], "deliverable": deliverable["id"], "now": now})


def deliverable(tx: Tx, deliverable_id: str) -> Any | None:
    """One deliverable."""
    return tx.one(_DELIVERABLE, {"deliverable": deliverable_id})


def add_message(
    tx: Tx, task_id: str, kind: str, actor: Actor, text: str, now: datetime, *, run_id: str | None = None
) -> str:  # fmt: skip
    """Adds a COMMENT, PROGRESS or ARTIFACT to a task's thread; notifies whoever it mentions."""
    message_id = new_id("tms")
    tx.add(
        TaskMessage, id=message_id, task_id=task_id, kind=kind, author_kind=str(actor.kind), author_id=actor.id,
        run_id=run_id, text=text, created_at=now,
    )  # fmt: skip
    if "@" in text:
        mention_notices.in_thread(tx, task_id, message_id, actor, text, run_id, now)
    return message_id


def count_idle(tx: Tx, task_id: str, calls: int, amount_microusd: int) -> None:
    """Adds to a task's counters of calls and cost since its last progress; a change of state resets them."""
    tx.run(_IDLE, {"task": task_id, "calls": calls, "amount": amount_microusd})


def thread(tx: Tx, task_id: str) -> list[Any]:
    """A task's thread in order."""
    return tx.rows(_THREAD, {"task": task_id})


def notes(tx: Tx, task_id: str, mission_id: str, most: int) -> list[str]:
    """What people have said last in the threads of a task and of its mission, oldest first."""
    found = tx.rows(_NOTES, {"task": task_id, "mission": mission_id, "most": most})
    return [row.text for row in reversed(found)]


def transition(tx: Tx, key: str) -> Any | None:
    """The transition that was made under an idempotency key."""
    return tx.one(_TRANSITION, {"key": key})


def transitions(tx: Tx, task_id: str) -> list[Any]:
    """A task's transitions in order."""
    return tx.rows(_CHANGES, {"task": task_id})


def tasks(
    tx: Tx,
    *,
    status: str | None = None,
    mission_id: str | None = None,
    persona: str | None = None,
    project_id: str | None = None,
    most: int = 200,
) -> list[Any]:
    """Tasks without missions' roots, newest first. Ended ones, the majority, are found by time, not by state."""
    query = sa.select(TASKS).where(_t.parent_id.is_not(None)).order_by(_t.created_at.desc(), _t.id.desc()).limit(most)
    if status is not None:
        query = query.where(
            sa.func.coalesce(_t.status, "") == status
            if status in TERMINAL
            else sa.and_(_t.ended_at.is_(None), _t.status == status)
        )
    if mission_id is not None:
        query = query.where(_t.mission_id == mission_id)
    if persona is not None:
        query = query.where(_t.persona == persona)
    if project_id is not None:
        query = query.where(_t.project_id == project_id)
    return tx.rows(query)
