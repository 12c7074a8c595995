"""A workflow as stored with a mission: steps that replace a plan, as they were when the mission began.

Files are parsed in `workflow_file`; the desk selects a workflow. Source: row A14.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import floor
from typing import Any

from interlock.core.values import MICRO
from interlock.graph.plan import Plan, PlanTask

RETRIES = 2
"""The retries of a failed run unless a step says otherwise. Source: numbers, "Other defaults"."""
KEPT_BACK = 0.1
"""The fraction of the unassigned budget that is reserved for compiling the results."""
REVIEW = "review"
"""The capability that a review needs, and the suffix of its key."""
TEMPLATE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. `task` is a template with `{{goal}}`, `{{inputs.NAME}}` and `{{steps.NAME}}`."""

    key: str
    title: str
    persona: str
    task: str
    expected: str
    type: str
    depends_on: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    priority: str = "medium"
    minutes: int = 30
    budget_share: float | None = None
    budget_usd: float | None = None
    retries: int = RETRIES
    timeout_s: int | None = None
    """How long one of its runs may take."""
    checks: tuple[Mapping[str, Any], ...] = ()
    review: str | None = None
    """The persona that reviews what it hands in."""
    review_type: str = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """Named steps that form a DAG. `inputs` are the values for its templates, by name."""

    name: str
    title: str
    steps: tuple[Step, ...]
    description: str = ""
    triggers: tuple[str, ...] = ()
    inputs: Mapping[str, str | None]
    """None: whoever starts it must give one."""
    source: str = ""
    digest: str = ""
    """Of its file."""

    def step(self, key: str) -> Step | None:
        """The step with that key; None for a task that is not a step, such as a review."""
        return next((each for each in self.steps if each.key == key), None)

    @property
    def missing(self) -> tuple[str, ...]:
        """The inputs without a value."""
        return tuple(name for name, value in self.inputs.items() if value is None)

    def least_microusd(self, budget_microusd: int) -> int:
        """What its steps take of a mission's budget by their own settings."""
        usd = sum(step.budget_usd or 0 for step in self.steps)
        share = sum(step.budget_share or 0 for step in self.steps)
        return round(usd * MICRO) + floor(share * budget_microusd)

    def plan(self, goal: str, budget_microusd: int) -> Plan:
        """The steps as a plan for a goal; each review is a task of its own."""
        shares = self._shares(budget_microusd)
        tasks: list[PlanTask] = []
        for step in self.steps:
            tasks.append(self._task(step, goal, shares[step.key]))
            if step.review is not None:
                tasks.append(_review(step, shares[step.key]))
        return Plan(f"The workflow `{self.name}`: {self.title}", tuple(tasks))

    def _shares(self, budget_microusd: int) -> dict[str, float]:
        """The fraction of the budget for each step and its review; the rest is shared by steps that name none."""
        named = {
            step.key: step.budget_share if step.budget_usd is None else step.budget_usd * MICRO / budget_microusd
            for step in self.steps
        }
        silent = [key for key, share in named.items() if share is None]
        left = max(0.0, 1 - sum(share for share in named.values() if share is not None)) * (1 - KEPT_BACK)
        return {key: left / len(silent) if share is None else share for key, share in named.items()}

    def _task(self, step: Step, goal: str, share: float) -> PlanTask:
        own = share if step.review is None else share * 0.8
        return PlanTask(
            key=step.key, title=step.title, description=self._filled(step.task, goal), persona=step.persona,
            type=step.type, priority=step.priority, estimated_minutes=step.minutes, capabilities=step.capabilities,
            deliverable=step.expected, budget_share=own, depends_on=step.depends_on,
            budget_microusd=None if step.budget_usd is None else round(own / share * step.budget_usd * MICRO),
            checks=step.checks,
        )  # fmt: skip

    def _filled(self, template: str, goal: str) -> str:
        """INVARIANT: inserted values are not expanded again."""

        def value(found: re.Match[str]) -> str:
            kind, _, name = found[1].partition(".")
            if kind == "goal":
                return goal.strip()
            if kind == "inputs":
                return str(self.inputs.get(name) or "")
            step = self.step(name)
            return f"the result of “{step.title}”, which is among your inputs" if step is not None else found[0]

        return TEMPLATE.sub(value, template).strip()

    def to_json(self) -> dict[str, Any]:
        """The complete workflow as stored with a mission."""
        return {**asdict(self), "inputs": dict(self.inputs)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Workflow":
        """The inverse of `to_json`, for this version and adjacent ones."""
        known = {each.name for each in fields(cls)} - {"steps"}
        given = {name: _frozen(value) for name, value in data.items() if name in known}
        return cls(**given, steps=tuple(_step(each) for each in data["steps"]))


def _step(data: Mapping[str, Any]) -> Step:
    known = {each.name for each in fields(Step)}
    return Step(**{name: _frozen(value) for name, value in data.items() if name in known})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _review(step: Step, share: float) -> PlanTask:
    title = f"Review of {step.title}"
    return PlanTask(
        key=f"{step.key}-{REVIEW}", title=title[:LONGEST_TITLE],
        description=f"Judge what “{step.title}” has handed in by what it was asked for.", persona=step.review or "",
        type=step.review_type, priority=step.priority, estimated_minutes=15, capabilities=(),
        deliverable="the verdict, `pass` or `changes`, with findings ordered by the harm they do",
        budget_share=share * 0.2, depends_on=(step.key,), reviews=step.key,
        budget_microusd=None if step.budget_usd is None else round(0.2 * step.budget_usd * MICRO),
    )  # fmt: skip
