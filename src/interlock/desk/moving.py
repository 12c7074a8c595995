"""Tasks in people's hands: what they say in a task's thread, and where they move it; it is canceled in `controls`.

What follows from a move is the coordinator's to do: it hears of each, as it hears of those that agents make.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from interlock.core.errors import Conflict, Refused, UsageError
from interlock.core.ids import new_id
from interlock.core.text import storable
from interlock.desk import controls, flight
from interlock.desk.finding import find, one_of_states
from interlock.desk.office import Office, Person, require_operator
from interlock.desk.personas import persona_named
from interlock.desk.views import View, view
from interlock.policy.secrets import scrub
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import approvals, quarantines, squad, tasks
from interlock.store.squad import Descriptor
from interlock.store.tasks import Move
from interlock.store.tasks import TransitionRefused as TransitionRefused
from interlock.store.tx import Tx

if TYPE_CHECKING:
    from interlock.agents.persona import Persona

MOST_CHARS = 20_000
TRIES = 3
STATES = tuple(str(state) for state in TaskState)
_AT_WORK = (TaskState.ASSIGNED, TaskState.IN_PROGRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person wants to become of a task; `to` of None is wherever it was before it was blocked."""

    person: Person
    ident: str
    to: TaskState | None
    reason: str
    key: str
    now: datetime
    escalate_at: datetime
    persona: "Persona | None" = None
    """Of the new agent that is to work on it."""


async def comment(office: Office, person: Person, ident: str, text: str) -> View:
    """Adds a comment to the thread of a task or mission; whoever it names with an `@` is told: {id, task_id}.

    Raises Unknown, Refused for a viewer, UsageError for an empty or too long text.
    """
    require_operator(person, "comment on tasks")
    return await office.store.write(_comment, person, ident, _words(text, "the comment"), office.clock.now())


async def transition(
    office: Office, person: Person, ident: str, to: str, *, reason: str, key: str | None = None,
    wait_s: float = flight.PROOF_S,
) -> View:  # fmt: skip
    """Moves a task along the table: {id, transition_id, from, to, reason, changed, status, runs}; row B3.

    The same `key` of the same person again changes nothing and returns the first result, with `changed` false. `runs`
    are those that were told to stop; if a worker had one in hand, what `flight.proof` tells comes with it.

    Raises Unknown, Refused, UsageError, and Conflict if somebody else changed the task first.
    """
    require_operator(person, "move tasks")
    wish = _wish(office, person, ident, one_of_states(to, STATES), reason, key)
    return await _done(office, wish, wait_s)


async def retry(office: Office, person: Person, ident: str, *, reason: str = "") -> View:
    """Lets a blocked task go on from where it was; as `transition`. What was asked about it needs no answer then.

    Raises Unknown, Refused, and UsageError for a task that is not blocked.
    """
    require_operator(person, "retry tasks")
    words = reason.strip() or f"{person.name} lets it be tried again"
    return await _done(office, _wish(office, person, ident, None, words, None), flight.PROOF_S)


async def reassign(
    office: Office, person: Person, ident: str, persona: str | None = None, *, reason: str = ""
) -> View:  # fmt: skip
    """Gives a task to a new agent, of the same persona or of another that takes its type; as `transition`.

    Raises Unknown, Refused, and UsageError for an unknown persona.
    """
    require_operator(person, "reassign tasks")
    found = await office.store.read(_worker, ident)
    chosen = await asyncio.to_thread(persona_named, office, persona or found)
    words = reason.strip() or f"{person.name} gives it to another agent of {chosen.name}"
    wish = _wish(office, person, ident, str(TaskState.ASSIGNED), words, None)
    return await _done(office, replace(wish, persona=chosen), flight.PROOF_S)


def _wish(office: Office, person: Person, ident: str, to: str | None, reason: str, key: str | None) -> Wish:
    now = office.clock.now()
    return Wish(
        person=person, ident=ident, to=TaskState(to) if to else None, reason=_words(reason, "the reason"), now=now,
        key=f"hand:{person.id}:{key}" if key else new_id("mov"),
        escalate_at=now + timedelta(seconds=office.settings.times.blocked_escalation_s),
    )  # fmt: skip


def _words(text: str, what: str) -> str:
    words = scrub(storable(text)).strip()
    if not words or len(words) > MOST_CHARS:
        raise UsageError(f"{what} has 1 to {MOST_CHARS:,} characters")
    return words


async def _done(office: Office, wish: Wish, wait_s: float) -> View:
    done = await _tried(office, wish)
    return {**done, **await flight.stop_report(office, done["in_flight"], wait_s)} if done["in_flight"] else done


async def _tried(office: Office, wish: Wish) -> View:
    for _ in range(TRIES - 1):
        try:
            return await office.store.write(_move, wish)
        except controls.Ended:
            raise
        except Conflict:
            continue
    return await office.store.write(_move, wish)


def _comment(tx: Tx, person: Person, ident: str, text: str, now: datetime) -> View:
    task_id = find(tx, "task", ident)
    return {"id": tasks.say(tx, task_id, "COMMENT", person.actor, text, now), "task_id": task_id}


def _worker(tx: Tx, ident: str) -> str:
    """The persona of who works on a task, or is planned to."""
    row: Any = tasks.task(tx, find(tx, "task", ident))
    agent = squad.agent(tx, row.assignee_agent_id) if row.assignee_agent_id else None
    return str(agent.persona if agent else row.persona)


def _move(tx: Tx, wish: Wish) -> View:
    task_id = find(tx, "task", wish.ident)
    if (first := tasks.transition(tx, wish.key)) is not None:
        return _shown(tx, first, [], changed=False)
    row: Any = tasks.task(tx, task_id)
    if wish.to is TaskState.CANCELED:
        ended = controls.end(tx, wish.person, row, wish.reason, wish.now, key=wish.key)
        made = tasks.transition(tx, wish.key) or tasks.transition(tx, f"cancel:{task_id}")
        return {**_shown(tx, made, ended["runs"], changed=ended["changed"]), "in_flight": ended["in_flight"]}
    if row.parent_id is None:
        raise UsageError(f"mission `{task_id}` is moved by its coordinator: move one of its tasks, or cancel it")
    if wish.to is None and row.status != TaskState.BLOCKED:
        raise UsageError(f"task `{task_id}` is {row.status} and not blocked: there is nothing to retry")
    stopped, in_flight = _stopped(tx, row, wish)
    try:
        _moved(tx, row, wish)
    except TransitionRefused as refusal:
        raise _with_questions(tx, refusal) from refusal
    return {**_shown(tx, tasks.transition(tx, wish.key), stopped, changed=True), "in_flight": in_flight}


def _stopped(tx: Tx, row: Any, wish: Wish) -> tuple[list[str], list[View]]:
    """Stops the runs of a task that leaves the work on it, or is blocked, and voids what was asked for them."""
    stays = row.status not in (*_AT_WORK, TaskState.NEEDS_APPROVAL) or wish.to in (None, TaskState.IN_PROGRESS)
    if wish.to is not TaskState.BLOCKED and (stays or row.status == TaskState.NEEDS_APPROVAL):
        return [], []
    stopped, in_flight = controls.stop_runs(tx, row, wish.reason, wish.now)
    for approval_id in approvals.pending_of_task(tx, row.id):
        approvals.void(tx, approval_id, wish.reason)
    return stopped, in_flight


def _moved(tx: Tx, row: Any, wish: Wish) -> None:
    if wish.persona is not None and row.status == TaskState.ASSIGNED:
        tasks.advance(tx, _step(row, wish, TaskState.INBOX, f"{wish.key}:inbox"), wish.now)
    if row.status == TaskState.BLOCKED and wish.to in (None, *_AT_WORK):
        _leave_block(tx, row, wish)
        return
    assert wish.to is not None
    tasks.advance(tx, _step(row, wish, wish.to, wish.key, **_given(tx, row, wish)), wish.now)


def _leave_block(tx: Tx, row: Any, wish: Wish) -> None:
    """Puts a blocked task where it is wanted, or back where it was; questions whether to go on are answered by that."""
    for approval_id in quarantines.escalations(tx, row.id):
        approvals.void(tx, approval_id, wish.reason)
    if pending := approvals.pending_of_task(tx, row.id):
        raise Refused(f"task `{row.id}` waits for an answer: `interlock approve {pending[0]}` or `interlock deny …`")
    to = wish.to or TaskState(row.held_from)
    if to not in _AT_WORK:
        held = _step(row, wish, TaskState.NEEDS_APPROVAL, f"{wish.key}:held", wait_for=f"owner:{wish.person.id}")
        tasks.advance(tx, held, wish.now)
    tasks.advance(tx, _step(row, wish, to, wish.key, **_given(tx, row, wish)), wish.now)


def _step(row: Any, wish: Wish, to: TaskState, key: str, **more: Any) -> Move:
    if to is TaskState.BLOCKED:
        owner = f"owner:{wish.person.id}"
        more |= {"block_kind": BlockKind.OPERATOR, "wait_for": owner, "escalate_at": wish.escalate_at}
    if to is TaskState.INBOX:
        more |= {"assignee_agent_id": None, "failed_attempt": True}
    if to is TaskState.IN_PROGRESS and row.status == TaskState.REVIEW:
        more |= {"feedback": wish.reason}
    return Move(task_id=row.id, to=to, actor=wish.person.actor, reason=wish.reason, key=key, **more)


def _given(tx: Tx, row: Any, wish: Wish) -> dict[str, Any]:
    """A new agent for a task that is given to somebody, or is taken off the one who works on it."""
    if wish.persona is None and not (row.status == TaskState.IN_PROGRESS and wish.to is TaskState.ASSIGNED):
        return {}
    current: Any = squad.agent(tx, row.assignee_agent_id) if row.assignee_agent_id else None
    if wish.persona is None or (current is not None and current.persona == wish.persona.name):
        name, content, trust = current.persona, current.persona_json, str(current.persona_json["trust"])
    else:
        _require_able(tx, row, wish.persona)
        name, content, trust = wish.persona.name, wish.persona.to_json(), wish.persona.trust
    descriptor = Descriptor("task", row.project_id, name, {"task": row.id, "generation": str(row.generation + 1)})
    return {
        "assignee_agent_id": str(squad.ensure_agent(tx, descriptor, content, trust, wish.now).id),
        "new_generation": True,
    }


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
