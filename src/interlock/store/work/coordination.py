"""What a mission's coordinator reads about its runs, questions and results, and the few rows that only it writes.

Its other writes go through the doors in other modules; its decisions are made in `graph`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict
from interlock.store.schema import (
    Agent,
    Approval,
    Deliverable,
    Run,
    Task,
    TaskDependency,
    TaskTransition,
    ToolCall,
    table,
)
from interlock.store.tx import Tx
from interlock.store.work.evidence import RUN_KIND

TASKS, RUNS, CALLS = table(Task), table(Run), table(ToolCall)
APPROVALS, DELIVERABLES, AGENTS = table(Approval), table(Deliverable), table(Agent)
DEPENDENCIES, TRANSITIONS = table(TaskDependency), table(TaskTransition)
_t, _r, _tc, _ap = TASKS.c, RUNS.c, CALLS.c, APPROVALS.c
_de, _ag, _d, _tr = DELIVERABLES.c, AGENTS.c, DEPENDENCIES.c, TRANSITIONS.c
_TIME = UTCDateTime()
EXECUTED = ("started", "done", "failed", "unknown")
"""States of tool calls that had, or may have had, an effect."""
_ROOT_BY_KEY = sa.select(_t.id, _t.status).where(_t.idempotency_key == b("key"))
_TASK_RUNS = (
    sa.select(_r.id, _r.kind, _r.task_id, _r.status, _r.stop_reason, _r.error, _r.idempotency_key, _r.labels)
    .where(_r.mission_id == b("mission"), _r.kind.in_(("task", RUN_KIND)))
    .order_by(_r.created_at, _r.id)
)
_THINKS = (
    sa.select(_r.id, _r.status, _r.stop_reason, _r.error, _r.idempotency_key, _r.result, _r.labels)
    .where(_r.mission_id == b("mission"), _r.kind == "think")
    .order_by(_r.created_at, _r.id)
)
_QUESTIONS = (
    sa.select(_ap.id, _ap.task_id, _ap.run_id, _ap.kind, _ap.status, _ap.subject)
    .where(_ap.mission_id == b("mission"))
    .order_by(_ap.created_at, _ap.id)
)
_RISKS = (
    sa.select(_r.task_id, _tc.risk)
    .join_from(CALLS, RUNS, _tc.run_id == _r.id)
    .where(_r.mission_id == b("mission"), _tc.status.in_(EXECUTED))
    .distinct()
)
_RESULTS = (
    sa.select(
        _de.id, _de.task_id, _de.run_id, _de.title, _de.verdict, _de.risk, _de.labels, _de.simulated,
        _r.idempotency_key.label("run_key"),
    )
    .join_from(DELIVERABLES, TASKS, _de.task_id == _t.id)
    .outerjoin(RUNS, _de.run_id == _r.id)
    .where(_t.mission_id == b("mission"), _t.deliverable_id == _de.id)
)  # fmt: skip
_WORKERS = (
    sa.select(_t.id, _ag.persona, _ag.member_id)
    .join_from(TASKS, AGENTS, _t.assignee_agent_id == _ag.id)
    .where(_t.mission_id == b("mission"))
)
_BLOCKS = (
    sa.select(_tr.idempotency_key)
    .join_from(TRANSITIONS, TASKS, _tr.task_id == _t.id)
    .where(_t.mission_id == b("mission"), _tr.to_status == "BLOCKED")
    .order_by(_tr.created_at, _tr.id)
)
_FAILED = (
    sa.update(TASKS)
    .where(_t.id == b("task"), _t.attempt == b("seen"))
    .values(attempt=_t.attempt + 1, feedback=b("words"), version=_t.version + 1, updated_at=b("now", type_=_TIME))
)
_UNDEPEND = sa.delete(DEPENDENCIES).where(_d.task_id == b("task"), _d.depends_on_id == b("upstream"))


def root_by_key(tx: Tx, key: str) -> str | None:
    """The task with an idempotency key."""
    row = tx.one(_ROOT_BY_KEY, {"key": key})
    return None if row is None else str(row.id)


def roots_by_key(tx: Tx, keys: Sequence[str]) -> list[Any | None]:
    """The tasks with idempotency keys: id and status, or None, for each."""
    return tx.ones(_ROOT_BY_KEY, [{"key": key} for key in keys])


def task_runs(tx: Tx, mission_id: str) -> list[Any]:
    """The runs of a mission's tasks in order, without their texts."""
    return tx.rows(_TASK_RUNS, {"mission": mission_id})


def thinks(tx: Tx, mission_id: str) -> list[Any]:
    """The coordinator's own `think` runs in order, with their results."""
    return tx.rows(_THINKS, {"mission": mission_id})


def questions(tx: Tx, mission_id: str) -> list[Any]:
    """A mission's approvals in order: subject and status."""
    return tx.rows(_QUESTIONS, {"mission": mission_id})


def executed_risks(tx: Tx, mission_id: str) -> list[Any]:
    """The risks of executed calls, by task."""
    return tx.rows(_RISKS, {"mission": mission_id})


def results(tx: Tx, mission_id: str) -> list[Any]:
    """The current deliverable of each task, without its content, and the key of the run that handed it in."""
    return tx.rows(_RESULTS, {"mission": mission_id})


def workers(tx: Tx, mission_id: str) -> list[Any]:
    """Persona and member of each task's assignee."""
    return tx.rows(_WORKERS, {"mission": mission_id})


def block_keys(tx: Tx, mission_id: str) -> list[str]:
    """The keys of the transitions that blocked tasks of a mission, in order."""
    return [str(row.idempotency_key) for row in tx.rows(_BLOCKS, {"mission": mission_id})]


def count_failure(tx: Tx, task_id: str, seen_attempt: int, feedback: str | None, now: datetime) -> None:
    """Counts a failed attempt at a task, and stores feedback for the next. Raises Conflict if already counted."""
    params = {"task": task_id, "seen": seen_attempt, "words": feedback, "now": now}
    tx.must(_FAILED, params, 1, Conflict(f"task `{task_id}` was changed by somebody else: look again"))


def undepend(tx: Tx, task_id: str, on: str) -> None:
    """Removes a dependency between two tasks."""
    tx.run(_UNDEPEND, {"task": task_id, "upstream": on})
