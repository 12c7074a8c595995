"""The approval queue for display: questions with all related rows, one page per statement. Answering is in `approvals`.

INVARIANT: the cost of a page does not depend on the number of questions.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import Account, Agent, Mission, Person, Run, Task, table
from interlock.store.signoff.approvals import APPROVALS
from interlock.store.tx import Tx

MISSIONS, TASKS, RUNS, AGENTS = table(Mission), table(Task), table(Run), table(Agent)
ACCOUNTS, PEOPLE = table(Account), table(Person)
_a = APPROVALS.c
_ANSWERED_BY, _BEHALF = PEOPLE.alias("answerer"), PEOPLE.alias("principal")


def _whole(asked: sa.FromClause) -> sa.Select[Any]:
    """Questions of a table, or of a page of it, joined with the related rows."""
    q = asked.c
    return (
        sa.select(
            asked,
            MISSIONS.c.goal,
            MISSIONS.c.simulated.label("mission_simulated"),
            TASKS.c.title.label("task_title"),
            RUNS.c.cost_microusd.label("run_cost"),
            RUNS.c.simulated.label("run_simulated"),
            RUNS.c.labels.label("run_labels"),
            RUNS.c.task_id.label("run_task"),
            ACCOUNTS.c.settled_microusd.label("mission_cost"),
            AGENTS.c.persona.label("asker"),
            _ANSWERED_BY.c.name.label("decided_by_name"),
            _BEHALF.c.name.label("on_behalf_of_name"),
        )
        .select_from(asked)
        .outerjoin(MISSIONS, MISSIONS.c.id == q.mission_id)
        .outerjoin(TASKS, TASKS.c.id == q.task_id)
        .outerjoin(RUNS, RUNS.c.id == q.run_id)
        .outerjoin(ACCOUNTS, ACCOUNTS.c.id == sa.literal("mission:", sa.String()) + q.mission_id)
        .outerjoin(AGENTS, AGENTS.c.id == q.asked_by)
        .outerjoin(_ANSWERED_BY, _ANSWERED_BY.c.id == q.decided_by)
        .outerjoin(_BEHALF, _BEHALF.c.id == q.on_behalf_of)
    )


_ONE = _whole(APPROVALS).where(_a.id == b("approval"))
_PENDING = _a.status == sa.text("'pending'")
_PLACE = sa.select(_a.created_at, _a.id).where(_a.id == b("approval"))
_ALIKE = (
    sa.select(_a.id)
    .where(_PENDING, _a.alike == b("same"), _a.project_id == b("project"))
    .order_by(_a.created_at, _a.id)
    .limit(b("most"))
)
_ORIGINS = sa.select(
    RUNS.c.id, RUNS.c.mission_id, RUNS.c.channel_id, RUNS.c.cause_kind, RUNS.c.cause_id, RUNS.c.parent_run_id
)
_COUNT = sa.select(sa.func.count().label("n")).select_from(APPROVALS).where(_PENDING)


def one(tx: Tx, approval_id: str) -> Any | None:
    """One question with its mission, task, run, account, asker and answerer."""
    return tx.one(_ONE, {"approval": approval_id})


def page(
    tx: Tx,
    *,
    status: str | None = "pending",
    mission_id: str | None = None,
    project_id: str | None = None,
    after: str | None = None,
    most: int = 50,
) -> list[Any]:
    """The page of questions after the one with the id `after`, oldest first; a `status` of None means all states."""
    given: dict[str, Any] = {"most": most, "mission": mission_id, "project": project_id, "state": status}
    if after is not None:
        place = tx.one(_PLACE, {"approval": after})
        if place is None:
            return []
        given |= {"at": place.created_at, "last": place.id}
    sort = status if status == "pending" else bool(status)
    return tx.rows(_page(sort, mission_id is not None, project_id is not None, after is not None), given)


@cache
def _page(status: str | bool, of_mission: bool, of_project: bool, goes_on: bool) -> sa.Select[Any]:
    """The statement for a page of pending questions, of one state, or of all; each is compiled once."""
    found = sa.select(APPROVALS).order_by(_a.created_at, _a.id).limit(b("most", type_=sa.Integer()))
    if status is not False:
        found = found.where(_PENDING if status == "pending" else _a.status == b("state"))
    if of_mission:
        found = found.where(_a.mission_id == b("mission"))
    if of_project:
        found = found.where(_a.project_id == b("project"))
    if goes_on:
        later = sa.tuple_(_a.created_at, _a.id) > sa.tuple_(b("at", type_=UTCDateTime()), b("last", type_=sa.String()))
        found = found.where(_a.created_at >= b("at", type_=UTCDateTime()), later)
    page = found.subquery("page")
    return _whole(page).order_by(page.c.created_at, page.c.id)


def some(tx: Tx, approval_ids: list[str]) -> list[Any]:
    """Questions by their ids, oldest first."""
    return tx.rows(_whole(APPROVALS).where(_a.id.in_(approval_ids)).order_by(_a.created_at, _a.id))


def alike(tx: Tx, row: Any, most: int) -> list[str]:
    """Ids of the open questions that may be answered together with this one, itself included, oldest first."""
    if row.alike is None or row.status != "pending":
        return []
    given = {"same": row.alike, "project": row.project_id, "most": most}
    return [each.id for each in tx.rows(_ALIKE, given)]


def headline(row: Any) -> str:
    """A question's headline for notifications; only the kind and the tool, if it was asked in private."""
    if row.mission_id is None and row.run_id is not None:
        tool = row.request.get("tool")
        return f"{row.kind} of {tool}" if tool else str(row.kind)
    return str(row.request.get("summary") or row.request.get("question") or row.kind)


def origins(tx: Tx, run_ids: Sequence[str]) -> list[Any]:
    """Where runs come from: their missions, channels, causes and parents."""
    return tx.rows(_ORIGINS.where(RUNS.c.id.in_(run_ids)))


def waiting(tx: Tx) -> int:
    """How many questions wait for people."""
    return int(tx.rows(_COUNT)[0].n)
