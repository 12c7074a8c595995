"""The nodes `watch` and `resolve`: wait for events, and handle failures.

Verdicts and sign-offs are handled in `reviewing`, assignments in `delegating`.
"""

from interlock.graph import budget_questions, effects
from interlock.graph.effects import Effect
from interlock.graph.reviewing import judged
from interlock.graph.state import END, State, Step, wait_at
from interlock.graph.unreviewed import lookbacks
from interlock.graph.view import OPEN, WAITING, MissionView, Question, RunView, TaskView, derived_id

BACKOFF_S = (5, 30)


def watch(state: State, runtime: Step) -> State:
    """Waits until the mission has an event."""
    return {**wait_at(state, "watch"), "route": "resolve"}


def resolve(state: State, runtime: Step) -> State:
    """Handles events: failures, verdicts, lost dependencies, a cancelled mission."""
    view = runtime.context
    if view.canceled:
        return {"effects": [*closing(view), *lookbacks(view)], "route": END}
    made: list[Effect] = [effects.count(task, done=True) for task in _done_now(view, state)]
    cancelled = _cancelled_now(state)
    for task in view.tasks:
        made.extend(_tidied(view, task) if task.ended else _answered(view, task, cancelled))
    made.extend(budget_questions.asked_once(view, made))
    made.extend(effects.void(q.id, "it no longer waits") for q in _stale(view))
    made.extend(look for look in lookbacks(view) if look["task"] != view.id)
    ended = all(task.ended for task in view.tasks)
    return {"effects": made, "route": "compile" if ended and view.tasks else "delegate"}


def _done_now(view: MissionView, state: State) -> list[TaskView]:
    ids = {
        event.get("task_id")
        for event in state.get("batch", [])
        if event["kind"] == "task_changed" and event.get("to") == "DONE"
    }
    return [task for task in view.tasks if task.id in ids and task.member_id]


def _cancelled_now(state: State) -> set[str]:
    """The runs that have just been cancelled."""
    ended = [event for event in state.get("batch", []) if event["kind"] == "run_ended"]
    return {str(event.get("run_id")) for event in ended if event.get("status") == "cancelled"}


def _stale(view: MissionView) -> list[Question]:
    """Questions about tasks whose state was changed by other means."""
    moved_on = [task for task in (view.root, *view.tasks) if not task.ended and task.status not in WAITING]
    return [q for task in moved_on for q in view.pending(task) if q.kind in ("ESCALATION", "TASK_REVIEW")]


def _answered(view: MissionView, task: TaskView, cancelled: set[str]) -> list[Effect]:
    run = view.run_of(task)
    if task.status in ("INBOX", "ASSIGNED") and view.lost(task):
        return _without_input(view, task)
    if task.status in OPEN and run is not None and not run.live:
        if run.status == "cancelled" and run.id not in cancelled:
            return [effects.failed(task, task.feedback), effects.work(view, task, attempt=task.attempt + 1)]
        return _failed(view, task, run)
    if task.status == "BLOCKED" and run is not None and run.status in ("failed", "cancelled"):
        return [effects.failed(task, _feedback(run))]
    if task.status == "REVIEW":
        return judged(view, task)
    return []


def _failed(view: MissionView, task: TaskView, run: RunView) -> list[Effect]:
    tries = task.attempt + 1
    counted = effects.failed(task, _feedback(run))
    inputs = {"run": run.id, "status": run.status, "stop_reason": run.stop_reason, "error": run.error, "tries": tries}
    if run.status == "cancelled":
        reason = f"its run was cancelled: {run.error or 'no reason given'}"
        return [counted, *_ask_again(view, task, "OPERATOR", reason)]
    if run.denied_money:
        reason = run.trouble
        asked = [budget_questions.waits(view, task, reason)] if budget_questions.is_broke(view, run) else None
        return [
            counted,
            effects.decide("resolution", reason, inputs, task),
            *(asked or _ask_again(view, task, "BUDGET", reason)),
        ]
    if (tried := tries % _limit(view, task)) and run.stop_reason != "dead_letter":
        reason = f"try {tries} failed and is made again: {run.trouble}"
        again = effects.work(view, task, attempt=tries, delay_s=BACKOFF_S[min(tried, len(BACKOFF_S)) - 1])
        return [counted, again, effects.decide("resolution", reason, inputs, task)]
    reason = f"{tries} tries failed, the last one because {run.trouble}" if tries > 1 else f"it failed: {run.trouble}"
    return [
        counted,
        effects.count(task, done=False),
        effects.decide("resolution", reason, inputs, task),
        *_ask_again(view, task, "FAILURE", reason),
    ]


def _limit(view: MissionView, task: TaskView) -> int:
    """How often a task is attempted before a person is asked: as its workflow says, if it follows one."""
    step = view.step(task)
    return view.task_tries if step is None else step.retries + 1


def _ask_again(view: MissionView, task: TaskView, kind: str, reason: str) -> list[Effect]:
    return effects.escalate(
        view,
        task,
        kind=kind,
        reason=reason,
        question=f"{reason}. Is it to be tried again, or does the mission go on without it?",
        approve="try it again",
        subject=derived_id("sub", task.id, kind, task.version),
    )


def _feedback(run: RunView) -> str:
    return f"The last try did not succeed: {run.trouble}. Find out what made it fail, and do that differently."


def _without_input(view: MissionView, task: TaskView) -> list[Effect]:
    """A dependency was cancelled. Only a person may decide that the task continues without its result."""
    made: list[Effect] = []
    for upstream in view.lost(task):
        subject = derived_id("sub", task.id, "DEPENDENCY", upstream.id)
        if view.answered(subject):
            reason = f"it goes on without `{upstream.title}`, which was cancelled, as a person has decided"
            made += [
                effects.undepend(task, upstream.id),
                effects.decide("resolution", reason, {"without": upstream.id}, task),
                effects.tick(),
            ]
        elif not made:
            reason = f"`{upstream.title}`, on which it depends, was cancelled"
            return effects.escalate(
                view,
                task,
                kind="DEPENDENCY",
                reason=reason,
                question=f"{reason}. Is it to be done without that result?",
                approve="do it without that result",
                subject=subject,
            )
    return made


def _tidied(view: MissionView, task: TaskView) -> list[Effect]:
    """Cancels the runs and questions of an ended task."""
    runs = [run for run in view.runs.values() if run.task_id == task.id and run.live and task.status == "CANCELED"]
    return [
        *(effects.stop(run.id, f"task `{task.id}` was cancelled") for run in runs),
        *(effects.void(q.id, "the task has ended") for q in view.pending(task)),
    ]


def closing(view: MissionView) -> list[Effect]:
    """Ends a cancelled mission: its root first, then every open task, their runs and questions."""
    reason = "the mission was cancelled"
    still = [task for task in (view.root, *view.tasks) if not task.ended]
    runs = [run for run in (*view.runs.values(), *view.thinks) if run.live]
    return [
        *(effects.move(task, "CANCELED", "system", reason, f"cancel:{task.id}:v{task.version}") for task in still),
        *(effects.stop(run.id, reason) for run in runs),
        *(effects.void(q.id, reason) for task in (view.root, *view.tasks) for q in view.pending(task)),
    ]
