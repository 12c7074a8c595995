"""Stopping work that makes no progress: the task is blocked for people, with a diagnosis of what its run did.

When a run gets nowhere is `policy.progress`' matter. Source: row I7.
"""

from datetime import datetime
from typing import Any

from interlock.agents.running.brief import COMPACTION, Brief
from interlock.core.ids import new_id
from interlock.core.values import Actor, ActorKind, digest
from interlock.policy.progress import Stuck, Watch
from interlock.policy.secrets import scrub
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store.auditing import audit
from interlock.store.knowledge import incidents
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import tasks

NO_PROGRESS = "no_progress"
"""Why such a run stopped."""
BREAKER = Actor(ActorKind.SYSTEM, "system:breaker")


def resumed(brief: Brief, *, unanswered: bool) -> Watch:
    """The progress counts of a run, from its rows and those of the task's earlier runs.

    With `unanswered`, the last step is still to be counted.
    """
    task = brief.task
    watch = Watch(task.idle_calls, task.idle_microusd) if task is not None else Watch()
    worked = [step for step in brief.steps if step.stop_reason != COMPACTION]
    steps = worked[:-1] if unanswered else worked
    for step in steps:
        watch.step(step.cost_microusd, [call for call in brief.calls if call.step_number == step.step_number])
    return watch


def stop(tx: Tx, run: Any, stuck: Stuck, now: datetime) -> None:
    """Records that a run made no progress, and blocks its task until a person has looked at it."""
    where = {"project_id": run.project_id, "mission_id": run.mission_id, "task_id": run.task_id, "run_id": run.id}
    text = scrub(stuck.diagnosis)
    task = tasks.task(tx, run.task_id) if run.task_id else None
    about = task.title if task is not None else f"a {run.kind} run"
    incidents.note(
        tx, "BREAKER", text, now, **where, agent_id=run.agent_id, calls=stuck.calls, microusd=stuck.microusd,
        did=[scrub(line) for line in stuck.did],
    )  # fmt: skip
    audit.note(
        tx, "PROGRESS_BREAKER", BREAKER, now, **where, reason=stuck.reason, calls=stuck.calls,
        amount_microusd=stuck.microusd,
    )  # fmt: skip
    audit.alert(
        tx, now, project_id=run.project_id, severity="warning", kind="NO_PROGRESS", subject=run.task_id or run.id,
        text=f"{about}: stopped: {stuck.reason}; `interlock trace {run.id}` shows what it did",
        key=f"progress:{run.id}",
    )  # fmt: skip
    if task is not None and task.status in ("ASSIGNED", "IN_PROGRESS"):
        tasks.add_message(tx, task.id, "COMMENT", BREAKER, text, now, run_id=run.id)
        _block(tx, task, run, stuck, now)


def _block(tx: Tx, task: Any, run: Any, stuck: Stuck, now: datetime) -> None:
    approval_id = new_id("apr")
    request = {
        "title": task.title, "summary": f"no progress: {stuck.reason}", "block": "BREAKER",
        "question": f"It gets nowhere: {stuck.reason}. Is it to be worked on once more?",
        "approve": "work on it once more, counting from now",
        "deny": "cancel the mission" if task.parent_id is None else "cancel it",
        "did": [scrub(line) for line in stuck.did],
    }  # fmt: skip
    approvals.ask(
        tx, id=approval_id, kind="ESCALATION", project_id=task.project_id, mission_id=task.mission_id, task_id=task.id,
        subject=digest({"task": task.id, "breaker": run.id, "version": task.version}), risk="YELLOW",
        rules=["breakers.progress"], reasons=[stuck.reason], asked_by=BREAKER.id,
        created_at=now, request=request,
    )  # fmt: skip
    move = tasks.Move(
        task_id=task.id, to=TaskState.BLOCKED, actor=BREAKER, reason=f"no progress: {stuck.reason}",
        block_kind=BlockKind.BREAKER, key=f"block:{task.id}:BREAKER:{run.id}", wait_for=f"approval:{approval_id}",
    )  # fmt: skip
    tasks.advance(tx, move, now)
