"""The heartbeat ladder: a silent worker causes an alert, is then asked to stop, and finally loses its work to others.

Durations are of this process's monotonic clock, so that a jump of the wall clock does no harm. Dead processes on its
own machine are detected by each worker, at once. Source: row E8, numbers, "Time".
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from interlock.agents.persona import Persona
from interlock.agents.running import steps
from interlock.agents.running.handover import ask_about_uncertain
from interlock.agents.runtime import Runtime
from interlock.core.text import amount
from interlock.core.values import SYSTEM
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.knowledge import incidents
from interlock.store.mailboxes import leases, lost_workers
from interlock.store.mailboxes.leases import LiveWorker
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.runs import succession
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks

MOST_AGENTS = 3
"""After a task has lost this many agents, a person is asked."""
SILENT = "WORKER_SILENT"
"""The kind of an alert about a silent worker; it is settled when the worker recovers, or is declared lost."""
NOTHING_IN_HAND = "it had nothing in hand"
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Silence:
    """One worker's last heartbeat, when it was last checked, how long it has been silent, and its rung of the ladder.

    A `rung` of None means that another observer may have acted on it before.
    """

    beat: int
    looked_at: float
    silent_s: float = 0.0
    rung: int | None = None


class Heartbeat:
    """Remembers between sweeps how long each worker has been silent.

    The time between two sweeps counts for half of `stuck_s` at most: an observer that was itself suspended cannot tell
    who was silent meanwhile.
    """

    def __init__(self) -> None:
        self._seen: dict[str, _Silence] = {}

    async def sweep(self, runtime: Runtime) -> str | None:
        """Checks every worker and acts on its silence; returns a summary of the actions."""
        live = await runtime.store.read(leases.live)
        self._seen = {worker.id: await self._judge(runtime, worker) for worker in live}
        said = []
        for worker in live:
            seen = self._seen[worker.id]
            rung = _rung(runtime, seen.silent_s)
            if rung > (seen.rung or 0):
                said.append(await _climb(runtime, worker, seen.silent_s, rung))
                seen.rung = rung
        return "; ".join(said) or None

    async def _judge(self, runtime: Runtime, worker: LiveWorker) -> _Silence:
        now, most = runtime.clock.monotonic(), runtime.settings.times.stuck_s / 2
        seen = self._seen.get(worker.id)
        if seen is None:
            return _Silence(worker.beat, now)
        if seen.beat != worker.beat:
            if seen.rung != 0:
                await runtime.store.write(recover, worker.id, runtime.clock.now())
            return _Silence(worker.beat, now, rung=0)
        seen.silent_s += min(now - seen.looked_at, most)
        seen.looked_at = now
        return seen


def _rung(runtime: Runtime, silent_s: float) -> int:
    times = runtime.settings.times
    return sum(silent_s >= limit for limit in (times.stuck_s, times.graceful_stop_s, times.reassign_s))


async def _climb(runtime: Runtime, worker: LiveWorker, silent_s: float, rung: int) -> str:
    now, store, settings = runtime.clock.now(), runtime.store, runtime.settings
    if rung == 1:
        await store.write(suspect, worker, silent_s, settings.project, now)
        return f"{worker.id} may be stuck"
    if rung == 2:
        await store.write(stop_gracefully, worker, silent_s, settings.project, now)
        return f"{worker.id} is asked to hand its runs back"
    expires_at = now + timedelta(seconds=settings.approval_expires_s)
    escalate_at = now + timedelta(seconds=settings.times.blocked_escalation_s)
    reassigned = await store.write(Forced(runtime, worker, silent_s, expires_at, escalate_at, now).apply)
    return f"{worker.id} is lost" + (f", reassigned: {', '.join(reassigned)}" if reassigned else "")


def suspect(tx: Tx, worker: LiveWorker, silent_s: float, project_id: str, now: datetime) -> None:
    """After 60 s: raises an alert, marks its agents as stuck, and notifies their missions' coordinators, each once."""
    why = f"its worker `{worker.id}` has been silent for {silent_s:.0f} s"
    flagged = lost_workers.flag(tx, worker.id, why)
    runs = lost_workers.held(tx, worker.id)
    _alert_silence(tx, worker, len(runs), silent_s, runs[0].project_id if runs else project_id, now)
    for run in runs:
        if run.mission_id is not None and run.agent_id in flagged:
            payload = {"run_id": run.id, "task_id": run.task_id, "text": why}
            missions.notify(tx, run.mission_id, "stuck", payload, now)


def stop_gracefully(tx: Tx, worker: LiveWorker, silent_s: float, project_id: str, now: datetime) -> None:
    """After 90 s: asks the worker to hand its runs back after their current step, in case it still responds."""
    suspect(tx, worker, silent_s, project_id, now)
    for run in lost_workers.held(tx, worker.id):
        leases.ask_back(tx, run.id, at_once=False)


def recover(tx: Tx, worker_id: str, now: datetime) -> None:
    """Clears the marks on the worker's agents, and settles the alert about its silence."""
    lost_workers.clear(tx, worker_id)
    audit.settle(tx, SILENT, worker_id, now)


def _alert_silence(
    tx: Tx, worker: LiveWorker, run_count: int, silent_s: float, project_id: str, now: datetime
) -> None:  # fmt: skip
    machine, runs = worker.host.partition("/")[0], amount(run_count, "run")
    audit.alert(
        tx, now, project_id=project_id, severity="warning", kind=SILENT,
        text=f"the worker `{worker.id}` (process {worker.pid} on {machine}) has been silent for {silent_s:.0f} s; "
        + (f"{runs} in its hands may be stuck, and given to others if it stays so" if run_count else NOTHING_IN_HAND),
        key=f"stuck:{worker.id}:{worker.beat}", subject=worker.id,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Forced:
    """After 120 s: declares a worker gone and reassigns its work, in one transaction."""

    runtime: Runtime
    worker: LiveWorker
    silent_s: float
    expires_at: datetime
    escalate_at: datetime
    now: datetime

    def apply(self, tx: Tx) -> list[str]:
        """Takes everything from the worker, unless it has sent a heartbeat since; returns the reassigned tasks' ids.

        A task in progress goes to a new agent of the same member; other runs return to the heads of their queues.
        """
        if not lost_workers.declare_gone(tx, self.worker.id, self.worker.beat, self.now):
            return []
        audit.settle(tx, SILENT, self.worker.id, self.now)
        runs = lost_workers.held(tx, self.worker.id)
        reassigned = [run.task_id for run in runs if run.kind == "task" and self._take_over(tx, run)]
        leases.take_back(tx, self.worker.id, self.now, crash_limit=self.runtime.settings.crash_limit)
        machine = self.worker.host.partition("/")[0]
        tasks_on, runs_on = amount(len(reassigned), "task"), amount(len(runs) - len(reassigned), "run")
        audit.alert(
            tx, self.now, project_id=runs[0].project_id if runs else self.runtime.settings.project,
            severity="critical" if runs else "warning", kind="AGENT_LOST" if runs else "WORKER_LOST",
            text=f"the worker `{self.worker.id}` (process {self.worker.pid} on {machine}) was lost; "
            + (f"its work goes on: {tasks_on} with new agents, {runs_on} elsewhere" if runs else NOTHING_IN_HAND),
            key=f"lost:{self.worker.id}", subject=self.worker.id,
        )  # fmt: skip
        return reassigned

    def _take_over(self, tx: Tx, run: Any) -> bool:
        """Ends a task's run and reassigns the task to a new agent; False if the task is not in progress."""
        task = tasks.task(tx, run.task_id)
        if task is None or task.status != "IN_PROGRESS":
            return False
        reason = f"its agent was lost: the worker `{self.worker.id}` was silent for {self.silent_s:.0f} s"
        lost_workers.lose(tx, run.id, reason, self.now)
        ending = steps.Ending(status="failed", stop_reason="lost", error=reason)
        uncertain = ask_about_uncertain(tx, self.runtime.toolbox, run, task, self.expires_at, self.now)
        steps.close(tx, Claim(run, self.worker.id, run.fence), ending, SYSTEM, self.now)
        incidents.note(
            tx, "AGENT_LOST", f"{task.title}: {reason}", self.now, project_id=run.project_id,
            mission_id=run.mission_id, task_id=task.id, run_id=run.id, agent_id=run.agent_id,
            worker=self.worker.id, host=self.worker.host, silent_s=round(self.silent_s), steps=run.step_count,
            uncertain=uncertain,
        )  # fmt: skip
        audit.note(
            tx, "AGENT_LOST", SYSTEM, self.now, project_id=run.project_id, mission_id=run.mission_id,
            task_id=task.id, run_id=run.id, subject=run.agent_id, reason=reason,
        )  # fmt: skip
        if task.generation + 1 >= MOST_AGENTS:
            self._give_up(tx, task, reason)
        else:
            self._reassign(tx, task, reason, uncertain)
        return True

    def _reassign(self, tx: Tx, task: Any, reason: str, uncertain: list[str]) -> None:
        agent_id, generation = self._new_agent(tx, task), task.generation + 1
        succession.pass_on(tx, task.assignee_agent_id, agent_id, self.now)
        move = tasks.Move(
            task_id=task.id, to=TaskState.ASSIGNED, actor=SYSTEM, reason=reason, key=f"lost:{task.id}:g{generation}",
            assignee_agent_id=agent_id, new_generation=True, agent_lost=True,
        )  # fmt: skip
        tasks.advance(tx, move, self.now)
        if uncertain:
            hold = tasks.Move(
                task_id=task.id, to=TaskState.NEEDS_APPROVAL, actor=SYSTEM, key=f"uncertain:{task.id}:g{generation}",
                reason="it is not known whether an effect of the lost agent happened",
                wait_for=f"approval:{uncertain[0]}",
            )  # fmt: skip
            tasks.advance(tx, hold, self.now)

    def _new_agent(self, tx: Tx, task: Any) -> str:
        lost: Any = squad.agent(tx, task.assignee_agent_id)
        now_known = self.runtime.personas.personas.get(lost.persona)
        persona = now_known or Persona.from_json(lost.persona_json)
        parts = {"task": task.id, "generation": str(task.generation + 1)}
        descriptor = Descriptor("task", task.project_id, lost.persona, parts)
        return str(squad.ensure_agent(tx, descriptor, persona.to_json(), persona.trust, self.now).id)

    def _give_up(self, tx: Tx, task: Any, reason: str) -> None:
        """Blocks a task that has lost so many agents that it may itself be the cause."""
        why = f"{reason}; it has lost {MOST_AGENTS} agents, so it is not tried again by itself"
        move = tasks.Move(
            task_id=task.id, to=TaskState.BLOCKED, actor=SYSTEM, reason=why, key=f"lost:{task.id}:v{task.version}",
            block_kind=BlockKind.STUCK, wait_for="owner:operator", escalate_at=self.escalate_at,
        )  # fmt: skip
        tasks.advance(tx, move, self.now)
