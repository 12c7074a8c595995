"""The tool calls of a step: decided, held for a person, executed, and finished after the person's answer.

The door to effects is `tools.execute`; when transactions happen is the runner's job.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from interlock.agents.running import live
from interlock.agents.running.interruption import Interrupt
from interlock.agents.running.session import Session, later
from interlock.agents.running.steps import Hold
from interlock.agents.running.underway import CallState
from interlock.agents.special import subagents, voting
from interlock.agents.special.voting import Consultation
from interlock.core.ids import new_id
from interlock.core.values import digest
from interlock.llm.messages import ToolUse
from interlock.policy.calls import Decision
from interlock.policy.grants import alike
from interlock.policy.risk import Risk
from interlock.policy.secrets import scrub_value
from interlock.policy.taint import PRIVATE, UNTRUSTED, way_out
from interlock.store.errors import LeaseLost
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.signoff.consulting import CONSENSUS
from interlock.tools.definitions import call_of, definition_of, labels_of_results
from interlock.tools.execute import CallStatus, Done, HeldAnew, Proposal, execute
from interlock.tools.registry import Tool, ToolContext

GRACE_S = 3.0
"""How long a running call may take to end by itself when the process is told to end, in seconds."""
CANCEL_S = 1.0
"""How long it may take to end once it is cancelled, in seconds."""


async def propose(session: Session, uses: Sequence[ToolUse]) -> list[Proposal]:
    """Decides every call of a turn; executes nothing.

    Each is decided as if the calls before it had already added the labels that they can add. Source: row C11.
    """
    proposals: list[Proposal] = []
    labels, where = session.labels, context(session, "", "")
    for position, use in enumerate(uses):
        proposals.append(await session.gate.propose(use, position, where, labels))
        tool = proposals[-1].tool
        if tool is not None and proposals[-1].status in (CallStatus.READY, CallStatus.HELD):
            labels |= labels_of_results(tool)
    return proposals


def context(session: Session, call_id: str, token: str) -> ToolContext:
    """The context that a tool receives."""
    run, runtime = session.claim.run, session.runtime
    return ToolContext(
        run_id=run.id,
        agent_id=run.agent_id,
        persona=session.persona.name,
        project_id=run.project_id,
        task_id=run.task_id,
        mission_id=run.mission_id,
        call_id=call_id,
        idempotency_token=token,
        simulated=session.model.simulated,
        now=session.now(),
        store=runtime.store,
        settings=runtime.settings,
        workspace=runtime.workspaces.of(run.project_id, run.id),
        actor=session.actor,
        labels=session.labels,
        cast=partial(subagents.cast, runtime),
        claim=session.claim,
    )


def row_of(session: Session, proposal: Proposal, step_number: int, now: datetime) -> dict[str, Any]:
    """A proposal as a row of `tool_calls`: the intent, which is stored before the effect."""
    decision = proposal.decision
    ended = proposal.status in (CallStatus.DENIED, CallStatus.REFUSED)
    return {
        "id": proposal.id,
        "run_id": session.claim.run.id,
        "task_id": session.claim.run.task_id,
        "step_number": step_number,
        "position": proposal.position,
        "call_id": proposal.use.id,
        "tool": proposal.use.name,
        "tool_digest": proposal.tool.digest if proposal.tool else "",
        "args": proposal.use.args,
        "raw_args": proposal.use.raw if proposal.use.args is None else None,
        "risk": str(decision.risk) if decision else str(Risk.YELLOW),
        "effect": str(decision.effect) if decision else "deny",
        "rules": list(decision.rules) if decision else [],
        "reasons": list(decision.reasons) if decision else [proposal.answer],
        "policy_hash": decision.policy_hash if decision else session.gate.policy.version_hash,
        "status": str(proposal.status),
        "subject": proposal.subject,
        "idempotency_token": token_of(session.claim.run.id, step_number, proposal.position),
        "result": proposal.answer or None,
        "is_error": ended,
        "created_at": now,
        "ended_at": now if ended else None,
    }


def token_of(run_id: str, step_number: int, position: int) -> str:
    """The token by which outside services tell a repeated request from a new one. Source: row E9."""
    return digest(f"{run_id}:{step_number}:{position}")[:32]


def hold_of(session: Session, proposal: Proposal) -> Hold:
    """The question that a held call puts to a person."""
    tool, decision = proposal.tool, proposal.decision
    assert tool is not None
    assert decision is not None
    assert proposal.subject is not None
    asked = question(
        session, "QUESTION" if tool.asks else "TOOL_CALL", decision, tool, proposal.use.args, proposal.use.id,
        dict(proposal.files),
    )  # fmt: skip
    return Hold(
        call_id=proposal.id, subject=proposal.subject, approval=asked, consults=_consulting(session, decision, asked)
    )  # fmt: skip


def _consulting(session: Session, decision: Decision, asked: dict[str, Any]) -> Consultation | None:
    """The models that are asked about a call before people are, where a rule wants that; `asked` then waits for them.

    Source: row C8.
    """
    if not decision.consensus or asked["kind"] != "TOOL_CALL":
        return None
    asked["request"]["consensus"] = True
    runtime, brief = session.runtime, session.brief
    rehearsing = str(session.ref) if session.model.simulated else None
    who = voting.panel(runtime.personas.personas, runtime.settings.consensus.models, rehearsing)
    if who is None:
        return None
    asked["status"] = approvals.CONSULTING
    goal = brief.mission.goal if brief.mission else str(brief.run.payload.get("text") or "")
    return Consultation(who, voting.about_call(brief.run, asked, goal, session.labels))


def question(
    session: Session,
    kind: str,
    decision: Decision,
    tool: Tool,
    args: Any,
    provider_call_id: str,
    files: dict[str, str],
    why: str | None = None,
) -> dict[str, Any]:
    """The columns of an `approvals` row, except those of the run."""
    now, brief = session.now(), session.brief
    expires_s = decision.expires_s or session.runtime.settings.approval_expires_s
    task, persona = brief.task, session.persona.name
    shown = scrub_value(args)
    return {
        "id": new_id("apr"),
        "kind": kind,
        "alike": _alike(session, decision, tool, args) if kind == "TOOL_CALL" else None,
        "request": {
            "tool": tool.name,
            "args": shown,
            "definition": definition_of(tool),
            "tool_digest": tool.digest,
            "call_id": provider_call_id,
            "files": files,
            "summary": why or (f"asks: {args.get('question')}" if kind == "QUESTION" else f"wants to call {tool.name}"),
            "persona": persona,
            "task": task.title if task else None,
            "simulated": session.model.simulated,
            "grantable": decision.grantable,
        },
        "risk": str(decision.risk),
        "rules": list(decision.rules),
        "reasons": list(decision.reasons),
        "people": max(1, decision.people),
        "not_requester": decision.not_requester,
        "expires_at": later(now, expires_s),
    }


def _alike(session: Session, decision: Decision, tool: Tool, args: Any) -> str:
    return alike(
        project=session.claim.run.project_id, persona=session.persona.name, tool=tool.name, tool_digest=tool.digest,
        risk=str(decision.risk), rules=decision.rules, people=decision.people, args=args,
    )  # fmt: skip


class Settled:
    """The outcomes of a step's open calls in one pass, and the questions that they put to people."""

    def __init__(self) -> None:
        self.done: list[Done] = []
        self.holds: list[Hold] = []


async def settle(session: Session) -> Settled:
    """Finishes as many open calls as possible: executes those that may run, and applies people's answers.

    The calls of a turn run concurrently if all are GREEN and none could send out what another reads; otherwise one
    after another, in order. A call whose outcome is unknown is repeated only if its tool is idempotent; else a person
    is asked. The outcome of a call that cannot be repeated is recorded before the next one begins. Source: rows E9, G6.
    """
    settled = Settled()
    work = [call for call in session.open_calls if await _may_go(session, call, settled)]
    for batch in [work] if _may_run_at_once(session, work) else [[call] for call in work]:
        jobs = [asyncio.create_task(_run(session, call)) for call in batch]
        try:
            await _in_time(jobs, session.interrupt)
        except asyncio.CancelledError:
            await _keep_what_ended(session, settled, jobs)
            raise
        if failure := _failure(jobs):
            with contextlib.suppress(LeaseLost):
                await _keep_what_ended(session, settled, jobs)
            raise failure
        for call, job in zip(batch, jobs, strict=True):
            await _take(session, call, job.result(), settled)
        if batch and batch[-1] is not work[-1] and not _repeatable(session, batch[-1]):
            await _book(session, settled)
    return settled


async def _in_time(jobs: "Sequence[asyncio.Task[Done | HeldAnew]]", interrupt: Interrupt) -> None:
    """Waits for calls. If one fails or the run is cancelled, no call is left running behind its back.

    They get a moment to end by themselves, unless a person has stopped the run.
    """
    try:
        await asyncio.sleep(0)  # by then what waits for nothing has ended
        if not all(job.done() for job in jobs):
            await asyncio.wait(jobs, return_when=asyncio.FIRST_EXCEPTION)
    except asyncio.CancelledError:
        if jobs:
            await asyncio.wait(jobs, timeout=0 if interrupt.reason and interrupt.reason.is_at_once else GRACE_S)
        raise
    finally:
        late = [job for job in jobs if not job.done()]
        for job in late:
            job.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_S)


def _failure(jobs: "Sequence[asyncio.Task[Done | HeldAnew]]") -> BaseException | None:
    """The error that made a batch of calls fail; calls that were cancelled because of it do not count."""
    return next((error for job in jobs if not job.cancelled() and (error := job.exception()) is not None), None)


def _may_run_at_once(session: Session, work: Sequence[CallState]) -> bool:
    """Whether these calls may run concurrently: neither their effects nor their labels depend on their order."""
    if len(work) < 2:
        return True
    if any(call.risk != Risk.GREEN or call.approval_id is not None for call in work):
        return False
    labels, goes_out = session.labels, False
    for call in work:
        if (tool := session.gate.toolbox.get(call.tool)) is not None:
            labels |= labels_of_results(tool)
            goes_out = goes_out or way_out(call_of(tool, call.args)) is not None
    return not (goes_out and {UNTRUSTED, PRIVATE} <= labels)


async def _run(session: Session, call: CallState) -> Done | HeldAnew:
    where = context(session, call.id, call.token)
    telemetry = session.runtime.telemetry
    known = call.tool if session.gate.toolbox.get(call.tool) is not None else None
    with telemetry.span("tool", tool=known, risk=call.risk, agent=session.persona.name) as span:
        live.calls(session, call)
        outcome = await execute(session.gate, session.claim, call, where, wished=session.wished(call))
        status = str(outcome.status if isinstance(outcome, Done) else CallStatus.HELD)
        span.tell(status=status, simulated=isinstance(outcome, Done) and outcome.simulated)
    telemetry.count("tool_call", tool=known, status=status)
    return outcome


async def _take(session: Session, call: CallState, outcome: Done | HeldAnew, settled: Settled) -> None:
    if isinstance(outcome, HeldAnew):
        settled.holds.append(_held_anew(session, call, outcome))
    elif outcome.status is CallStatus.UNKNOWN:
        settled.holds.append(await _unknown(session, call, outcome.content))
    else:
        settled.done.append(outcome)
        session.after_call(call, outcome)
        live.called(session, call, outcome)


async def _keep_what_ended(
    session: Session, settled: Settled, jobs: "Sequence[asyncio.Task[Done | HeldAnew]]"
) -> None:  # fmt: skip
    """Records the outcomes that were reached although the run is being interrupted."""
    ended = [job.result() for job in jobs if job.done() and not job.cancelled() and job.exception() is None]
    settled.done += [one for one in ended if isinstance(one, Done) and one.status is not CallStatus.UNKNOWN]
    session.labels = session.labels.union(*(one.labels for one in settled.done))
    await asyncio.shield(_book(session, settled))


async def _book(session: Session, settled: Settled) -> None:
    """Records outcomes before the rest of the turn has ended."""
    done, settled.done = settled.done, []
    if done:
        await session.record(session.results(done))


def _repeatable(session: Session, call: CallState) -> bool:
    tool = session.gate.toolbox.get(call.tool)
    return tool is None or tool.idempotent


async def _may_go(session: Session, call: CallState, settled: Settled) -> bool:
    """Whether an open call can be executed now; if not, ends it or asks a person."""
    tool = session.gate.toolbox.get(call.tool)
    is_restored = call.status == CallStatus.UNKNOWN and call.approval_id is None
    if (call.status == CallStatus.STARTED or is_restored) and tool is not None and not tool.idempotent:
        what = "the database was restored from a backup" if is_restored else "a worker died while it ran"
        settled.holds.append(await _unknown(session, call, what))
        return False
    if is_restored or call.status not in (CallStatus.HELD, CallStatus.UNKNOWN):
        return True
    row = await session.runtime.store.read(approvals.approval, call.approval_id) if call.approval_id else None
    if row is None or row.status == "void":
        return await _asked_again(session, call, settled)
    if row.status in ("pending", approvals.CONSULTING):
        return False
    if row.status == "approved" and row.kind != "QUESTION":
        return True
    settled.done.append(_answered(session, call, row))
    session.after_call(call, settled.done[-1])
    return False


async def _asked_again(session: Session, call: CallState, settled: Settled) -> bool:
    """A call whose question is missing or was withdrawn: it is decided again, and asked again if it is held."""
    tool = session.gate.toolbox.get(call.tool)
    if call.status != CallStatus.UNKNOWN or tool is None:
        return True
    settled.holds.append(await _unknown(session, call, "nobody was asked about it, or the question was taken back"))
    return False


def _answered(session: Session, call: CallState, row: Any) -> Done:
    """The end of a call by a person's answer: to a question, a denial, or about an unknown outcome."""
    by = "the models that were asked" if row.decided_by == CONSENSUS else row.request.get("answered_by") or "a person"
    if row.kind == "QUESTION" and row.status == "approved":
        status, text = CallStatus.DONE, row.note or "yes"
    elif row.kind == "UNKNOWN_OUTCOME":
        status = CallStatus.FAILED
        text = f"the outcome of this call is not known; {by} decided not to repeat it: {row.note or 'no reason given'}"
    else:
        status = CallStatus.DENIED
        text = f"{row.status} by {by}: {row.note or 'no reason given'}. Choose another way, or say that there is none."
    return Done(
        id=call.id, position=call.position, status=status, content=text, is_error=status is not CallStatus.DONE,
        begun=session.now(),
    )  # fmt: skip


def _held_anew(session: Session, call: CallState, outcome: HeldAnew) -> Hold:
    tool = session.gate.toolbox.get(call.tool)
    assert tool is not None
    why = f"wants to call {tool.name}: {outcome.reason}"
    asked = question(
        session, "QUESTION" if tool.asks else "TOOL_CALL", outcome.decision, tool, outcome.args, call.call_id,
        dict(outcome.files), None if tool.asks else why,
    )  # fmt: skip
    hold = Hold(
        call_id=call.id, subject=outcome.subject, approval=asked, replaces=call.approval_id, args=outcome.args,
        consults=_consulting(session, outcome.decision, asked),
    )  # fmt: skip
    call.status, call.approval_id, call.args = CallStatus.HELD, asked["id"], outcome.args
    return hold


async def _unknown(session: Session, call: CallState, what: str) -> Hold:
    """Asks whether to repeat exactly the call that had started, with the arguments that were then approved."""
    tool = session.gate.toolbox.get(call.tool)
    assert tool is not None
    row = await session.runtime.store.read(traces.call, call.id)
    assert row is not None
    decision = session.gate.decide(session.gate.call(tool, row.args), labels=session.labels)
    why = f"{tool.name} may or may not have had its effect ({what}): approve to do it again, deny to go on without"
    asked = question(session, "UNKNOWN_OUTCOME", decision, tool, row.args, call.call_id, {}, why)
    call.status, call.approval_id, call.args = CallStatus.UNKNOWN, asked["id"], row.args
    return Hold(call_id=call.id, subject=row.subject, approval=asked, call_status=CallStatus.UNKNOWN)
