"""Listings: missions, tasks, agents, runs, alerts, and the overall status; read-only."""

from collections.abc import Sequence
from typing import Any

from interlock.core.values import ENDED_RUNS, OPEN_RUNS
from interlock.desk.chats.wording import quarantine_reason
from interlock.desk.context import DeskContext, Person
from interlock.desk.identities import visibility
from interlock.desk.operations import emergency
from interlock.desk.reading.finding import find, one_of_states
from interlock.desk.reading.views import View, view, views
from interlock.desk.work import projects
from interlock.state_machine.table import TaskState
from interlock.store import counts, squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import dead_letters, leases
from interlock.store.money import ledger
from interlock.store.runs import traces
from interlock.store.tx import Tx
from interlock.store.work import missions as mission_store
from interlock.store.work import tasks as task_store

DEAD = dead_letters.STOP_REASON
RUN_STATES = (*OPEN_RUNS, *ENDED_RUNS, DEAD)
"""States of runs; dead letters are failed runs that a person can requeue."""
MOST_MISSIONS, MOST_TASKS, MOST_RUNS, MOST_AGENTS, MOST_ALERTS = 100, 200, 200, 500, 100
"""The most that one list has where nobody says otherwise."""

FOR_ALL = ("mission", "task", "think", "learn")
"""Kinds of agents whose work everybody may read."""


async def status(context: DeskContext) -> View:
    """The overall status: the squad's mode, quarantined personas, counts by state, open questions and alerts, live
    workers, today's cost.

    `squad` is {mode, since, by, reason}; `quarantined` are personas, in any project.
    """
    return await context.store.read(_status)


def _status(tx: Tx) -> View:
    days = ledger.accounts(tx, kinds=("project_day",), most=1)
    return {
        "squad": emergency.squad_view(tx),
        "quarantined": squad.quarantined(tx),
        "missions": counts.missions(tx),
        "tasks": counts.tasks(tx),
        "runs": counts.runs(tx),
        "approvals_pending": counts.questions(tx),
        "dead_letters": counts.letters(tx),
        "alerts_open": counts.alerts(tx),
        "workers": [view(row, "id", "host", "pid", "beat_at") for row in leases.live(tx)],
        "latest_day": view(days[0], "id", "limit_microusd", "settled_microusd", "reserved_microusd") if days else None,
    }


async def hindrance(context: DeskContext) -> str | None:
    """Why nothing new starts, in words; None if the squad is running."""
    return await context.store.read(emergency.hindrance)


async def missions(context: DeskContext, *, project: str | None = None, most: int = MOST_MISSIONS) -> list[View]:
    """Missions, newest first, with their progress and cost.

    Raises NotFound for a project that is not there.
    """
    if project is not None:
        await projects.require(context, project)
    return await context.store.read(_missions, project, most)


def _missions(tx: Tx, project: str | None, most: int) -> list[View]:
    rows = mission_store.missions(tx, project, most)
    ids = [row.id for row in rows]
    progress, waiting, spent = (
        counts.tasks_by_mission(tx, ids),
        counts.questions_by_mission(tx, ids),
        _spent(tx, "mission", ids),
    )
    out = []
    for row in rows:
        account, by_state = spent.get(row.id), progress.get(row.id, {})
        out.append(
            view(
                row, "id", "status", "goal", "project_id", "model", "simulated", "block_kind", "block_reason",
                "deliverable_id", "estimate_microusd", "created_at", "ended_at", **money(account),
                tasks_total=sum(by_state.values()), tasks_done=by_state.get("DONE", 0),
                approvals_pending=waiting.get(row.id, 0),
            )
        )  # fmt: skip
    return out


def _spent(tx: Tx, kind: str, owners: Sequence[str]) -> dict[str, Any]:
    """The accounts of missions or tasks, by owner."""
    return {row.owner_id: row for row in ledger.some(tx, [f"{kind}:{each}" for each in owners])}


def money(account: Any | None) -> View:
    """What an account has spent, and its limit."""
    if account is None:
        return {"cost_usd": 0.0, "budget_usd": None}
    money = view(account, "settled_microusd", "limit_microusd")
    return {"cost_usd": money["settled_usd"], "budget_usd": money["limit_usd"]}


async def tasks(
    context: DeskContext,
    *,
    status: str | None = None,
    mission: str | None = None,
    persona: str | None = None,
    project: str | None = None,
    most: int = MOST_TASKS,
) -> list[View]:
    """Tasks, newest first, without missions' root tasks.

    Raises UsageError for an invalid state, Unknown for an unknown mission.
    """
    state = one_of_states(status, tuple(TaskState))
    return await context.store.read(_tasks, state, mission, persona, project, most)


def _tasks(
    tx: Tx, status: str | None, mission: str | None, persona: str | None, project: str | None, most: int
) -> list[View]:  # fmt: skip
    within = find(tx, "mission", mission) if mission else None
    rows = task_store.tasks(tx, status=status, mission_id=within, persona=persona, project_id=project, most=most)
    spent = _spent(tx, "task", [row.id for row in rows])
    return [
        view(
            row, "id", "project_id", "mission_id", "key", "title", "persona", "type", "priority", "status",
            "block_kind", "block_reason", "wait_for", "attempt", "review_cycles", "deliverable_id", "created_at",
            "updated_at",
            **money(spent.get(row.id)),
        )
        for row in rows
    ]  # fmt: skip


async def agents(
    context: DeskContext, *, project: str | None = None, reader: Person | None = None, most: int = MOST_AGENTS
) -> list[View]:
    """Agents, most recently active first: purpose, activity, and the state of their member.

    A `reader` who is a viewer does not see the errors of chat agents.
    """
    return _agents(await context.store.read(squad.agents, project, most), reader)


async def agent(
    context: DeskContext, agent_id: str, *, project: str | None = None, reader: Person | None = None
) -> View | None:
    """One agent, as in `agents`; None if there is none with that id."""
    found = _agents(await context.store.read(squad.agents, project, 1, agent_id=agent_id), reader)
    return found[0] if found else None


async def is_of_project(context: DeskContext, project: str, named: str) -> bool:
    """Whether a name is the id of an agent of a project, or a persona that has worked there."""
    if await context.store.read(squad.member_of, project, named) is not None:
        return True
    return await agent(context, named, project=project) is not None


def _agents(rows: Sequence[Any], reader: Person | None) -> list[View]:
    reads_all = visibility.reads_all(reader)
    return [
        view(
            row, "id", "persona", "project_id", "trust", "state", "runtime_status", "last_active_at",
            "created_at", state_reason=quarantine_reason(row), works_for=row.descriptor, waits_in_run=row.parked_run_id,
            last_error=row.last_error if reads_all or row.descriptor.get("kind") in FOR_ALL else None,
        )
        for row in rows
    ]  # fmt: skip


async def runs(
    context: DeskContext,
    *,
    mission: str | None = None,
    status: str | None = None,
    project: str | None = None,
    reader: Person | None = None,
    most: int = MOST_RUNS,
) -> list[View]:
    """Runs, newest first. Those that a `reader` may not see are `withheld`: their status is shown, their error is not.

    Raises UsageError for an invalid state, Unknown for an unknown mission.
    """
    return await context.store.read(_runs, mission, one_of_states(status, RUN_STATES), project, reader, most)


def _runs(
    tx: Tx, mission: str | None, status: str | None, project: str | None, reader: Person | None, most: int
) -> list[View]:  # fmt: skip
    within = find(tx, "mission", mission) if mission else None
    if status == DEAD:
        rows = dead_letters.letters(tx, most, mission_id=within, project_id=project)
    else:
        rows = traces.runs(tx, mission_id=within, status=status, project_id=project, most=most)
    names = squad.names(tx, [row.agent_id for row in rows])
    hidden = visibility.hidden_from(tx, reader, [row.id for row in rows])
    return [
        view(
            row, "id", "project_id", "kind", "status", "stop_reason", "agent_id", "mission_id", "task_id", "model",
            "simulated", "step_count", "cost_microusd", "created_at", "started_at", "completed_at", "cause_kind",
            "cause_id", "parent_run_id", "crashes",
            error=None if row.id in hidden else row.error, withheld=row.id in hidden,
            persona=names.get(row.agent_id), purpose=row.payload.get("purpose"),
        )
        for row in rows
    ]  # fmt: skip


async def alerts(
    context: DeskContext, *, open_only: bool = True, project: str | None = None, most: int = MOST_ALERTS
) -> list[View]:
    """Alerts, newest first."""
    return views(await context.store.read(audit.alerts, open_only=open_only, project_id=project, most=most))
