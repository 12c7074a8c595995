"""The transactions of a run: its start, A (what the model asked for), B (the outcomes), and its end.

Each is one unit of the store, fenced by the run's lease. The runner decides when to write which.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from interlock.agents.history import conversation
from interlock.agents.history.conversation import Line
from interlock.agents.models import spending
from interlock.agents.running import breaker, loop_check
from interlock.agents.running.asking import Hold as Hold
from interlock.agents.running.asking import ask
from interlock.agents.runtime import FollowUp
from interlock.agents.special import scheduled, voting
from interlock.agents.special.routing import KIND as ROUTE
from interlock.core.values import Actor
from interlock.llm.messages import Usage
from interlock.memory import lesson_book, recall
from interlock.policy.loops import Limits
from interlock.policy.progress import Stuck
from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import dead_letters, mailbox
from interlock.store.mailboxes.mailbox import Claim, Progress
from interlock.store.messages import rounds
from interlock.store.money import ledger
from interlock.store.money.ledger import Opening, Spender
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx, relaxed
from interlock.store.work import missions, tasks
from interlock.tools.execute import Done, record

MODEL_UNUSABLE = "MODEL_UNUSABLE"
"""The kind of an alert about a provider; the next step of a run that was put off for it settles the alert."""
UNUSED = Usage()


class Reservation(NamedTuple):
    """Money to reserve for one attempt of a model call."""

    step: int
    attempt: int
    model: str
    worst_microusd: int


class Settlement(NamedTuple):
    """The actual cost of a reserved attempt."""

    reservation: Reservation
    actual_microusd: int
    estimated: bool = False


class Beginning(NamedTuple):
    """What a fresh run starts with."""

    lines: Sequence[Line]
    openings: tuple[Opening, ...]
    model: str
    simulated: bool
    policy_hash: str
    deadline_at: datetime
    lesson_ids: Sequence[str]
    actor: Actor
    labels: Sequence[str] = ()
    """Labels (taint) of what the run is shown at its start."""
    degraded: Sequence[str] = ()
    """What was left out of the prompt, and why."""
    memory_ids: Sequence[str] = ()
    """The memories in its prompt."""
    unpriced: str | None = None
    """The rate at which a model without a known price is charged, in words."""


class StepRecord(NamedTuple):
    """A finished model call, as transaction A records it."""

    number: int
    id: str
    settlement: Settlement
    stop_reason: str
    usage: Usage
    total_usage: Usage
    """The run's usage so far, including this step."""
    labels: Sequence[str]
    model: str
    attempts: int
    request_id: str | None
    lines: Sequence[Line]
    position: int
    calls: Sequence[Mapping[str, Any]]
    holds: Sequence[Hold]
    begun: datetime

    @property
    def progress(self) -> Progress:
        """The run's usage and cost after this step."""
        spent = self.settlement.actual_microusd
        return Progress(usage=self.total_usage.as_dict(), labels=self.labels, spent_microusd=spent)


class Results(NamedTuple):
    """The outcomes of a step's calls, as transaction B records them. `lines` are the answers, once all have ended."""

    done: Sequence[Done] = ()
    holds: Sequence[Hold] = ()
    lines: Sequence[Line] = ()
    position: int = 0
    labels: Sequence[str] = ()
    usage: Usage = UNUSED
    is_news: bool = True
    """Whether labels or usage have changed since they were last recorded."""
    loops: Limits | None = None
    """When failures and comments count as a loop; None if loops are not looked for."""

    @property
    def progress(self) -> Progress:
        """The run's usage; tool calls add no cost."""
        return Progress(usage=self.usage.as_dict(), labels=self.labels)


def begin(tx: Tx, claim: Claim, spender: Spender, what: Beginning, reserve: Reservation | None, now: datetime) -> bool:
    """Starts a run: moves its task to IN_PROGRESS, records its conversation, reserves money for the first model call.

    Returns False if its task is no longer open: then only the end of the run is recorded.
    """
    mailbox.begin(
        tx,
        claim,
        model=what.model,
        simulated=what.simulated,
        policy_hash=what.policy_hash,
        deadline_at=what.deadline_at,
        labels=what.labels,
    )
    if claim.run.kind == "task" and not _start_task(tx, claim, what.actor, now):
        closed = "its task is no longer open"
        mailbox.finish(tx, claim, "cancelled", "cancelled", now, result=None, error=closed)
        close(tx, claim, Ending(status="cancelled", stop_reason="cancelled", error=closed), what.actor, now)
        return False
    ledger.open_accounts(tx, what.openings, now)
    conversation.write(tx, claim.run.id, 0, what.lines, now)
    lesson_book.shown(tx, what.lesson_ids, claim.run.id, claim.run.task_id or claim.run.mission_id, now)
    recall.used(tx, what.memory_ids, now)
    if what.degraded:
        audit.note(
            tx, "PROMPT_DEGRADED", what.actor, now, project_id=claim.run.project_id, run_id=claim.run.id,
            mission_id=claim.run.mission_id, reasons=list(what.degraded),
        )  # fmt: skip
    if what.unpriced is not None:
        spending.tell_unpriced(tx, claim.run.project_id, what.model, what.unpriced, now)
    if reserve is not None:
        set_aside(tx, spender, reserve, now)
    return True


def _start_task(tx: Tx, claim: Claim, actor: Actor, now: datetime) -> bool:
    task = tasks.task(tx, claim.run.task_id)
    if task is None or task.status not in ("ASSIGNED", "IN_PROGRESS") or task.assignee_agent_id != actor.id:
        return False
    if task.status == "ASSIGNED":
        move = tasks.Move(
            task_id=task.id, to=TaskState.IN_PROGRESS, actor=actor, reason="its agent took it up",
            key=f"begin:{claim.run.id}",
        )  # fmt: skip
        tasks.advance(tx, move, now)
    return True


def set_aside(tx: Tx, spender: Spender, reserve: Reservation, now: datetime) -> None:
    """Reserves money for one attempt."""
    ledger.reserve(
        tx, spender, step=reserve.step, attempt=reserve.attempt, model=reserve.model,
        worst_microusd=reserve.worst_microusd, now=now,
    )  # fmt: skip


def book(tx: Tx, spender: Spender, settlement: Settlement, now: datetime) -> None:
    """Settles the reservation of one attempt."""
    r = settlement.reservation
    ledger.settle(
        tx, spender, step=r.step, attempt=r.attempt, model=r.model, worst_microusd=r.worst_microusd,
        actual_microusd=settlement.actual_microusd, estimated=settlement.estimated, now=now,
    )  # fmt: skip


def book_failed(tx: Tx, claim: Claim, spender: Spender, failed: Settlement, now: datetime) -> None:
    """Books the cost of a failed attempt."""
    mailbox.own(tx, claim)
    book(tx, spender, failed, now)
    ledger.count(tx, claim.run.id, failed.actual_microusd)


def reserve_more(tx: Tx, claim: Claim, spender: Spender, reserve: Reservation, now: datetime) -> None:
    """Reserves money for a model call outside transaction B."""
    mailbox.own(tx, claim)
    set_aside(tx, spender, reserve, now)


def commit_step(tx: Tx, claim: Claim, spender: Spender, step: StepRecord, now: datetime) -> None:
    """Transaction A: settles the cost; writes the step, messages, decisions, intents and approvals."""
    mailbox.own(tx, claim, step.progress, steps=step.number)
    write_step(tx, claim, spender, step, now)


@relaxed
def commit_look(tx: Tx, claim: Claim, spender: Spender, step: StepRecord, now: datetime) -> None:
    """Transaction A of a step whose calls change nothing: no effect follows it, so it does not wait for the disk.

    A kill loses nothing. A power cut may lose the reply if its outcomes are not recorded yet: then the model is called
    again.
    """
    commit_step(tx, claim, spender, step, now)


def write_step(tx: Tx, claim: Claim, spender: Spender, step: StepRecord, now: datetime) -> None:
    """Writes the rows of a step; the caller has checked the lease. An alert about a provider that failed is settled."""
    book(tx, spender, step.settlement, now)
    if claim.run.error is not None:
        audit.settle(tx, MODEL_UNUSABLE, step.model.partition("/")[0], now)
    traces.add_step(
        tx,
        id=step.id,
        run_id=claim.run.id,
        step_number=step.number,
        status="completed",
        model_id=step.model,
        stop_reason=step.stop_reason,
        token_usage=step.usage.as_dict(),
        cost_microusd=step.settlement.actual_microusd,
        attempts=step.attempts,
        request_id=step.request_id,
        created_at=step.begun,
        completed_at=now,
    )
    conversation.write(tx, claim.run.id, step.position, step.lines, now, step.id)
    for call in step.calls:
        traces.add_call(tx, **call)
    ask(tx, claim, step.holds, now)


def commit_results(
    tx: Tx, claim: Claim, spender: Spender, results: Results, reserve: Reservation | None, now: datetime
) -> bool:
    """Transaction B: the outcomes, the tools' own writes, the answers to the model, the next reservation.

    False if these results show that the task is in a loop: the run is to be cancelled, and nothing is reserved.
    """
    mailbox.own(tx, claim, results.progress if results.is_news else None, even_if_controlled=True)
    goes_on = write_results(tx, claim, results, now)
    if reserve is not None and goes_on:
        set_aside(tx, spender, reserve, now)
    return goes_on


def write_results(tx: Tx, claim: Claim, results: Results, now: datetime) -> bool:
    """Writes the outcomes of a step's calls; the caller has checked the lease. False if they show a loop."""
    for done in results.done:
        record(tx, done, now)
    if results.lines:
        conversation.write(tx, claim.run.id, results.position, results.lines, now)
    if results.loops is not None and loop_check.closed(tx, claim, results.done, results.loops, now):
        return False
    ask(tx, claim, results.holds, now)
    return True


class Ending(NamedTuple):
    """How a run ends. `open_microusd` is the cost to book for an interrupted model call."""

    status: str
    stop_reason: str
    result: str | None = None
    error: str | None = None
    open_microusd: int = 0
    follow_up: FollowUp | None = None
    stuck: Stuck | None = None
    """Why it was stopped, if it made no progress."""
    idle: tuple[int, int] | None = None
    """Model calls and micro-dollars since its last sign of progress."""
    leaves_open: bool = True
    """Whether there may still be a reservation, a call without an outcome, or an open question."""


def end(
    tx: Tx,
    claim: Claim,
    spender: Spender,
    ending: Ending,
    actor: Actor,
    step: StepRecord | None,
    results: Results | None,
    now: datetime,
) -> None:
    """Ends a run: records what is left, its state, its task's next state, and the event for the coordinator.

    Work on a task that somebody has stopped meanwhile does not end, but goes on after that: its task is blocked and
    could not be handed in, so that all of it would be done again.
    """
    last = step or results
    mailbox.finish(
        tx, claim, ending.status, ending.stop_reason, now, result=ending.result, error=ending.error,
        steps=step.number if step is not None else None, progress=last.progress if last is not None else None,
        unless_asked_back=claim.run.kind == "task" and ending.status == "completed",
    )  # fmt: skip
    if step is not None:
        write_step(tx, claim, spender, step, now)
    if results is not None:
        write_results(tx, claim, results, now)
    close(tx, claim, ending, actor, now)


def close(tx: Tx, claim: Claim, ending: Ending, actor: Actor, now: datetime) -> None:
    """Does what follows from the end of a run, once that is recorded."""
    run = claim.run
    if ending.leaves_open:
        ledger.charge_open(tx, run.id, now, ending.open_microusd)
        traces.close_calls(tx, run.id, now, ending.stop_reason)
        approvals.void_of_run(tx, run.id, now, f"its run ended: {ending.stop_reason}")
    failed = ending.status == "failed"
    if ending.follow_up is not None and (ending.status == "completed" or run.kind == ROUTE):
        ending.follow_up(tx, run, ending.result if ending.status == "completed" else None, now)
    squad.set_status(tx, run.agent_id, "error" if failed else "idle", now, ending.error if failed else None)
    scheduled.ended(tx, run, ending.status, ending.error, ending.result, now)
    if run.kind == "task" and ending.status == "completed":
        task = tasks.task(tx, run.task_id)
        if task is not None and task.status == "IN_PROGRESS":
            review = tasks.Move(
                task_id=task.id, to=TaskState.REVIEW, actor=actor, reason="handed in", key=f"handin:{run.id}"
            )
            tasks.advance(tx, review, now)
    if ending.stuck is not None:
        breaker.stop(tx, run, ending.stuck, now)
    elif failed and run.task_id is not None and ending.idle is not None:
        tasks.count_idle(tx, run.task_id, *ending.idle)
    rounds.ended(tx, run, now)
    if run.kind == voting.KIND:
        voting.ended(tx, run, ending.status, ending.result, now)
    if run.mission_id is not None and run.kind not in dead_letters.UNTOLD:
        news = {
            "run_id": run.id, "kind": run.kind, "purpose": run.payload.get("purpose"), "task_id": run.task_id,
            "status": ending.status, "stop_reason": ending.stop_reason, "result": ending.result, "error": ending.error,
        }  # fmt: skip
        missions.notify(tx, run.mission_id, "run_ended", news, now)


def hand_back(
    tx: Tx,
    claim: Claim,
    now: datetime,
    *,
    open_microusd: int | None,
    due_at: datetime | None,
    error: str | None,
    failed: bool,
    stop_reason: str | None = None,
) -> None:
    """Puts a run back into its place in the queue, to continue later where it stopped.

    An open reservation is booked at `open_microusd`; None books it in full. A `stop_reason` says that waiting alone
    will not help.
    """
    mailbox.requeue(tx, claim, now, due_at=due_at, error=error, failed=failed, stop_reason=stop_reason)
    ledger.charge_open(tx, claim.run.id, now, open_microusd)
    squad.set_status(tx, claim.run.agent_id, "error" if failed else "idle", now, error)
    rounds.held_up(tx, claim.run, due_at, now)
