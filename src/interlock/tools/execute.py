"""Executes tool calls: a call is decided, its intent recorded, its effect caused once, and its outcome recorded.

`Gate.propose` decides a call when the model makes it; `execute` decides again right before the effect. The runner
controls the transactions of a run.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from interlock.core.errors import Conflict, InterlockError
from interlock.core.text import storable
from interlock.core.time_limit import TimeLimit
from interlock.core.values import Actor, ActorKind, canonical_json
from interlock.policy.binding import subject_hash
from interlock.policy.calls import ApprovedBinding, Decision
from interlock.policy.placeholders import names
from interlock.policy.risk import Effect
from interlock.policy.secrets import scrub
from interlock.store.auditing import audit
from interlock.store.errors import StoreUnavailable
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.runs import traces
from interlock.store.signoff import approvals, grants
from interlock.store.tx import Tx
from interlock.tools.contract import OUTWARD
from interlock.tools.definitions import labels_of_results
from interlock.tools.errors import PersonMustSay
from interlock.tools.gate import ENDED as ENDED
from interlock.tools.gate import CallStatus as CallStatus
from interlock.tools.gate import Gate as Gate
from interlock.tools.gate import Proposal as Proposal
from interlock.tools.lending import Lent
from interlock.tools.pinned import contents, digests_of, fixed
from interlock.tools.registry import Outcome, OutcomeUnknown, Tool, ToolContext, ToolError, Write
from interlock.tools.secrets import SecretProblem

RESULT_LIMIT = 60_000
"""The most characters of a result that go back to the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a call ended. `writes` is database work to do in the transaction that records the outcome."""

    id: str
    position: int
    status: CallStatus
    content: str
    is_error: bool
    begun: datetime
    simulated: bool = False
    writes: tuple[Write, ...] = ()
    ends_run: bool = False
    labels: frozenset[str] = frozenset()
    approval_id: str | None = None
    """An approval that this call used, if its start was not recorded separately."""
    grant: "Granted | None" = None
    """The grant that let it run."""


@dataclass(frozen=True, slots=True)
class Granted:
    """A grant that let a call run, and the context of that call."""

    id: str
    tool: str
    context: ToolContext


@dataclass(frozen=True, slots=True)
class HeldAnew:
    """The approval no longer covers the call, because a file or the policy has changed: a person is asked again."""

    id: str
    reason: str
    decision: Decision
    files: Mapping[str, str]
    subject: str
    args: Any
    """The arguments, with people's changes to them."""


async def execute(gate: Gate, claim: Claim, call: Any, context: ToolContext, *, wished: Any) -> Done | HeldAnew:
    """Causes the effect of one recorded call (a row of `tool_calls`), once.

    The call is decided once more. An approval must be for exactly this call, and is used up before the effect. Files
    that the effect depends on are read once, so that the tool gets the bytes that were judged. A call that is not
    idempotent is recorded as started before it starts. If people have changed the arguments that the model `wished`
    for, the model is told. What goes wrong in the tool becomes a result and is not raised.

    Raises LeaseLost if the run no longer belongs to this worker, and StoreUnavailable if an idempotent tool cannot
    reach the database: then the run waits for the database, and the model is not told.
    """
    tool = gate.toolbox.get(call.tool)
    begun = context.now
    if tool is None:
        return _ended(call, CallStatus.REFUSED, f"the tool `{call.tool}` is not available any more", begun)
    if tool.digest in gate.barred:
        return _ended(call, CallStatus.REFUSED, gate.changed(tool), begun)
    approval = await context.store.read(approvals.approval, call.approval_id) if call.approval_id else None
    args = approval.edited_args if approval is not None and approval.edited else call.args
    if args is not call.args and (errors := gate.toolbox.validate(tool, args)):
        return _ended(call, CallStatus.REFUSED, "the edited arguments are not valid: " + "; ".join(errors), begun)
    if names(args) and (problem := gate.vault.refusal(gate.who(tool), args)) is not None:
        return _ended(call, CallStatus.REFUSED, problem, begun)
    found = await contents(tool, args, context.workspace)
    files = digests_of(found)
    subject = partial(subject_hash, claim.run.id, call.call_id, tool.digest, args, files)
    approved = approval is not None and is_good(approval, begun)
    binding = binding_of(approval, subject()) if approved else None
    decision = await gate.judge(gate.call(tool, args), context, context.labels, binding)
    if decision.effect is Effect.DENY:
        return _ended(call, CallStatus.DENIED, "denied by the policy: " + "; ".join(decision.reasons), begun)
    if decision.effect is not Effect.ALLOW or (tool.asks and not approved):
        reason = "what was approved has changed since" if approved else "it needs a person's approval"
        if not approved and approval is not None and approval.status == "approved":
            reason = "the approval expired before it was used"
        return HeldAnew(call.id, reason, decision, files, subject(), args)
    spends = binding is not None and approval is not None and approval.status == "approved"
    if not tool.idempotent or spends:
        used = approval.id if approval is not None and spends else None
        try:
            await context.store.write(start, claim, call.id, args, subject(), used, begun, decision.grant)
        except grants.Ended:
            return await execute(gate, claim, call, context, wished=wished)
    if approval is not None and approval.kind == "UNKNOWN_OUTCOME":
        context = context._replace(repeated_by=approval.id)
    async with Lent(gate.vault, gate.who(tool), fixed(context, found), args) as context:
        done = await _perform(tool, call, args, context, gate, edited=args != wished)
    return done if decision.grant is None else replace(done, grant=Granted(decision.grant, tool.name, context))


def is_good(approval: Any, now: datetime) -> bool:
    """Whether an approval may still be acted on: it has not expired, or its call has already started."""
    is_late = approval.expires_at is not None and approval.expires_at <= now
    return approval.status == "used" or (approval.status == "approved" and not is_late)


def binding_of(approval: Any, presented: str) -> ApprovedBinding:
    """An approval in the form that the decision takes, next to the digest of the call as it is now."""
    return ApprovedBinding(
        approval_id=approval.id,
        subject=approval.subject,
        presented=presented,
        people=approval.people,
        not_requester=approval.not_requester or approval.decided_by != approval.on_behalf_of,
        consulted=approval.kind != "TOOL_CALL" or (not approval.edited and bool(approval.request.get("consensus"))),
    )


def start(
    tx: Tx,
    claim: Claim,
    call_id: str,
    args: Any,
    subject: str,
    approval_id: str | None,
    now: datetime,
    grant_id: str | None = None,
) -> None:
    """Records that a call is about to start, and uses up its approval. Source: row E9.

    Raises LeaseLost, Conflict if it was started before, and grants.Ended if a grant by which it may run has ended.
    """
    mailbox.own(tx, claim)
    if grant_id is not None:
        grants.require(tx, grant_id, now)
    if approval_id is not None:
        approvals.use(tx, approval_id, now)
        run = claim.run
        audit.note(
            tx, "APPROVAL_USED", Actor(ActorKind.AGENT, run.agent_id), now, project_id=run.project_id,
            mission_id=run.mission_id, task_id=run.task_id, run_id=run.id, subject=approval_id, call=call_id,
            bound_to=subject,
        )  # fmt: skip
    if traces.started(tx, call_id, args, subject, now) != 1:
        raise Conflict(f"call `{call_id}` was started before")


async def _perform(
    tool: Tool, call: Any, args: dict[str, Any], context: ToolContext, gate: Gate, *, edited: bool
) -> Done:
    """INVARIANT: secret values are in what the tool receives, and in nothing that this returns."""
    scrub = gate.vault.scrub
    begun = context.now
    prefix = f"(a person changed the arguments to {canonical_json(args)})\n" if edited else ""
    if context.simulated and tool.outside:
        text = tool.simulate(args) if tool.simulate else f"{tool.name} would have been called"
        return _ended(call, CallStatus.DONE, f"{prefix}[rehearsal: simulated] {text}", begun, simulated=True)
    try:
        given = await asyncio.to_thread(gate.vault.filled, gate.who(tool), args) if names(args) else args
        outcome = await _called(tool, given, context)
    except OutcomeUnknown as error:
        is_settled = tool.idempotent and not isinstance(error, PersonMustSay)
        ended = _ended(call, CallStatus.FAILED if is_settled else CallStatus.UNKNOWN, scrub(str(error)), begun)
    except (ToolError, SecretProblem) as error:
        ended = _ended(call, CallStatus.FAILED, scrub(str(error)), begun)
    else:
        ended = _from_outcome(tool, call, outcome, prefix + scrub(outcome.content), begun)
    read = frozenset() if tool.builtin else context.workspace.taken
    labels = ended.labels | labels_of_results(tool) | read
    return ended if labels == ended.labels else replace(ended, labels=labels)


async def _called(tool: Tool, args: dict[str, Any], context: ToolContext) -> Outcome:
    """Calls the tool's function; if the outcome is unknown and the tool idempotent, once more with the same token.

    Raises ToolError, and OutcomeUnknown if it is unknown whether the effect happened. Source: row E9.
    """
    try:
        return await _tried(tool, args, context)
    except OutcomeUnknown as error:
        if not tool.idempotent or isinstance(error, PersonMustSay):
            raise
    return await _tried(tool, args, context)


async def _tried(tool: Tool, args: dict[str, Any], context: ToolContext) -> Outcome:
    fault: type[InterlockError] = ToolError if tool.idempotent else OutcomeUnknown
    limit_s = context.settings.times.tool_s if tool.timeout_s is None else tool.timeout_s
    try:
        with TimeLimit(limit_s):
            return await tool.call(context, args)
    except (ToolError, OutcomeUnknown):
        raise
    except StoreUnavailable as error:
        if tool.idempotent:
            raise
        raise fault(f"{tool.name} lost the database: {error}") from error
    except TimeoutError as error:
        raise fault(f"{tool.name} did not end within {limit_s:g} s") from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise fault(f"{tool.name} failed: something in it was cancelled") from error
    except Exception as error:
        raise fault(f"{tool.name} failed: {type(error).__name__}: {error}") from error


def _from_outcome(tool: Tool, call: Any, outcome: Outcome, content: str, begun: datetime) -> Done:
    return Done(
        id=call.id,
        position=call.position,
        status=CallStatus.FAILED if outcome.is_error else CallStatus.DONE,
        content=clean(content),
        is_error=outcome.is_error,
        begun=begun,
        writes=outcome.writes,
        ends_run=tool.ends_run or outcome.ends_run,
        labels=outcome.labels - {OUTWARD},
    )


def _ended(call: Any, status: CallStatus, content: str, begun: datetime, *, simulated: bool = False) -> Done:
    return Done(
        id=call.id, position=call.position, status=status, content=clean(content),
        is_error=status is not CallStatus.DONE, begun=begun, simulated=simulated,
    )  # fmt: skip


def clean(text: str) -> str:
    """A result ready to be stored and shown: without secrets and NUL bytes, truncated to `RESULT_LIMIT`."""
    text = storable(scrub(text))
    if len(text) > RESULT_LIMIT:
        left_out = len(text) - RESULT_LIMIT
        text = f"{text[:RESULT_LIMIT]}\n[cut: {left_out:,} more characters]"
    return text


def record(tx: Tx, done: Done, now: datetime) -> None:
    """Records an outcome and the tool's own writes, in the caller's transaction."""
    for write in done.writes:
        unit, args, kwargs = write
        unit(tx, *args, **kwargs)
    if done.grant is not None:
        where = done.grant.context
        grants.used(
            tx, done.grant.id, where.actor, now, project_id=where.project_id, mission_id=where.mission_id,
            task_id=where.task_id, run_id=where.run_id, tool=done.grant.tool, call=done.id,
        )  # fmt: skip
    traces.outcome(
        tx, done.id, str(done.status), done.content, is_error=done.is_error, simulated=done.simulated,
        begun=done.begun, now=now,
    )  # fmt: skip
