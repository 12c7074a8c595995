"""The node `delegate`: assigns tasks, and posts the runs of assigned tasks.

Candidates are scored in `delegation`.
"""

from dataclasses import replace

from interlock.core.values import usd
from interlock.graph import effects
from interlock.graph.delegation import Candidate, Need, choose
from interlock.graph.effects import Effect
from interlock.graph.state import State, Step
from interlock.graph.view import OPEN, MissionView, TaskView, derived_id


def delegate(state: State, runtime: Step) -> State:
    """Assigns every task whose dependencies are met, and posts the runs that assigned tasks still lack."""
    view = runtime.context
    made = list(state.get("effects", []))
    touched = {each["task"] for each in made if each.get("task")}
    candidates = list(view.candidates)
    for task in view.tasks:
        if task.id in touched:
            continue
        if waiting_for_agent(view, task):
            made.extend(_assigned(view, task, candidates))
        elif task.status in OPEN and view.run_of(task) is None and view.ready(task) and not view.busy(task):
            made.append(effects.work(view, task))
    return {"effects": made, "route": "watch"}


def waiting_for_agent(view: MissionView, task: TaskView) -> bool:
    """Whether a task only lacks an assignee."""
    unassigned = task.status == "INBOX" or (task.status == "BLOCKED" and task.block_kind == "NO_AGENT")
    return unassigned and view.ready(task)


def _assigned(view: MissionView, task: TaskView, candidates: list[Candidate]) -> list[Effect]:
    author = view.task(task.reviews).worker if task.reviews else None
    need = Need(task.persona or "", task.type, f"{task.title}\n{task.description}", task.capabilities, author)
    choice = choose(candidates, need, view.delegation)
    inputs = {
        "need": {"persona": need.persona, "type": need.type, "capabilities": list(need.capabilities)},
        **choice.to_json(),
    }  # fmt: skip
    if choice.candidate is None:
        return [] if task.status == "BLOCKED" else _nobody(view, task, choice.reason, inputs)
    chosen = choice.candidate
    at = candidates.index(chosen)
    candidates[at] = replace(chosen, active_tasks=chosen.active_tasks + 1)
    inputs["daily_left"] = usd(chosen.daily_left_microusd)
    return [
        effects.assign(view, task, chosen.persona.name),
        effects.decide("delegation", choice.reason, inputs, task),
        *(effects.void(q.id, "somebody can do it now") for q in view.pending(task) if q.kind == "ESCALATION"),
    ]


def _nobody(view: MissionView, task: TaskView, why: str, inputs: dict[str, object]) -> list[Effect]:
    """Source: row A5."""
    return [
        effects.decide("delegation", why, inputs, task),
        *effects.escalate(
            view,
            task,
            kind="NO_AGENT",
            reason=f"nobody can take it: {why}",
            question="Nobody can do this task now. It starts by itself once somebody can.",
            approve="look for somebody again now",
            subject=derived_id("sub", task.id, "NO_AGENT"),
        ),
    ]
