"""Manual changes of tasks: comments and transitions; cancelling is in `controls`.

The coordinator is notified of each transition, as of those by agents, and acts on it.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from interlock.core.errors import Conflict, Refused, UsageError
from interlock.core.ids import new_id
from interlock.core.text import storable
from interlock.desk.agents.personas import persona_named
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.operations import executing
from interlock.desk.reading.finding import find, one_of_states
from interlock.desk.reading.views import View, view
from interlock.desk.work import controls
from interlock.policy.secrets import scrub
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import squad
from interlock.store.mailboxes import quarantines
from interlock.store.runs import succession
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks
from interlock.store.work.tasks import Move
from interlock.store.work.tasks import TransitionRefused as TransitionRefused

if TYPE_CHECKING:
    from interlock.agents.persona import Persona

MOST_CHARS = 20_000
TRIES = 3
STATES = tuple(str(state) for state in TaskState)
ENDED = (TaskState.DONE, TaskState.CANCELED)
_AT_WORK = (TaskState.ASSIGNED, TaskState.IN_PROGRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMove:
    """A transition requested by a person; `to` of None means the state before it was blocked."""

    person: Person
    ident: str
    to: TaskState | None
    reason: str
    key: str
    now: datetime
    escalate_at: datetime
    persona: "Persona | None" = None
    """The persona of the new agent, for a reassignment."""


async def comment(context: DeskContext, person: Person, ident: str, text: str) -> View:
    """Adds a comment to the thread of a task or mission, and notifies whoever it mentions: {id, task_id}.

    Agents are told it when their next run for the task begins; of a mission, its coordinator at its next event, and
    all agents whose runs begin after that. Source: row A21.

    Raises Unknown, Refused for a viewer, UsageError for an empty or too long text.
    """
    require_operator(person, "comment on tasks")
    return await context.store.write(_comment, person, ident, _words(text, "the comment"), context.clock.now())


async def transition(
    context: DeskContext, person: Person, ident: str, to: str, *, reason: str, key: str | None = None,
    wait_s: float = executing.PROOF_S,
) -> View:  # fmt: skip
    """Changes a task's state: {id, transition_id, from, to, reason, changed, status, runs}; row B3.

    Idempotent by person and `key`: a repetition returns the first result, with `changed` false. `runs` are those that
    were asked to stop; if any was executing, the result includes `executing.stop_report`.

    Raises Unknown, Refused, UsageError, and Conflict if somebody else changed the task first.
    """
    require_operator(person, "move tasks")
    wanted = _wanted(context, person, ident, one_of_states(to, STATES), reason, key)
    return await _done(context, wanted, wait_s)


async def retry(context: DeskContext, person: Person, ident: str, *, reason: str = "") -> View:
    """Lets a blocked task go on from where it was; as `transition`. What was asked about it needs no answer then.

    Raises Unknown, Refused, and UsageError for a task that is not blocked.
    """
    require_operator(person, "retry tasks")
    words = reason.strip() or f"{person.name} lets it be tried again"
    return await _done(context, _wanted(context, person, ident, None, words, None), executing.PROOF_S)


async def reassign(
    context: DeskContext, person: Person, ident: str, persona: str | None = None, *, reason: str = ""
) -> View:  # fmt: skip
    """Gives a task to a new agent, of the same persona or of another that takes its type; as `transition`.

    Raises Unknown, Refused, and UsageError for an unknown persona.
    """
    require_operator(person, "reassign tasks")
    found = await context.store.read(_worker, ident)
    chosen = await asyncio.to_thread(persona_named, context, persona or found)
    words = reason.strip() or f"{person.name} gives it to another agent of {chosen.name}"
    wanted = _wanted(context, person, ident, str(TaskState.ASSIGNED), words, None)
    return await _done(context, replace(wanted, persona=chosen), executing.PROOF_S)


def _wanted(context: DeskContext, person: Person, ident: str, to: str | None, reason: str, key: str | None) -> TaskMove:
    now = context.clock.now()
    return TaskMove(
        person=person, ident=ident, to=TaskState(to) if to else None, reason=_words(reason, "the reason"), now=now,
        key=f"hand:{person.id}:{key}" if key else new_id("mov"),
        escalate_at=now + timedelta(seconds=context.settings.times.blocked_escalation_s),
    )  # fmt: skip


def _words(text: str, what: str) -> str:
    words = scrub(storable(text)).strip()
    if not words or len(words) > MOST_CHARS:
        raise UsageError(f"{what} has 1 to {MOST_CHARS:,} characters")
    return words


async def _done(context: DeskContext, wanted: TaskMove, wait_s: float) -> View:
    done = await _tried(context, wanted)
    return {**done, **await executing.stop_report(context, done["in_flight"], wait_s)} if done["in_flight"] else done


async def _tried(context: DeskContext, wanted: TaskMove) -> View:
    for _ in range(TRIES - 1):
        try:
            return await context.store.write(_move, wanted)
        except controls.Ended:
            raise
        except Conflict:
            continue
    return await context.store.write(_move, wanted)


def _comment(tx: Tx, person: Person, ident: str, text: str, now: datetime) -> View:
    task_id = find(tx, "task", ident)
    row: Any = tasks.task(tx, task_id)
    if row.parent_id is None and row.status not in ENDED:
        missions.notify(tx, task_id, "note", {"text": text[: missions.LONGEST_NOTE]}, now)
    return {"id": tasks.add_message(tx, task_id, "COMMENT", person.actor, text, now), "task_id": task_id}


def _worker(tx: Tx, ident: str) -> str:
    """The persona of who works on a task, or is planned to."""
    row: Any = tasks.task(tx, find(tx, "task", ident))
    agent = squad.agent(tx, row.assignee_agent_id) if row.assignee_agent_id else None
    return str(agent.persona if agent else row.persona)


def _move(tx: Tx, wanted: TaskMove) -> View:
    task_id = find(tx, "task", wanted.ident)
    if (first := tasks.transition(tx, wanted.key)) is not None:
        if first.task_id != task_id:
            raise UsageError("this idempotency key was used for another task: give another one")
        return _shown(tx, first, [], changed=False)
    row: Any = tasks.task(tx, task_id)
    if wanted.to is TaskState.CANCELED:
        ended = controls.end(tx, wanted.person, row, wanted.reason, wanted.now, key=wanted.key)
        made = tasks.transition(tx, wanted.key) or tasks.transition(tx, f"cancel:{task_id}")
        return {**_shown(tx, made, ended["runs"], changed=ended["changed"]), "in_flight": ended["in_flight"]}
    if row.parent_id is None:
        raise UsageError(f"mission `{task_id}` is moved by its coordinator: move one of its tasks, or cancel it")
    if wanted.to is None and row.status != TaskState.BLOCKED:
        raise UsageError(f"task `{task_id}` is {row.status} and not blocked: there is nothing to retry")
    stopped, in_flight = _stopped(tx, row, wanted)
    try:
        _moved(tx, row, wanted)
    except TransitionRefused as refusal:
        raise _with_questions(tx, refusal) from refusal
    return {**_shown(tx, tasks.transition(tx, wanted.key), stopped, changed=True), "in_flight": in_flight}


def _stopped(tx: Tx, row: Any, wanted: TaskMove) -> tuple[list[str], list[View]]:
    """Stops the runs of a task that leaves the work on it, or is blocked, and voids what was asked for them."""
    stays = row.status not in (*_AT_WORK, TaskState.NEEDS_APPROVAL) or wanted.to in (None, TaskState.IN_PROGRESS)
    if wanted.to is not TaskState.BLOCKED and (stays or row.status == TaskState.NEEDS_APPROVAL):
        return [], []
    stopped, in_flight = controls.stop_runs(tx, row, wanted.reason, wanted.now)
    for approval_id in approvals.pending_of_task(tx, row.id):
        approvals.void(tx, approval_id, wanted.reason)
    return stopped, in_flight


def _moved(tx: Tx, row: Any, wanted: TaskMove) -> None:
    if wanted.persona is not None and row.status == TaskState.ASSIGNED:
        tasks.advance(tx, _step(row, wanted, TaskState.INBOX, f"{wanted.key}:inbox"), wanted.now)
    if row.status == TaskState.BLOCKED and wanted.to in (None, *_AT_WORK):
        _leave_block(tx, row, wanted)
        return
    assert wanted.to is not None
    tasks.advance(tx, _step(row, wanted, wanted.to, wanted.key, **_given(tx, row, wanted)), wanted.now)


def _leave_block(tx: Tx, row: Any, wanted: TaskMove) -> None:
    """Puts a blocked task where it is wanted, or back where it was; questions whether to go on are answered by that."""
    for approval_id in quarantines.escalations(tx, row.id):
        approvals.void(tx, approval_id, wanted.reason)
    if pending := approvals.pending_of_task(tx, row.id):
        raise Refused(f"task `{row.id}` waits for an answer: `interlock approve {pending[0]}` or `interlock deny …`")
    to = wanted.to or TaskState(row.held_from)
    if to not in _AT_WORK:
        held = _step(row, wanted, TaskState.NEEDS_APPROVAL, f"{wanted.key}:held", wait_for=f"owner:{wanted.person.id}")
        tasks.advance(tx, held, wanted.now)
    tasks.advance(tx, _step(row, wanted, to, wanted.key, **_given(tx, row, wanted)), wanted.now)


def _step(row: Any, wanted: TaskMove, to: TaskState, key: str, **more: Any) -> Move:
    if to is TaskState.BLOCKED:
        owner = f"owner:{wanted.person.id}"
        more |= {"block_kind": BlockKind.OPERATOR, "wait_for": owner, "escalate_at": wanted.escalate_at}
    if to is TaskState.INBOX:
        more |= {"assignee_agent_id": None, "failed_attempt": True}
    if to is TaskState.IN_PROGRESS and row.status == TaskState.REVIEW:
        more |= {"feedback": wanted.reason}
    return Move(task_id=row.id, to=to, actor=wanted.person.actor, reason=wanted.reason, key=key, **more)


def _given(tx: Tx, row: Any, wanted: TaskMove) -> dict[str, Any]:
    """A new agent for a task that is given to somebody, or is taken off the one who works on it."""
    if wanted.persona is None and not (row.status == TaskState.IN_PROGRESS and wanted.to is TaskState.ASSIGNED):
        return {}
    current: Any = squad.agent(tx, row.assignee_agent_id) if row.assignee_agent_id else None
    if wanted.persona is None or (current is not None and current.persona == wanted.persona.name):
        name, content, trust = current.persona, current.persona_json, str(current.persona_json["trust"])
    else:
        _require_able(tx, row, wanted.persona)
        name, content, trust = wanted.persona.name, wanted.persona.to_json(), wanted.persona.trust
    descriptor = Descriptor("task", row.project_id, name, {"task": row.id, "generation": str(row.generation + 1)})
    agent_id = str(squad.ensure_agent(tx, descriptor, content, trust, wanted.now).id)
    if current is not None:
        succession.pass_on(tx, current.id, agent_id, wanted.now)
    return {"assignee_agent_id": agent_id, "new_generation": True}


def _require_able(tx: Tx, row: Any, persona: "Persona") -> None:
    if not persona.takes_tasks or row.type not in persona.task_types:
        kinds = ", ".join(persona.task_types) or "none"
        raise UsageError(f"`{persona.name}` takes no `{row.type}` tasks (it takes {kinds}): name another persona")
    if not squad.is_active(tx, row.project_id, persona.name):
        raise Refused(
            f"`{persona.name}` is paused or in quarantine and is given no work: `interlock release` ends that"
        )
    if row.reviews_task_id and _worker(tx, row.reviews_task_id) == persona.name:
        raise Refused(f"`{persona.name}` would review its own work: name another persona")


def _with_questions(tx: Tx, refusal: TransitionRefused) -> TransitionRefused:
    """The refusal, with the question whose answer would do what was wanted."""
    pending = approvals.pending_of_task(tx, refusal.task_id)
    if not pending:
        return refusal
    why = f"{refusal.why}; answer it with `interlock approve {pending[0]}` or `interlock deny …`"
    return TransitionRefused(refusal.task_id, refusal.status, refusal.to, why)


def _shown(tx: Tx, made: Any, stopped: list[str], *, changed: bool) -> View:
    row: Any = tasks.task(tx, made.task_id)
    return {
        "id": made.task_id, "transition_id": made.id, "from": made.from_status, "to": made.to_status,
        **view(made, "reason", "created_at"), "status": row.status, "changed": changed, "runs": stopped,
        "in_flight": [],
    }  # fmt: skip
