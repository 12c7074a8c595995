"""The nodes `plan` and `check`: asking for a plan, judging the answer, and planning without a model where it must be.

What makes a plan valid is in `plan`; who gets its tasks, in delegating.
"""

from typing import Any

from interlock.agents.task_messages import plan_message
from interlock.graph import effects
from interlock.graph.effects import Effect
from interlock.graph.fallback import fallback_plan
from interlock.graph.plan import Plan, PlanLimits, parse_plan
from interlock.graph.state import State, Step, wait_at
from interlock.graph.view import MissionView, RunView, derived_id

MOST_TRIES = 2
"""A plan is asked for again once. Source: row A3."""


def plan(state: State, runtime: Step) -> State:
    """Takes the mission up and asks for a plan."""
    view = runtime.context
    number = len(view.thoughts("plan")) + 1
    prompt = plan_message(
        view.goal,
        list(view.personas.values()),
        budget_microusd=view.available_microusd,
        deadline=view.deadline_at,
        notes=state.get("notes", []),
        errors=state.get("problems", []),
    ).text
    asked = effects.think(view, f"plan:{number}", prompt)
    return {"effects": [*state.get("effects", []), *_taken_up(view), asked], "problems": [], "route": "check"}


def _taken_up(view: MissionView) -> list[Effect]:
    root = view.root
    if root.status != "INBOX":
        return []
    return [
        effects.take_up(view),
        effects.move(root, "IN_PROGRESS", "coordinator", "planning", f"start:{root.id}:v{root.version}"),
    ]


def check(state: State, runtime: Step) -> State:
    """Waits for the plan; a valid one becomes tasks, a bad one goes back once, then trigger words must do."""
    begun = wait_at(state, "check")
    view = runtime.context
    if view.canceled or view.tasks:
        return {**begun, "route": "resolve"}
    tries = view.thoughts("plan")
    if not tries:
        return {**begun, "route": "plan"}
    last = tries[-1]
    if last.live:
        return {**begun, "route": "check"}
    outcome = _judged(view, last)
    if isinstance(outcome, Plan):
        return {**begun, "effects": _adopted(view, outcome, "model", tries, []), "route": "delegate"}
    if len(tries) < MOST_TRIES and not last.denied_money:
        inputs = {"run": last.id, "errors": outcome}
        sent_back = effects.decide("plan", "the plan cannot be used and is asked for once more", inputs)
        problems = outcome if last.status == "completed" else []
        return {**begun, "effects": [sent_back], "problems": problems, "route": "plan"}
    found = fallback_plan(view.goal, view.personas)
    return {**begun, "effects": _adopted(view, found, "fallback", tries, outcome), "route": "delegate"}


def _judged(view: MissionView, run: RunView) -> Plan | list[str]:
    if run.status != "completed":
        return [f"the planning run failed: {run.trouble}"]
    return parse_plan(run.result or "", view.personas, _limits(view))


def _limits(view: MissionView) -> PlanLimits:
    return PlanLimits(view.budget_microusd, view.available_microusd)


def _adopted(
    view: MissionView, found: Plan, source: str, tries: list[RunView], errors: list[str]
) -> list[Effect]:  # fmt: skip
    budgets = found.budgets_microusd(_limits(view))
    ids = {task.key: derived_id("tsk", view.id, task.key) for task in found.tasks}
    rows: list[dict[str, Any]] = [
        {
            **task.to_json(),
            "id": ids[task.key],
            "budget_microusd": budgets[task.key],
            "depends_on": [ids[key] for key in task.depends_on],
            "reviews": ids[task.reviews] if task.reviews else None,
        }
        for task in found.tasks
    ]
    reason = f"the model's plan, at try {len(tries)}"
    if source == "fallback":
        reason = f"no usable plan after {len(tries)} tries: the fallback planner made one from trigger words"
    inputs = {
        "source": source, "goal": view.goal, "runs": [run.id for run in tries], "errors": errors,
        "tasks": {task.key: ids[task.key] for task in found.tasks}, "summary": found.summary,
    }  # fmt: skip
    return [
        effects.create(rows, found.summary, sum(budgets.values())),
        effects.decide("plan", reason, inputs),
    ]
