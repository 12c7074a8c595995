"""The loop of a run: call the model, decide its tool calls, execute those that are allowed, answer, until it ends.

What each transaction writes is in `steps`, how calls are decided and executed in `tools.execute`, and what the model
is told in `prompt`.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime

from interlock.agents.history import compaction
from interlock.agents.history.compaction import Fill
from interlock.agents.models import model_failures
from interlock.agents.models.turn import Turn, attempt
from interlock.agents.models.wallet import secure
from interlock.agents.running import asking, calls, live, steps
from interlock.agents.running.breaker import NO_PROGRESS
from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.agents.running.opening import open_session
from interlock.agents.running.records import step_of
from interlock.agents.running.session import NUDGE, Session, later
from interlock.agents.running.steps import Ending, Results, StepRecord
from interlock.agents.runtime import Runtime
from interlock.core.errors import Conflict, InterlockError
from interlock.core.telemetry import Span
from interlock.core.time_limit import TimeLimit
from interlock.core.values import Actor, ActorKind
from interlock.llm.messages import Message, Reply, StopReason, Text
from interlock.llm.providers import NoKey
from interlock.policy.progress import Stuck
from interlock.store.errors import LeaseLost, StoreError
from interlock.store.mailboxes import controls, mailbox
from interlock.store.mailboxes.controls import Mode
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.money.ledger import OverBudget
from interlock.store.runs import traces
from interlock.store.tx import Tx
from interlock.tools.execute import Proposal

MISTAKES_ALLOWED = 3
"""Turns in a row without a single valid call, after which the run fails."""
CONFLICTS_ALLOWED = 5
"""How often a run starts again from the current rows because somebody else changed its task first."""
ASIDE_S = 1.0
CUT = frozenset({StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW, StopReason.REFUSAL})
"""Stop reasons after which a reply's calls are not made, since they may be incomplete."""


async def handle(runtime: Runtime, claim: Claim, interrupt: Interrupt) -> None:
    """Executes a claimed run until it has ended, is parked, or is handed back. Failures of the run are not raised.

    Raises StoreError if the database cannot be used; the run is then as its last transaction left it.
    Source: rows E3, E5, E7.
    """
    with runtime.telemetry.run(claim.run) as span:
        await _handled(runtime, claim, interrupt, span)


async def _handled(runtime: Runtime, claim: Claim, interrupt: Interrupt, span: Span) -> None:
    """INVARIANT: an interruption takes effect whenever it comes, even while the run is ending for another reason."""
    held: list[Session] = []
    try:
        if interrupt.reason is not None:
            raise asyncio.CancelledError
        await _worked(runtime, claim, interrupt, span, held)
    except asyncio.CancelledError:
        if interrupt.reason is None:
            raise
        await asyncio.shield(_cut_off(runtime, claim, held, interrupt.reason))
    finally:
        await runtime.workspaces.dispose(claim.run.project_id, claim.run.id)


async def _worked(runtime: Runtime, claim: Claim, interrupt: Interrupt, span: Span, held: list[Session]) -> None:
    try:
        session = await open_session(runtime, claim, interrupt)
        if session is not None:
            span.tell(agent=session.persona.name, model=session.ref.model, provider=session.ref.provider)
            held.append(session)
            live.began(session)
            await _until_deadline(session)
    except LeaseLost:
        if await _is_controlled(runtime, claim):
            await _cut_off(runtime, claim, held, None)
    except StoreError:
        raise
    except Conflict as error:
        await _step_aside(runtime, claim, held, error)
    except NoKey as error:
        if not await model_failures.keyless(runtime, claim, error):
            await _fail(runtime, claim, held, "error", str(error))
    except InterlockError as error:
        await _fail(runtime, claim, held, "error", str(error))
    except _PastDeadline:
        await _fail(runtime, claim, held, "deadline", "the run passed its deadline")
    except Exception as error:  # noqa: BLE001 (the run's boundary: row E5)
        runtime.telemetry.failed(error)
        await _fail(runtime, claim, held, "error", f"{type(error).__name__}: {error}")


class _PastDeadline(Exception):
    """The run took too long."""


async def _until_deadline(session: Session) -> None:
    try:
        with TimeLimit(session.seconds_left) as limit:
            await _loop(session)
    except TimeoutError as error:
        if limit.has_passed:
            raise _PastDeadline from error
        raise


async def _is_controlled(runtime: Runtime, claim: Claim) -> bool:
    """Whether a write was refused because somebody stopped the run, not because another worker has it."""
    row = await runtime.store.read(traces.run, claim.run.id)
    if row is None or row.status != "running" or row.fence != claim.lease:
        return False
    return row.control is not None or await runtime.store.read(controls.mode) is Mode.STOPPED


async def _loop(session: Session) -> None:
    if session.budget_denied:
        await _end(session, Ending(status="failed", stop_reason="budget", error=session.budget_denied))
        return
    if session.owes_answers and not session.interrupt.pausing:
        with session.runtime.telemetry.span("step", step=session.claim.steps):
            if not await _finish_step(session):
                return
    if session.owes_nudge:
        await _nudge(session)
    while True:
        if session.interrupt.pausing:
            await session.write(_step_back, session.claim, session.open_microusd, session.now())
            return
        if session.turns >= session.max_turns:
            used = f"all {session.max_turns} model calls are used up"
            is_done = session.needs_deliverable and session.handed_in
            status, why = ("completed", None) if is_done else ("failed", used)
            await _end(session, Ending(status=status, stop_reason="max_steps", error=why))
            return
        with session.runtime.telemetry.span("step", step=session.claim.steps + 1):
            if not await _next_step(session):
                return


async def _next_step(session: Session) -> bool:
    """Makes one model call and carries out what it asks for; False if the run waits, was handed back or has ended."""
    fill = compaction.filled(session)
    if fill is Fill.FULL:
        await compaction.reset(session)
    if not await secure(session):
        return False
    runtime = session.runtime
    if wait_s := runtime.circuits.enter(session.ref.provider, runtime.clock.monotonic()):
        return await _continues(session, await model_failures.blocked(session, wait_s))
    if fill is Fill.CROWDED:
        failed = await compaction.compact(session)
        return failed is None or await _continues(session, await model_failures.again(session, failed))
    turn = await attempt(session, session.prompt_tokens())
    if isinstance(turn, Turn):
        return await _follow(session, turn)
    return await _continues(session, await model_failures.again(session, turn))


async def _continues(session: Session, outcome: Ending | bool) -> bool:
    """Whether the run continues after its model could not be called; ends it if it is to end."""
    if isinstance(outcome, Ending):
        await _end(session, outcome)
        return False
    return outcome


async def _follow(session: Session, turn: Turn) -> bool:
    """Carries out what a reply asks for; False if the run has ended or waits."""
    reply, wishes = turn.reply, turn.reply.message.tool_uses
    if wishes and reply.stop_reason not in CUT:
        proposals = await calls.propose(session, wishes)
        await _record(session, turn, proposals)
        session.mistakes = session.mistakes + 1 if all(p.invalid for p in proposals) else 0
        if session.mistakes >= MISTAKES_ALLOWED:
            await _end(session, Ending(status="failed", stop_reason="invalid_tool_call", error=proposals[0].answer))
            return False
        return await _finish_step(session)
    ending = _ending_of(session, reply)
    if ending is not None:
        await _end(session, ending, step_of(session, turn, (), session.now()))
        return False
    await _record(session, turn, ())
    if (stuck := session.stuck()) is not None:
        await _end(session, _gets_nowhere(stuck))
        return False
    if reply.stop_reason is not StopReason.PAUSE_TURN:
        await _nudge(session)
    return True


def _gets_nowhere(stuck: Stuck) -> Ending:
    return Ending(status="failed", stop_reason=NO_PROGRESS, error=f"it got nowhere: {stuck.reason}", stuck=stuck)


async def _nudge(session: Session) -> None:
    session.nudged, session.owes_nudge = True, False
    message = Message("user", (Text(NUDGE),))
    await _commit_results(session, message, session.results(message=message))


def _ending_of(session: Session, reply: Reply) -> Ending | None:
    """How a reply without tool calls ends the run; None if the run continues."""
    text = reply.message.text.strip()
    match reply.stop_reason:
        case StopReason.PAUSE_TURN:
            return None
        case StopReason.REFUSAL:
            said = reply.detail or text or "no reason given"
            return Ending(status="failed", stop_reason="refusal", error=f"the model refused: {said}", result=text)
        case StopReason.MAX_TOKENS:
            cut = f"the answer was cut at {session.max_tokens} tokens"
            return Ending(status="failed", stop_reason="max_tokens_exceeded", error=cut, result=text)
        case StopReason.CONTEXT_WINDOW:
            full = "the conversation passed the model's window"
            return Ending(status="failed", stop_reason="context_window_exceeded", error=full, result=text)
    if session.needs_deliverable and not session.handed_in and not session.nudged:
        return None
    return _final_ending(session, text)


async def _record(session: Session, turn: Turn, proposals: Sequence[Proposal]) -> None:
    """Transaction A."""
    now = session.now()
    step = step_of(session, turn, proposals, now)
    looks = bool(proposals) and all(proposal.only_looks for proposal in proposals)
    commit = steps.commit_look if looks else steps.commit_step
    await session.write(commit, session.claim, session.spender, step, now)
    session.after_step(turn.reply.message, step)


async def _finish_step(session: Session) -> bool:
    """Executes the calls that may run, parks the run for held ones, and answers the model once every call has ended.

    False if the run is parked or has ended.
    """
    while True:
        settled = await calls.settle(session)
        if not session.open_calls:
            break
        await session.record(session.results(settled.done, settled.holds))
        if await session.write(asking.park_unless_answered, session.claim, session.now()):
            return False
    session.owes_answers = False
    stuck, answers = session.stuck(), session.answers()
    results = session.results(settled.done, settled.holds, answers)
    if session.quiet:
        await _end(session, _final_ending(session, session.last_text), results=results)
        return False
    if stuck is not None:
        await _end(session, _gets_nowhere(stuck), results=results)
        return False
    await _commit_results(session, answers, results)
    return True


def _final_ending(session: Session, text: str) -> Ending:
    """How a run ends whose agent has finished."""
    if session.needs_deliverable and not session.handed_in:
        why = "the agent ended without handing in a deliverable"
        return Ending(status="failed", stop_reason="no_tool_call", error=why, result=text)
    return Ending(status="completed", stop_reason="end_turn", result=text)


async def _commit_results(session: Session, message: Message, results: Results) -> None:
    """Transaction B: the outcomes, the answers to the model, and the next reservation if there is money for it."""
    session.said(message, results)
    reservation, wanted = session.quote()
    try:
        await session.record(results, reservation)
        session.reserved(reservation, wanted)
    except OverBudget:
        await session.record(results)


async def _end(
    session: Session, ending: Ending, step: StepRecord | None = None, results: Results | None = None
) -> None:  # fmt: skip
    idle = session.watch.idle_calls, session.watch.idle_microusd
    follow_up = session.runtime.follow_ups.get(session.claim.run.kind)
    leaves_open = session.leaves_open(settles=step is not None)
    ending = ending._replace(follow_up=follow_up, idle=idle, leaves_open=leaves_open)
    await session.write(
        steps.end, session.claim, session.spender, ending, session.actor, step, results, session.now()
    )  # fmt: skip
    if step is not None:
        session.usage = step.total_usage
    live.ended(session.runtime, session.claim, ending.status, ending.stop_reason, session)


async def _fail(runtime: Runtime, claim: Claim, held: list[Session], stop_reason: str, why: str) -> None:
    ending = Ending(
        status="failed", stop_reason=stop_reason, error=why, open_microusd=held[0].open_microusd if held else 0,
        idle=(held[0].watch.idle_calls, held[0].watch.idle_microusd) if held else None,
        follow_up=runtime.follow_ups.get(claim.run.kind),
    )  # fmt: skip
    await _finish_anyway(runtime, claim, ending)
    live.ended(runtime, claim, "failed", stop_reason, held[0] if held else None)


async def _cut_off(runtime: Runtime, claim: Claim, held: list[Session], reason: Interruption | None) -> None:
    """Books the cost of an interrupted model call, and hands the run back or ends it."""
    cost, canceled = held[0].open_microusd if held else 0, reason is Interruption.CONTROL
    with contextlib.suppress(LeaseLost):
        await runtime.store.write(_step_back, claim, cost, runtime.clock.now(), canceled=canceled)
        live.ended(runtime, claim, "cancelled", "cancelled" if canceled else "handed_back", held[0] if held else None)


def _step_back(tx: Tx, claim: Claim, cost: int, now: datetime, *, canceled: bool = False) -> None:
    """Puts a run back into its place in the queue, or ends it if it was cancelled; books `cost` for what is open.

    Locks the lane first, as a cancellation does, so that no cancelled run is left in the queue of a stopped squad.
    """
    found = mailbox.lock(tx, claim.run.id)
    if found is None or not (canceled or found.control == "cancel"):
        steps.hand_back(tx, claim, now, open_microusd=cost, due_at=None, error=None, failed=False)
        return
    error = (found.error if found.control == "cancel" else None) or "a person cancelled it"
    mailbox.finish(tx, claim, "cancelled", "cancelled", now, result=None, error=error)
    ending = Ending(status="cancelled", stop_reason="cancelled", error=error, open_microusd=cost)
    steps.close(tx, claim, ending, Actor(ActorKind.AGENT, claim.run.agent_id), now)


async def _step_aside(runtime: Runtime, claim: Claim, held: list[Session], error: Conflict) -> None:
    """Somebody else changed what the run was about to change: it continues a moment later, from the current rows."""
    if claim.run.attempt >= CONFLICTS_ALLOWED:
        await _fail(runtime, claim, held, "error", str(error))
        return
    now, cost = runtime.clock.now(), held[0].open_microusd if held else 0
    with contextlib.suppress(LeaseLost):
        await runtime.store.write(
            steps.hand_back, claim, now, open_microusd=cost, due_at=later(now, ASIDE_S), error=str(error), failed=True
        )


async def _finish_anyway(runtime: Runtime, claim: Claim, ending: Ending) -> None:
    def unit(tx: Tx, now: datetime) -> None:
        mailbox.finish(tx, claim, ending.status, ending.stop_reason, now, result=ending.result, error=ending.error)
        steps.close(tx, claim, ending, Actor(ActorKind.AGENT, claim.run.agent_id), now)

    try:
        await runtime.store.write(unit, runtime.clock.now())
    except LeaseLost:
        return
