"""Mailboxes for people: listing their runs, clearing them, and requeuing dead letters."""

from datetime import datetime, timedelta
from typing import Any

from interlock.core.errors import Conflict, NotFound, UsageError
from interlock.core.values import OPEN_RUNS
from interlock.desk.chats.wording import quarantine_reason
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import as_id, find
from interlock.desk.reading.views import View, view
from interlock.desk.work.controls import tell_coordinator
from interlock.state_machine.table import TERMINAL
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import controls, dead_letters, leases, queues
from interlock.store.mailboxes.controls import Mode
from interlock.store.runs import traces
from interlock.store.tx import Tx
from interlock.store.work import tasks as task_store

CLEARED = "cleared"
"""The stop reason of a run that was cleared from its queue."""
MOST_LANES = 50
MOST_RUNS = 200
MOST_CLEARED = 1_000
"""The maximum number of runs of one mailbox per transaction."""
MOST_WORDS = 500
SHOWN = (
    "id", "kind", "status", "attempt", "crashes", "due_at", "error", "cause_kind", "cause_id", "parent_run_id",
    "mission_id", "task_id", "created_at", "started_at",
)  # fmt: skip


async def queue(context: DeskContext, agent: str, *, most: int = MOST_RUNS) -> View:
    """The open runs in the mailboxes of a persona, or of one agent, each in order.

    {persona, state, lanes: [{agent_id, works_for, running, pending, waiting, runs}]}; a run has its cause
    (`cause_kind`, `cause_id`, `parent_run_id`) and `because`: what it waits for, in words.

    Raises NotFound.
    """
    return await context.store.read(_queue, context.settings.project, agent, most, context.clock.now())


async def of_run(context: DeskContext, run_id: str) -> View | None:
    """The entry of one run in `queue`; None if it has ended, or is too far down the queue."""
    return await context.store.read(_of_run, run_id, context.clock.now())


def _of_run(tx: Tx, run_id: str, now: datetime) -> View | None:
    run: Any = traces.run(tx, run_id)
    return next((each for each in _lane(tx, run.agent_id, MOST_RUNS, now)["runs"] if each["id"] == run_id), None)


def why_open(tx: Tx, run: Any, now: datetime) -> str | None:
    """What a run does or waits for, in words; None if it has ended, or is too far down the queue."""
    found = _of_run(tx, run.id, now) if run.status in OPEN_RUNS else None
    return found["because"] if found else None


def _queue(tx: Tx, project_id: str, named: str, most: int, now: datetime) -> View:
    member, agents = _named(tx, project_id, named)
    return {
        "persona": member.persona, "member_id": member.id, "state": member.state,
        "squad": str(controls.mode(tx)), "lanes": [_lane(tx, agent_id, most, now) for agent_id in agents],
    }  # fmt: skip


def _lane(tx: Tx, agent_id: str, most: int, now: datetime) -> View:
    lane: Any = queues.lane(tx, agent_id)
    mode, ahead, runs = controls.mode(tx), None, []
    for run in queues.waiting(tx, agent_id, most):
        why = _because(tx, run, lane, mode, ahead, now)
        runs.append(view(run, *SHOWN, purpose=run.payload.get("purpose"), because=why))
        if run.status != "waiting" and (run.status == "running" or not _is_delayed(run, now) or run.error):
            ahead = ahead or run.id
    counted = queues.counts(tx, agent_id)
    return {
        "agent_id": agent_id, "works_for": lane.descriptor, "held_by": lane.holder,
        "running": counted.get("running", 0), "pending": counted.get("created", 0),
        "waiting": counted.get("waiting", 0), "runs": runs,
    }  # fmt: skip


def _is_delayed(run: Any, now: datetime) -> bool:
    return run.due_at is not None and run.due_at > now


def _because(tx: Tx, run: Any, lane: Any, mode: Mode, ahead: str | None, now: datetime) -> str:
    if run.status == "running":
        return f"at work by {run.worker_id}" + (f", asked to {run.control}" if run.control else "")
    if run.status == "waiting":
        return "waits for " + (", ".join(queues.questions(tx, run.id)) or "a person")
    if _is_delayed(run, now):
        failed = f": {run.error}" if run.error else ""
        return f"{'tried again' if run.error else 'not before'} {run.due_at:%Y-%m-%d %H:%M:%S} UTC{failed}"
    if lane.paused:
        why = quarantine_reason(lane)
        return f"its agent is {lane.state.lower()}" + (f": {why}" if why else "")
    if lane.parked_run_id is not None:
        return f"behind {lane.parked_run_id}, which waits for a person"
    if ahead is not None:
        return f"behind {ahead}"
    if mode is not Mode.RUNNING:
        return f"the squad is {mode}"
    if lacking := leases.unmet(tx, lane.needs):
        return f"no worker that runs has {' and '.join(f'`{name}`' for name in lacking)}"
    return "next"


async def clear(context: DeskContext, person: Person, agent: str, *, reason: str | None = None) -> View:
    """Cancels pending runs in the mailboxes of a persona, or of one agent: {persona, runs, left}.

    Runs that execute or wait for a person stay, as do a coordinator's own steps (`left`): cancel its mission instead.

    Raises NotFound, Refused for a viewer. Source: row E6.
    """
    require_operator(person, "clear queues")
    why, patience = _words(reason), timedelta(seconds=context.settings.times.blocked_escalation_s)
    project, runs, goes_on = context.settings.project, list[str](), True
    while goes_on:
        done, goes_on = await context.store.write(_clear, person, project, agent, why, context.clock.now(), patience)
        runs += done["runs"]
    return {**done, "runs": runs}


def _clear(
    tx: Tx, person: Person, project_id: str, named: str, why: str | None, now: datetime, patience: timedelta
) -> tuple[View, bool]:
    """Clears a batch that does not occupy the writer for long; returns also whether there may be more."""
    member, agents = _named(tx, project_id, named, MOST_CLEARED)
    for agent_id in sorted(agents):
        queues.lock(tx, agent_id)
    lanes = [queues.pending(tx, agent_id, MOST_CLEARED) for agent_id in agents]
    pending = [run for lane in lanes for run in lane]
    cleared = [run for run in pending if run.kind != "mission"]
    reason = f"{person.name} cleared the queue" + (f": {why}" if why else "")
    for run in cleared:
        leases.cancel(tx, run.id, now, reason, stop_reason=CLEARED)
        if run.mission_id is not None:
            tell_coordinator(tx, person, run, reason, now, patience)
    ids = [run.id for run in cleared]
    if ids:
        audit.note(
            tx, "QUEUE_CLEARED", person.actor, now, project_id=member.project_id, subject=member.id,
            persona=member.persona, agents=agents, runs=ids, reason=why, surface=person.surface, name=person.name,
        )  # fmt: skip
    is_full = MOST_CLEARED in (len(agents), *map(len, lanes))
    return {"persona": member.persona, "runs": ids, "left": len(pending) - len(cleared)}, is_full and bool(ids)


async def requeue(context: DeskContext, person: Person, ident: str) -> View:
    """Requeues a dead letter at its place in its mailbox: {id, status, agent_id}.

    Raises Unknown, Refused, and Conflict if the run is not a dead letter or its result is no longer needed.
    """
    require_operator(person, "have runs tried again")
    return await context.store.write(_requeue, person, ident, context.clock.now())


def _requeue(tx: Tx, person: Person, ident: str, now: datetime) -> View:
    run: Any = traces.run(tx, find(tx, "run", ident))
    if run.stop_reason != dead_letters.STOP_REASON:
        ended = run.status if run.stop_reason is None else f"{run.status} ({run.stop_reason})"
        raise Conflict(
            f"run `{run.id}` is {ended}: only a dead letter can be tried again, "
            "see `interlock runs --status dead_letter`"
        )
    _check_wanted(tx, run)
    if not dead_letters.revive(tx, run.id, now):
        raise Conflict(f"run `{run.id}` was tried again by somebody else already")
    audit.note(
        tx, "RUN_REQUEUED", person.actor, now, project_id=run.project_id, mission_id=run.mission_id,
        task_id=run.task_id, run_id=run.id, was=run.error, surface=person.surface, name=person.name,
    )  # fmt: skip
    return {"id": run.id, "status": "created", "agent_id": run.agent_id}


def _check_wanted(tx: Tx, run: Any) -> None:
    """Raises Conflict for a run whose task or mission has moved on without it."""
    task: Any = task_store.task(tx, run.task_id) if run.kind == "task" else None
    if task is not None:
        again = [r.id for r in traces.runs(tx, task_id=task.id) if r.kind == "task" and r.seq > run.seq]
        is_its_own = task.assignee_agent_id == run.agent_id and not again
        if task.status not in ("ASSIGNED", "IN_PROGRESS") or not is_its_own:
            raise Conflict(
                f"run `{run.id}` cannot go on: its task `{task.id}` has moved on and is {task.status}, "
                f"see `interlock task {task.id}`"
            )
    root: Any = task_store.task(tx, run.mission_id) if run.mission_id else None
    if root is not None and root.status in TERMINAL:
        raise Conflict(f"run `{run.id}` cannot go on: its mission `{root.id}` is {root.status} already")


def _named(tx: Tx, project_id: str, named: str, most: int = MOST_LANES) -> tuple[Any, list[str]]:
    """The member with a persona, and its agents with open runs; or with one of its agents."""
    name = as_id(named)
    if (member := squad.member_of(tx, project_id, name)) is not None:
        return member, queues.busy(tx, member.id, most)
    try:
        agent: Any = squad.agent(tx, find(tx, "agent", name))
    except NotFound as error:
        message = f"no agent `{named}` has worked here: give a persona or an id, as `interlock agents` lists them"
        raise NotFound("agent", named, message=message) from error
    return squad.member(tx, agent.member_id), [agent.id]


def _words(reason: str | None) -> str | None:
    words = " ".join((reason or "").split())
    if len(words) > MOST_WORDS:
        raise UsageError(f"the reason has {len(words):,} characters: {MOST_WORDS} are the most")
    return words or None
