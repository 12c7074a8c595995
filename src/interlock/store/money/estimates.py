"""Actual costs of tasks by type and model, and estimates of plans.

What happens when a mission exceeds its estimate is in `agents.models.wallet`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import Run, Task, table
from interlock.store.tx import Tx

_t, _r = table(Task).c, table(Run).c
LOOK_BACK = timedelta(days=90)
LEAST_TASKS = 3
"""With fewer finished tasks of a type, there is no estimate."""
LEAST_MICROUSD = 10_000
"""The minimum of an estimate, so that an unusually cheap task does not make an ordinary one raise an alarm."""
MOST_ROWS = 5_000
_COSTS = (
    sa.select(
        _t.id, _t.type, _r.model, _t.budget_microusd,
        sa.cast(sa.func.sum(_r.cost_microusd), sa.BigInteger()).label("cost_microusd"),
    )
    .join_from(table(Task), table(Run), _r.task_id == _t.id)
    .where(
        _t.status == "DONE", _t.parent_id.is_not(None), _t.updated_at >= b("since", type_=UTCDateTime()),
        _t.project_id == b("project"), sa.not_(_r.simulated), _r.model.is_not(None), _r.kind != "learn",
    )
    .group_by(_t.id, _t.type, _r.model, _t.budget_microusd, _t.updated_at)
    .order_by(_t.updated_at.desc(), _t.id, _r.model)
    .limit(MOST_ROWS)
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Actual:
    """The cost per finished task of a type with a model, in micro-dollars. Source: row D5."""

    type: str
    model: str
    tasks: int
    mean_microusd: int
    most_microusd: int
    budget_microusd: int
    """Their average budget."""


def actuals(tx: Tx, project_id: str, now: datetime) -> list[Actual]:
    """The costs of tasks finished in the last 90 days by type and model, without rehearsals."""
    found: dict[tuple[str, str], list[Any]] = {}
    for row in tx.rows(_COSTS, {"project": project_id, "since": now - LOOK_BACK}):
        found.setdefault((row.type, row.model), []).append(row)
    return [
        Actual(kind, model, len(rows), _mean(r.cost_microusd for r in rows), max(r.cost_microusd for r in rows),
               _mean(r.budget_microusd for r in rows))
        for (kind, model), rows in sorted(found.items())
    ]  # fmt: skip


def of_plan(
    tx: Tx, project_id: str, tasks: Iterable[tuple[str, int]], model: str | None, now: datetime
) -> int:  # fmt: skip
    """The expected cost of a plan's tasks (type and budget), in micro-dollars.

    A task is estimated at the mean of finished ones of its type, with this model if possible; else at its budget.
    """
    known = actuals(tx, project_id, now)
    return sum(_likely(known, kind, budget, model) for kind, budget in tasks)


def _likely(known: list[Actual], kind: str, budget: int, model: str | None) -> int:
    alike = [each for each in known if each.type == kind]
    with_model = [each for each in alike if each.model == model]
    for found in (with_model, alike):
        count = sum(each.tasks for each in found)
        if count >= LEAST_TASKS:
            mean = -(-sum(each.mean_microusd * each.tasks for each in found) // count)
            return min(budget, max(mean, LEAST_MICROUSD))
    return budget


def _mean(values: Iterable[int]) -> int:
    found = [int(value) for value in values]
    return -(-sum(found) // len(found))
