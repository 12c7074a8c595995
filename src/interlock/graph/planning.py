"""The nodes `plan` and `check`: request a plan, judge the answer, and plan without a model if necessary.

Plans are validated in `plan`; their tasks are assigned in `delegating`.
"""

from typing import Any

from interlock.agents.prompts.task_messages import plan_message
from interlock.graph import effects
from interlock.graph.effects import Effect
from interlock.graph.fallback import fallback_plan
from interlock.graph.plan import Plan, PlanLimits, parse_plan
from interlock.graph.state import State, Step, wait_at
from interlock.graph.view import MissionView, Question, RunView, derived_id
from interlock.graph.workflow import Workflow

MOST_TRIES = 2
"""A plan is requested once more after a bad one. Source: row A3."""


def plan(state: State, runtime: Step) -> State:
    """Takes the mission up and requests a plan, unless a workflow replaces it."""
    view = runtime.context
    if view.follows is not None:
        return _follow(state, view, view.follows)
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


def _follow(state: State, view: MissionView, workflow: Workflow) -> State:
    """Makes the workflow's steps the mission's tasks; if people approve plans, they approve this one too."""
    found = workflow.plan(view.goal, view.budget_microusd)
    settled = _settled(state, view, found, "workflow", [], [])
    return {**settled, "effects": [*state.get("effects", []), *_taken_up(view), *settled["effects"]]}


def check(state: State, runtime: Step) -> State:
    """Waits for the plan; a valid one becomes tasks, a bad one is returned once, then the fallback plan is used."""
    begun = wait_at(state, "check")
    view = runtime.context
    if view.canceled or view.tasks:
        return {**begun, "route": "resolve"}
    tries = view.thoughts("plan")
    if not tries and (view.workflow is None or view.follows is not None):
        return {**begun, "route": "plan"}
    if not tries:
        return _unwanted(begun, tries)
    last = tries[-1]
    if last.live:
        return {**begun, "route": "check"}
    outcome = _judged(view, last)
    if isinstance(outcome, Plan):
        return _settled(begun, view, outcome, "model", tries, [])
    if len(tries) - len(denied(view)) < MOST_TRIES and not last.denied_money:
        inputs = {"run": last.id, "errors": outcome}
        sent_back = effects.decide("plan", "the plan cannot be used and is asked for once more", inputs)
        problems = outcome if last.status == "completed" else []
        return {**begun, "effects": [sent_back], "problems": problems, "route": "plan"}
    found = fallback_plan(view.goal, view.personas)
    return _settled(begun, view, found, "fallback", tries, outcome)


def denied(view: MissionView) -> list[Question]:
    """The plans that a person denied."""
    return [q for q in view.questions if q.kind == "PLAN" and q.status == "denied"]


def _settled(
    begun: State, view: MissionView, found: Plan, source: str, tries: list[RunView], errors: list[str]
) -> State:  # fmt: skip
    """Adopts a plan; if a person has to approve it first, asks, waits, or plans anew with their reason."""
    subject = derived_id("sub", view.id, "PLAN", len(tries))
    asked = [q for q in view.questions if q.kind == "PLAN" and q.subject == subject]
    status = asked[-1].status if asked else "none"
    if status in ("approved", "used") or not view.asks_about_plan:
        return {**begun, "effects": _adopted(view, found, source, tries, errors), "route": "delegate"}
    if status == "denied":
        return _unwanted(begun, tries)
    made = _asked(view, found, subject) if status != "pending" else []
    return {**begun, "effects": made, "route": "check"}


def _unwanted(begun: State, tries: list[RunView]) -> State:
    """Plans anew, with the reason of the person who denied the last plan."""
    said = [str(e["note"]) for e in begun.get("batch", []) if e["kind"] == "answered" and e.get("note")]
    why = f"a person does not want this plan: {'; '.join(said) or 'make another one'}"
    return {**begun, "effects": [effects.decide("plan", why, {"try": len(tries)})], "problems": [why], "route": "plan"}


def _asked(view: MissionView, found: Plan, subject: str) -> list[Effect]:
    """Asks a person to approve a plan; the mission waits for the answer. Source: kind PLAN."""
    root, budgets = view.root, found.budgets_microusd(_limits(view))
    number = sum(q.kind == "PLAN" for q in view.questions)
    approval = derived_id("apr", view.id, root.id, "PLAN", number)
    shown = [
        {
            "key": task.key, "title": task.title, "persona": task.persona, "description": task.description,
            "budget_microusd": budgets[task.key], "depends_on": list(task.depends_on),
        }
        for task in found.tasks
    ]  # fmt: skip
    why = "the settings ask for a person's word before work begins"
    request = {
        "title": root.title, "summary": f"work by a plan of {len(shown)} tasks: {found.summary}",
        "question": "Is this the plan to work by?", "plan": shown,
        "approve": "work begins", "deny": "it is planned anew with your reason",
    }  # fmt: skip
    key = f"plan:{root.id}:v{root.version}"
    return [
        effects.ask(root, "PLAN", approval, subject, "YELLOW", request, [why]),
        effects.wait(root, "NEEDS_APPROVAL", why, key, f"approval:{approval}"),
        effects.decide("plan", why, {"approval": approval, "tasks": len(shown)}),
    ]


def _judged(view: MissionView, run: RunView) -> Plan | list[str]:
    if run.status != "completed":
        return [f"the planning run failed: {run.trouble}"]
    return parse_plan(run.result or "", view.personas, _limits(view))


def _limits(view: MissionView) -> PlanLimits:
    return PlanLimits(view.budget_microusd, view.available_microusd, task_budgets_microusd=view.task_budgets_microusd)


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
            "checks": [{**each, "by": f"workflow:{view.follows.name}"} for each in task.checks] if view.follows else [],
        }
        for task in found.tasks
    ]
    reason = f"the model's plan, at try {len(tries)}"
    more: dict[str, Any] = {}
    if source == "fallback":
        reason = f"no usable plan after {len(tries)} tries: the fallback planner made one from trigger words"
    elif (followed := view.follows) is not None:
        reason = f"the workflow `{followed.name}` stands in place of a plan"
        more = {"workflow": followed.name, "file": followed.source, "digest": followed.digest}
    inputs = {
        "source": source, "goal": view.goal, "runs": [run.id for run in tries], "errors": errors,
        "tasks": {task.key: ids[task.key] for task in found.tasks}, "summary": found.summary, **more,
    }  # fmt: skip
    return [
        effects.create(rows, found.summary, sum(budgets.values())),
        effects.decide("plan", reason, inputs),
    ]
