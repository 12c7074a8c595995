"""The nodes `compile` and `learn`: the mission's deliverable, its sign-off, and the Learner's review."""

from collections.abc import Sequence

from interlock.agents.prompts.quoting import one_line
from interlock.agents.prompts.task_messages import Material, compile_message
from interlock.core.values import digest
from interlock.graph import effects, evidence
from interlock.graph.effects import Effect
from interlock.graph.reviewing import signed_off
from interlock.graph.state import END, State, Step, goal_with_notes
from interlock.graph.unreviewed import lookbacks
from interlock.graph.view import ADDED, MissionView, RunView, TaskView, derived_id
from interlock.policy.gate import Fault, Submission, faults

MOST_TRIES = 2


def compile_(state: State, runtime: Step) -> State:
    """Once every task has ended: has the results compiled, submits the deliverable, and handles its sign-off."""
    view = runtime.context
    root = view.root
    made = list(state.get("effects", []))
    if root.status == "DONE":
        return {"effects": made, "route": "learn"}
    if root.status == "IN_PROGRESS":
        made += _compiled(view, [*state.get("notes", []), *([root.feedback] if root.feedback else [])])
    elif root.status == "REVIEW" and root.result is not None:
        first = evidence.outstanding(view, root, root.result)
        made += signed_off(view, root, root.result) if first is None else first
    return {"effects": made, "route": "watch"}


def learn(state: State, runtime: Step) -> State:
    """Posts the Learner's review of the mission, for which nothing waits, and ends the graph."""
    made = [*state.get("effects", []), *lookbacks(runtime.context)]
    return {"effects": made, "route": END}


def _compiled(view: MissionView, notes: list[str]) -> list[Effect]:
    done = [task for task in view.tasks if task.status == "DONE" and task.result is not None]
    if not done:
        return _nothing_done(view)
    added = sum(task.key.startswith(ADDED) for task in view.tasks)
    about = f"compile:{view.root.review_cycles}" + (f"+{added}" if added else "")
    tries = view.thoughts(about)
    found: list[Fault] = []
    if tries and tries[-1].live:
        return []
    if tries and tries[-1].status == "completed" and (tries[-1].result or "").strip():
        text = tries[-1].result or ""
        if not (found := faults(Submission(sha256=digest(text), text=text))):
            return _handed_in(view, done, text, tries[-1])
    if len(tries) < MOST_TRIES and not (tries and tries[-1].denied_money):
        results = [Material(t.id, t.title, view.texts.get(t.result.id, "")) for t in done if t.result]
        prompt = compile_message(goal_with_notes(view.goal, notes), results, _missing(view)).text
        prompt += _listed("It counts as done only once these checks of it pass", view.root.demands)
        prompt += _listed("Your last text was not taken", [f"{each.name}: {each.detail}" for each in found])
        labels = [*_taint(done), *view.checked.get(view.id, ())]
        return [effects.think(view, f"{about}:{len(tries) + 1}", prompt, labels)]
    reason = f"the results were put together without a model: {len(tries)} tries to compile them failed"
    inputs = {"runs": [run.id for run in tries], "why": [run.trouble for run in tries]}
    return [effects.decide("resolution", reason, inputs), *_handed_in(view, done, _mechanical(view, done), None)]


def _taint(done: list[TaskView]) -> list[str]:
    return [label for task in done if task.result for label in task.result.labels]


def _listed(heading: str, lines: Sequence[str]) -> str:
    """A section with a list; empty if the list is."""
    return "".join([f"\n## {heading}\n", *(f"- {one_line(line, limit=600)}\n" for line in lines)]) if lines else ""


def _missing(view: MissionView) -> list[tuple[str, str]]:
    return [(task.title, "it was cancelled") for task in view.tasks if task.status == "CANCELED"]


def _mechanical(view: MissionView, done: list[TaskView]) -> str:
    parts = [f"# {view.root.title}", f"Goal: {view.goal}"]
    parts += [f"## {t.title}\n\n{view.texts.get(t.result.id, '')}" for t in done if t.result]
    if missing := _missing(view):
        parts.append("## Not done\n\n" + "\n".join(f"- {title}: {reason}" for title, reason in missing))
    return "\n\n".join(parts) + "\n"


def _handed_in(view: MissionView, done: list[TaskView], text: str, run: RunView | None) -> list[Effect]:
    root = view.root
    labels = [*_taint(done), *(run.labels if run is not None else ())]
    deliverable = derived_id("dlv", view.id, root.version)
    reason = "every task has ended" + ("" if done else ", none of them done")
    return [
        effects.hand_in(view, deliverable, run.id if run else None, text, labels),
        effects.move(root, "REVIEW", "coordinator", reason, f"compiled:{root.id}:v{root.version}"),
    ]


def _nothing_done(view: MissionView) -> list[Effect]:
    """Source: row A18."""
    subject = derived_id("sub", view.id, "NOTHING_DONE")
    if view.answered(subject):
        return _handed_in(view, [], _mechanical(view, []), None)
    reason = "every task was cancelled: there is nothing to compile"
    return effects.escalate(
        view,
        view.root,
        kind="FAILURE",
        reason=reason,
        question=f"{reason}. Does the mission end with a note of what was not done?",
        approve="end it with that note",
        subject=subject,
    )
