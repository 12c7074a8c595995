"""Finds the person in whose name a run acts or a question is asked: whoever started the mission, added the task, wrote
to the agent, created the schedule, or edited the call.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.schema import Approval, Mission, Person, Run, Schedule, Task, table
from interlock.store.tx import Tx

RUNS, MISSIONS, PEOPLE, SCHEDULES = table(Run), table(Mission), table(Person), table(Schedule)
TASKS, APPROVALS = table(Task), table(Approval)
_r, _a = RUNS.c, APPROVALS.c
_ORIGIN = (
    sa.select(
        _r.parent_run_id,
        _r.cause_kind,
        _r.cause_id,
        _r.payload,
        MISSIONS.c.requested_by,
        SCHEDULES.c.created_by,
        PEOPLE.c.id.label("person_id"),
        TASKS.c.idempotency_key.label("task_key"),
    )
    .select_from(RUNS)
    .outerjoin(MISSIONS, MISSIONS.c.id == _r.mission_id)
    .outerjoin(TASKS, TASKS.c.id == _r.task_id)
    .outerjoin(SCHEDULES, SCHEDULES.c.id == _r.cause_id)
    .outerjoin(PEOPLE, PEOPLE.c.id == _r.cause_id)
    .where(_r.id == b("run_"))
)
_OF_TASK = (
    sa.select(TASKS.c.idempotency_key, MISSIONS.c.requested_by)
    .join_from(TASKS, MISSIONS, MISSIONS.c.id == TASKS.c.mission_id, isouter=True)
    .where(TASKS.c.id == b("task_"))
)
_OF_CALL = (
    sa.select(_a.on_behalf_of)
    .where(_a.run_id == b("run_"), _a.tool_call_id == b("call"), _a.on_behalf_of.is_not(None))
    .order_by(_a.created_at.desc(), _a.id.desc())
    .limit(1)
)
_OF_RUNS = frozenset({"run", "event"})
"""Kinds of causes whose id may be that of a run."""
_ADDED = "added:"
ORDERED_BY = "ordered_by"
"""The key in the payload of a scheduled run that holds who created its schedule, which may be removed meanwhile."""


def key_of_added(mission_id: str, person_id: str, key: str) -> str:
    """The idempotency key of a task that a person adds to a mission; it says who that was."""
    return f"{_ADDED}{mission_id}:{quote(person_id, safe='')}:{key}"


def _added_by(key: str | None) -> str | None:
    return unquote(key.split(":", 3)[2]) if key is not None and key.startswith(_ADDED) else None


def of_question(tx: Tx, asked: Mapping[str, Any]) -> str | None:
    """Returns the id of the person in whose name a question (a row of `approvals` to be) is asked; None for nobody.

    A call that was asked about before stays in the same name, which is that of whoever edited it.
    """
    run_id, call_id, task_id = (asked.get(name) for name in ("run_id", "tool_call_id", "task_id"))
    if run_id is not None and call_id is not None and (before := of_call(tx, run_id, call_id)) is not None:
        return before
    if run_id is not None:
        return of_run(tx, run_id)
    return of_task(tx, task_id) if task_id is not None else None


def of_call(tx: Tx, run_id: str, call_id: str) -> str | None:
    """Returns the id of the person in whose name a run's call was last asked about; None if it was not."""
    row = tx.one(_OF_CALL, {"run_": run_id, "call": call_id})
    return None if row is None else str(row.on_behalf_of)


def of_task(tx: Tx, task_id: str) -> str | None:
    """Returns the id of the person who added a task, or else started its mission; None if there is no such task."""
    row: Any = tx.one(_OF_TASK, {"task_": task_id})
    return None if row is None else _added_by(row.idempotency_key) or row.requested_by


def of_run(tx: Tx, run_id: str) -> str | None:
    """Returns the id of the person a run acts for, through any number of other agents; None if it acts for nobody."""
    at: str | None = run_id
    requester: str | None = None
    seen = set[str]()
    while at is not None and at not in seen:
        seen.add(at)
        found: Any = tx.one(_ORIGIN, {"run_": at})
        if found is None:
            break
        if (person := _added_by(found.task_key)) is not None:
            return person
        if found.requested_by is not None:
            requester, at = found.requested_by, found.parent_run_id
            continue
        if requester is not None:
            break
        if (person := found.person_id or found.created_by or found.payload.get(ORDERED_BY)) is not None:
            return str(person)
        at = found.parent_run_id or (found.cause_id if found.cause_kind in _OF_RUNS else None)
    return requester
