"""The effects that nodes can request, each as a small JSON command; nothing is executed here.

INVARIANT: a command names what it creates by ids derived from the mission, so that repeating a step repeats the same
commands.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from interlock.graph.view import MissionView, Result, TaskView, derived_id
from interlock.policy.learning import lesson_rules
from interlock.store.auditing.audit import TASK_WAITS

Effect = dict[str, Any]
As = Literal["coordinator", "system"]
Decision = Literal["plan", "delegation", "resolution", "escalation"]


def move(
    task: TaskView, to: str, by: As, reason: str, key: str, *, feedback: str | None = None, approval: str | None = None
) -> Effect:
    """Changes a task's state."""
    return {
        "do": "move", "task": task.id, "to": to, "as": by, "reason": reason, "key": key, "feedback": feedback,
        "approval": approval,
    }  # fmt: skip


def wait(task: TaskView, to: str, reason: str, key: str, wait_for: str, kind: str | None = None) -> Effect:
    """Makes a task wait for something: BLOCKED with a kind, or NEEDS_APPROVAL. Source: row A18."""
    by: As = "coordinator" if to == "BLOCKED" and task.status == "IN_PROGRESS" and kind == "FAILURE" else "system"
    return {
        "do": "wait", "task": task.id, "to": to, "as": by, "reason": reason, "key": key, "wait_for": wait_for,
        "kind": kind,
    }  # fmt: skip


def create(tasks: Sequence[Mapping[str, Any]], summary: str, estimate_microusd: int) -> Effect:
    """Creates the tasks of a plan, which refer to each other by id."""
    return {"do": "create", "tasks": [dict(t) for t in tasks], "summary": summary, "estimate": estimate_microusd}


def assign(view: MissionView, task: TaskView, persona: str) -> Effect:
    """Assigns a task to an agent of a persona and posts its first run."""
    return {
        "do": "assign", "task": task.id, "persona": persona, "generation": task.generation,
        "key": f"assign:{task.id}:v{task.version}",
        "run_key": view.run_key(task), "purpose": purpose(task),
    }  # fmt: skip


def work(view: MissionView, task: TaskView, *, attempt: int | None = None, delay_s: int = 0) -> Effect:
    """Posts a task's run to its assignee, once for its key."""
    return {
        "do": "work", "task": task.id, "agent": task.assignee, "run_key": view.run_key(task, attempt=attempt),
        "purpose": purpose(task), "delay_s": delay_s,
    }  # fmt: skip


def take_up(view: MissionView) -> Effect:
    """Assigns the mission's root task to its coordinator."""
    root = view.root
    return {"do": "take_up", "task": root.id, "key": f"take:{root.id}:v{root.version}"}


def purpose(task: TaskView) -> str:
    """The purpose of a run for this task: the work itself, or rework."""
    return "rework" if task.review_cycles else "work"


def check(task: TaskView, result: Result, number: int) -> Effect:
    """Executes the checks of a deliverable, once for each `number`. Source: row A20."""
    return {
        "do": "check", "task": task.id, "deliverable": result.id, "run_key": f"check:{result.id}:{number}",
    }  # fmt: skip


def vote(task: TaskView, result: Result, against: Sequence[str], for_it: Sequence[str]) -> Effect:
    """Asks three models to vote on disputed work, once per review cycle. Source: row A10."""
    return {
        "do": "vote", "task": task.id, "deliverable": result.id, "against": list(against), "for": list(for_it),
        "cycle": task.review_cycles,
    }  # fmt: skip


def failed(task: TaskView, feedback: str | None) -> Effect:
    """Counts a failed attempt, with feedback for the next one."""
    return {"do": "failed", "task": task.id, "attempt": task.attempt, "feedback": feedback}


def think(view: MissionView, about: str, prompt: str, labels: Iterable[str] = ()) -> Effect:
    """Posts a model call of the coordinator; `about` is its purpose and number, such as `plan:1`.

    `labels` are the taint of the prompt.
    """
    return {
        "do": "think", "purpose": about.partition(":")[0], "key": f"think:{view.id}:{about}", "prompt": prompt,
        "labels": sorted(set(labels)),
    }  # fmt: skip


def learn(task: TaskView, key: str) -> Effect:
    """Scores the lessons that a task's agents were shown by its end, and posts the Learner's review of it."""
    outcome = lesson_rules.outcome(task.status, task.block_kind, task.attempt, task.review_cycles)
    return {"do": "learn", "task": task.id, "key": key, "outcome": str(outcome)}


def decide(decision: Decision, reason: str, inputs: Mapping[str, Any], task: TaskView | None = None) -> Effect:
    """Records a decision. Source: row A11."""
    return {
        "do": "decide", "decision": decision, "reason": reason, "inputs": dict(inputs),
        "task": task.id if task else None,
    }  # fmt: skip


def ask(
    task: TaskView,
    kind: str,
    approval: str,
    subject: str,
    risk: str,
    request: Mapping[str, Any],
    reasons: Sequence[str],
) -> Effect:
    """Asks a person a question about a task."""
    return {
        "do": "ask", "task": task.id, "kind": kind, "approval": approval, "subject": subject, "risk": risk,
        "request": dict(request), "reasons": list(reasons),
    }  # fmt: skip


def approve(task: TaskView, approval: str, subject: str, risk: str, reason: str, result: Result) -> Effect:
    """Records that the policy itself approves a deliverable. Source: row B2."""
    return {
        "do": "approve", "task": task.id, "approval": approval, "subject": subject, "risk": risk, "reason": reason,
        "deliverable": result.id,
    }  # fmt: skip


def hand_in(view: MissionView, deliverable: str, run: str | None, text: str, labels: Iterable[str]) -> Effect:
    """Submits the mission's own deliverable."""
    return {
        "do": "hand_in", "task": view.id, "deliverable": deliverable, "run": run, "text": text,
        "labels": sorted(set(labels)), "title": view.root.title,
    }  # fmt: skip


def count(task: TaskView, *, done: bool) -> Effect:
    """Counts a task in the track record of its assignee."""
    return {"do": "count", "task": task.id, "member": task.member_id, "done": done}


def alert(kind: str, text: str, key: str, subject: str, severity: str = "warning") -> Effect:
    """Alerts people."""
    return {"do": "alert", "kind": kind, "text": text, "key": key, "subject": subject, "severity": severity}


def stop(run: str, reason: str) -> Effect:
    """Cancels a run."""
    return {"do": "stop", "run": run, "reason": reason}


def void(approval: str, reason: str) -> Effect:
    """Withdraws a question."""
    return {"do": "void", "approval": approval, "reason": reason}


def undepend(task: TaskView, on: str) -> Effect:
    """Removes a dependency of a task."""
    return {"do": "undepend", "task": task.id, "on": on}


def tick() -> Effect:
    """Schedules another step of the coordinator, after this one is committed."""
    return {"do": "tick"}


def block_key(task: TaskView, kind: str, mark: str | None = None) -> str:
    """The key of a block; with a `mark`, of one that happens only once per mark."""
    return f"block:{task.id}:{kind}:{mark or f'v{task.version}'}"


def escalate(
    view: MissionView,
    task: TaskView,
    *,
    kind: str | None,
    reason: str,
    question: str,
    approve: str,
    subject: str,
    mark: str | None = None,
    about: str | None = None,
) -> list[Effect]:
    """Stops a task until a person has answered: approving applies `approve`, denying continues without the task.

    With a kind the task is BLOCKED, otherwise it is in NEEDS_APPROVAL. Source: rows A10, A18, B4.
    """
    key = block_key(task, kind or "ESCALATION", mark)
    asked = sum(q.kind == "ESCALATION" and q.task_id == task.id for q in view.questions)
    approval = derived_id("apr", view.id, task.id, "ESCALATION", asked)
    without = [t.title for t in view.downstream(task) if not t.ended]
    deny = "cancel it" if task.id != view.id else "cancel the mission"
    request = {
        "title": task.title, "question": question, "approve": approve,
        "deny": deny + (f", and with it {', '.join(f'`{t}`' for t in without)}" if without else ""),
        "cancels": [t.id for t in view.downstream(task) if not t.ended],
        "block": kind,
        **({"about": about} if about else {}),
    }  # fmt: skip
    return [
        *(void(q.id, "asked anew") for q in view.pending(task) if q.kind == "ESCALATION"),
        ask(task, "ESCALATION", approval, subject, "YELLOW", request, [reason]),
        wait(task, "BLOCKED" if kind else "NEEDS_APPROVAL", reason, key, f"approval:{approval}", kind),
        decide("escalation", reason, {"question": question, "approval": approval, "block": kind}, task),
        alert(TASK_WAITS, f"{task.title}: {reason}", f"{key}:{asked}", task.id),
    ]
