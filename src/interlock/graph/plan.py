"""Plans: the tasks of a mission, parsed from a model's answer or made without a model.

Tasks are assigned in `delegation`; the state machine starts them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import floor
from typing import Any

from interlock.agents.persona import Persona
from interlock.agents.prompts.task_messages import PRIORITIES, TASK_TYPES
from interlock.core.values import usd
from interlock.graph.plan_json import Fields, find_object, shown
from interlock.policy.budgets import TASK

MOST_TASKS = 7
_KEYS = (
    "key", "title", "description", "persona", "type", "priority", "estimated_minutes", "capabilities", "deliverable",
    "budget_share", "depends_on", "reviews",
)  # fmt: skip
_LEAST_SHARE_OVER = 1e-9


@dataclass(frozen=True, slots=True)
class PlanTask:
    """A task of a plan. `budget_share` is a fraction of the mission's budget; `reviews` is a dependency to review."""

    key: str
    title: str
    description: str
    persona: str
    type: str
    priority: str
    estimated_minutes: int
    capabilities: tuple[str, ...]
    deliverable: str
    budget_share: float
    depends_on: tuple[str, ...] = ()
    reviews: str | None = None
    budget_microusd: int | None = None
    """The budget set by a person, which replaces its share."""
    checks: tuple[Mapping[str, Any], ...] = ()
    """Acceptance checks by a person, besides those of the policy."""

    def to_json(self) -> dict[str, Any]:
        """In the format of a plan's JSON."""
        return {key: list(v) if isinstance(v := getattr(self, key), tuple) else v for key in _KEYS}


@dataclass(frozen=True, slots=True)
class Plan:
    """A mission's tasks in the order in which they were named; their dependencies form a DAG."""

    summary: str
    tasks: tuple[PlanTask, ...]

    def to_json(self) -> dict[str, Any]:
        """In the format that `parse_plan` reads."""
        return {"summary": self.summary, "tasks": [task.to_json() for task in self.tasks]}

    def budgets_microusd(self, limits: "PlanLimits") -> dict[str, int]:
        """The budget of each task: its share of the mission's budget, at most the limit of its type; or what is set."""
        most = limits.task_budgets_microusd
        return {
            task.key: min(floor(task.budget_share * limits.budget_microusd), most[task.type])
            if task.budget_microusd is None
            else task.budget_microusd
            for task in self.tasks
        }


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """The constraints on a plan. `available_microusd` is what is left of the budget; None for all of it."""

    budget_microusd: int
    available_microusd: int | None = None
    most_tasks: int = MOST_TASKS
    task_budgets_microusd: Mapping[str, int] = field(default_factory=lambda: TASK)


def parse_plan(text: str, personas: Mapping[str, Persona], limits: PlanLimits) -> Plan | list[str]:
    """The plan in a model's answer, or all reasons why there is none, as messages for the model.

    Never raises because of the text. Source: row A3.
    """
    found = find_object(text, wanted="tasks")
    if isinstance(found, str):
        return [found]
    fields = Fields(found, "")
    summary = fields.text("summary", longest=2_000)
    items = found.get("tasks")
    if not isinstance(items, list):
        problem = "is missing" if "tasks" not in found else f"is `{shown(items)}`: it must be a list"
        return [*fields.errors, f"`tasks` {problem}"]
    errors = fields.errors
    if not 1 <= len(items) <= limits.most_tasks:
        errors.append(f"{len(items)} tasks: a plan has 1 to {limits.most_tasks}")
    tasks = [_task(item, number, personas, errors) for number, item in enumerate(items[:50], start=1)]
    named = [task for task in tasks if task.key]
    errors.extend(_duplicates(named))
    errors.extend(_references({task.key: task for task in reversed(named)}))
    errors.extend(_over_budget(tasks, limits))
    if errors:
        return errors
    return Plan(summary, tuple(tasks))


def _task(item: Any, number: int, personas: Mapping[str, Persona], errors: list[str]) -> PlanTask:
    if not isinstance(item, dict):
        errors.append(f"task {number} is `{shown(item)}`: it must be an object")
        return PlanTask("", "", "", "", "", "", 0, (), "", 0.0)
    named = isinstance(item.get("key"), str) and item["key"].strip()
    read = Fields(item, f"task `{shown(item['key'].strip())}`: " if named else f"task {number}: ", errors)
    takers = [name for name, persona in personas.items() if persona.takes_tasks]
    persona = item.get("persona")
    if isinstance(persona, str) and persona in personas and persona not in takers:
        errors.append(f"{read.label}persona `{persona}` takes no tasks: write one of {', '.join(sorted(takers))}")
        persona = ""
    else:
        persona = read.choice("persona", takers)
    task = PlanTask(
        key=read.text("key", longest=60, single_line=True),
        title=read.text("title", longest=200, single_line=True),
        description=read.text("description", longest=20_000),
        persona=persona,
        type=read.choice("type", TASK_TYPES),
        priority=read.choice("priority", PRIORITIES),
        estimated_minutes=_minutes(read),
        capabilities=read.words("capabilities"),
        deliverable=read.text("deliverable", longest=4_000),
        budget_share=_share(read),
        depends_on=read.words("depends_on"),
        reviews=read.text("reviews", longest=60, single_line=True) if item.get("reviews") is not None else None,
    )
    read.refuse_near_misses(_KEYS)
    return task


def _minutes(read: Fields) -> int:
    value, before = read.number("estimated_minutes"), len(read.errors)
    if "estimated_minutes" in read.data and before == len(read.errors) and not (value >= 1 and value == int(value)):
        read.errors.append(f"{read.label}`estimated_minutes` is {value:g}: it must be a whole number above 0")
    return int(value)


def _share(read: Fields) -> float:
    before = len(read.errors)
    value = read.number("budget_share")
    if before == len(read.errors) and not 0 < value <= 1:
        read.errors.append(f"{read.label}`budget_share` is {value:g}: it must be above 0 and at most 1")
    return value


def _duplicates(tasks: Sequence[PlanTask]) -> list[str]:
    counts = Counter(task.key for task in tasks)
    return [f"{count} tasks have the key `{key}`: keys are unique" for key, count in counts.items() if count > 1]


def _references(tasks: Mapping[str, PlanTask]) -> list[str]:
    errors = []
    for task in tasks.values():
        label = f"task `{task.key}`: "
        for key in task.depends_on:
            if key == task.key:
                errors.append(f"{label}depends on itself")
            elif key not in tasks:
                errors.append(f"{label}depends on unknown task `{shown(key)}`")
        if task.reviews is None:
            continue
        if task.reviews == task.key:
            errors.append(f"{label}reviews itself")
        elif task.reviews not in tasks:
            errors.append(f"{label}reviews unknown task `{shown(task.reviews)}`")
        elif task.reviews not in task.depends_on:
            errors.append(f"{label}reviews `{task.reviews}` but does not depend on it: add it to `depends_on`")
        elif task.persona and tasks[task.reviews].persona == task.persona:
            errors.append(f"{label}`{task.persona}` would review its own work: name another persona")
    return errors or _cycles(tasks)


def _cycles(tasks: Mapping[str, PlanTask]) -> list[str]:
    if cycle := _cycle({key: task.depends_on for key, task in tasks.items()}):
        return [f"dependency cycle: {_arrows(cycle)}"]
    # A task is done only after its reviews, so a reviewer that waits for what needs the reviewed task waits for ever.
    events: dict[str, list[str]] = {}
    for key, task in tasks.items():
        events[f"work:{key}"] = [f"{'work' if d == task.reviews else 'done'}:{d}" for d in task.depends_on]
        reviewers = [f"work:{other.key}" for other in tasks.values() if other.reviews == key]
        events[f"done:{key}"] = [f"work:{key}", *reviewers]
    if not (cycle := _cycle(events)):
        return []
    path = [event.partition(":")[2] for event in cycle]
    path = [key for i, key in enumerate(path) if i == 0 or key != path[i - 1]]
    return [f"tasks that wait for each other, since a task is done only after its reviews: {_arrows(path)}"]


def _arrows(path: Sequence[str]) -> str:
    return " → ".join(f"`{key}`" for key in path)


def _cycle(graph: Mapping[str, Sequence[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def _over_budget(tasks: Sequence[PlanTask], limits: PlanLimits) -> list[str]:
    total = sum(task.budget_share for task in tasks)
    if total > 1 + _LEAST_SHARE_OVER:
        return [f"budget shares add up to {total:.4g}: at most 1"]
    wanted = floor(total * limits.budget_microusd)
    left = limits.budget_microusd if limits.available_microusd is None else limits.available_microusd
    if wanted > left:
        return [f"over budget: the tasks take {usd(wanted)} and {usd(left)} is left: lower the budget shares"]
    return []
