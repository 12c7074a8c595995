"""Tasks that people add to a mission under way; its coordinator assigns them like those of its plan.

Moving tasks and commenting on them is in `task_changes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from interlock.agents.prompts.task_messages import PRIORITIES
from interlock.agents.runtime import Runtime
from interlock.core.errors import Conflict, UsageError
from interlock.core.ids import new_id
from interlock.core.text import storable
from interlock.core.values import MICRO, TaskType, microusd
from interlock.desk.context import Person, require_operator
from interlock.desk.reading.finding import NoPersona, find
from interlock.desk.reading.views import View
from interlock.graph.applying import POLICY
from interlock.graph.view import ADDED
from interlock.policy.budgets import task_limits
from interlock.policy.secrets import scrub
from interlock.state_machine.table import TaskState
from interlock.store.auditing import audit
from interlock.store.identities import principals
from interlock.store.money import estimates, ledger, limits
from interlock.store.money.ledger import Opening
from interlock.store.tx import Tx
from interlock.store.work import coordination, missions, tasks

MOST_TITLE, MOST_CHARS, MOST_TASKS = 200, 20_000, 50
TYPES: tuple[str, ...] = get_args(TaskType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A task that a person wants done for a mission. Without a persona, one that takes its type is chosen."""

    mission: str
    title: str
    description: str = ""
    deliverable: str = ""
    persona: str | None = None
    type: str | None = None
    priority: str = "medium"
    budget_usd: float | None = None
    depends_on: Sequence[str] = ()
    key: str | None = None
    """Its idempotency key."""


async def add(runtime: Runtime, person: Person, wanted: Addition) -> View:
    """Adds a task to a mission that is planned and under way: {id, mission_id, status, changed}. Source: row A21.

    The mission's estimate is raised by the task's, and so is the cost at which a person is asked.
    The same key gives the first task, with `changed` false.

    Raises NotFound, Refused for a viewer, UsageError for what cannot be a task, Conflict for a mission that is not
    planned yet or is ending.
    """
    require_operator(person, "add tasks")
    row = _row(runtime, wanted)
    demanded = [{**check, "by": POLICY.id} for check in runtime.policy.checks.get(row["type"], ())]
    now, factor = runtime.clock.now(), runtime.settings.breakers.estimate_factor
    likely = await runtime.store.read(_likely, wanted.mission, row, now)
    return await runtime.store.write(
        _add, person, wanted, {**row, "checks": demanded or None}, likely, round(factor * likely), now
    )


def _likely(tx: Tx, mission: str, row: Mapping[str, Any], now: datetime) -> int:
    """The expected cost of the task; read before the transaction, which would block others."""
    found: Any = missions.mission(tx, find(tx, "mission", mission))
    return estimates.of_plan(tx, found.project_id, [(row["type"], row["budget_microusd"])], found.model, now)


def _row(runtime: Runtime, wanted: Addition) -> dict[str, Any]:
    """The columns that follow from what was given alone."""
    persona = None
    if wanted.persona is not None:
        persona = runtime.personas.personas.get(wanted.persona)
        if persona is None:
            raise NoPersona(wanted.persona, runtime.personas.personas)
        if not persona.takes_tasks:
            names = ", ".join(name for name, each in runtime.personas.personas.items() if each.takes_tasks)
            raise UsageError(f"`{wanted.persona}` takes no tasks: use one of {names}")
    kind = wanted.type or (persona.task_types[0] if persona else "other")
    if kind not in TYPES:
        raise UsageError(f"`{kind}` is not a type of task: use one of {', '.join(TYPES)}")
    if persona is not None and kind not in persona.task_types:
        raise UsageError(f"`{persona.name}` takes no `{kind}` tasks (it takes {', '.join(persona.task_types)})")
    if wanted.priority not in PRIORITIES:
        raise UsageError(f"`{wanted.priority}` is not a priority: use one of {', '.join(PRIORITIES)}")
    limit = task_limits(runtime.settings.task_budgets_usd)[kind]
    given = limit / MICRO if wanted.budget_usd is None else wanted.budget_usd
    if not 0 < given <= limit / MICRO:
        raise UsageError(f"`{given:g}` is not a budget: a `{kind}` task may cost {limit / MICRO:g} USD at most")
    title = " ".join(_text(wanted.title, "the title", MOST_TITLE).split())
    return {
        "title": title, "description": _text(wanted.description or title, "the description", MOST_CHARS),
        "deliverable_spec": _text(wanted.deliverable or "the result", "what is to be handed in", MOST_CHARS),
        "persona": wanted.persona, "type": kind, "priority": wanted.priority, "budget_microusd": microusd(given),
    }  # fmt: skip


def _text(given: str, what: str, most: int) -> str:
    words = scrub(storable(given)).strip()
    if not words or len(words) > most:
        raise UsageError(f"{what} has 1 to {most:,} characters")
    return words


def _add(
    tx: Tx, person: Person, wanted: Addition, row: dict[str, Any], likely: int, leeway: int, now: datetime
) -> View:  # fmt: skip
    mission_id = find(tx, "mission", wanted.mission)
    tasks.lock(tx, mission_id)
    key = principals.key_of_added(mission_id, person.id, wanted.key or new_id("key"))
    if first := coordination.root_by_key(tx, key):
        return _shown(tx, first, changed=False)
    there = tasks.of_mission(tx, mission_id)
    root = next(each for each in there if each.parent_id is None)
    if root.status in (TaskState.DONE, TaskState.CANCELED, TaskState.REVIEW):
        raise Conflict(f"mission `{mission_id}` is {root.status}: start another one with `interlock run`")
    if len(there) == 1:
        raise Conflict(f"mission `{mission_id}` is not planned yet: comment on it, and the plan takes that up")
    if len(there) > MOST_TASKS:
        raise UsageError(f"mission `{mission_id}` has {len(there) - 1} tasks: {MOST_TASKS} are the most")
    upstream = list(dict.fromkeys(_upstream(tx, mission_id, each) for each in wanted.depends_on))
    task_id, number = new_id("tsk"), sum(each.key.startswith(ADDED) for each in there) + 1
    tasks.add(
        tx, id=task_id, project_id=root.project_id, mission_id=mission_id, parent_id=mission_id,
        key=f"{ADDED}{number}", idempotency_key=key, created_at=now, updated_at=now, **row,
    )  # fmt: skip
    for each in upstream:
        tasks.depend(tx, task_id, each)
    opening = Opening(f"task:{task_id}", "task", task_id, root.project_id, row["budget_microusd"])
    ledger.open_accounts(tx, [opening], now)
    missions.expect_more(tx, mission_id, likely)
    limits.expect_more(tx, f"mission:{mission_id}", leeway)
    audit.note(
        tx, "TASK_ADDED", person.actor, now, project_id=root.project_id, mission_id=mission_id, task_id=task_id,
        title=row["title"], persona=row["persona"], type=row["type"], surface=person.surface, name=person.name,
    )  # fmt: skip
    missions.notify(tx, mission_id, "tick", {}, now)
    return _shown(tx, task_id, changed=True)


def _upstream(tx: Tx, mission_id: str, given: str) -> str:
    """The id of a task of the mission that another may wait for."""
    task_id = find(tx, "task", given)
    row: Any = tasks.task(tx, task_id)
    if row.mission_id != mission_id or row.parent_id is None or row.status == TaskState.CANCELED:
        raise UsageError(f"`{given}` is not a task of mission `{mission_id}` that can be waited for")
    return task_id


def _shown(tx: Tx, task_id: str, *, changed: bool) -> View:
    row: Any = tasks.task(tx, task_id)
    return {"id": row.id, "mission_id": row.mission_id, "status": row.status, "changed": changed}
