"""Finds the person a run acts for: whoever started its mission, added its task, wrote to its agent or created its
schedule.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.schema import Mission, Person, Run, Schedule, Task, table
from interlock.store.tx import Tx

RUNS, MISSIONS, PEOPLE, SCHEDULES = table(Run), table(Mission), table(Person), table(Schedule)
TASKS = table(Task)
_r = RUNS.c
_ORIGIN = (
    sa.select(
        _r.parent_run_id,
        _r.cause_kind,
        _r.cause_id,
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
_OF_RUNS = frozenset({"run", "event"})
"""Kinds of causes whose id may be that of a run."""
_ADDED = "added:"


def key_of_added(mission_id: str, person_id: str, key: str) -> str:
    """The idempotency key of a task that a person adds to a mission; it says who that was."""
    return f"{_ADDED}{mission_id}:{person_id}:{key}"


def _added_by(key: str | None) -> str | None:
    return key.split(":", 3)[2] if key is not None and key.startswith(_ADDED) else None


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
        if (person := found.person_id or found.created_by) is not None:
            return str(person)
        at = found.parent_run_id or (found.cause_id if found.cause_kind in _OF_RUNS else None)
    return requester
