"""One attempt of a model call: streamed, its cost known whatever happens.

What the reply leads to is the runner's job; when to try again, `llm.retries`'.
"""

from datetime import datetime
from typing import NamedTuple

from interlock.agents.models import spending
from interlock.agents.running import live
from interlock.agents.running.session import Session
from interlock.agents.running.steps import Settlement
from interlock.agents.running.underway import InFlight
from interlock.core.text import storable, storable_value
from interlock.core.time_limit import TimeLimit
from interlock.llm.messages import (
    Block,
    Delta,
    Message,
    ModelError,
    ModelFault,
    ModelRequest,
    Reply,
    Text,
    ToolUse,
)
from interlock.tools.secrets import Vault

LATE_S = 5.0
"""Past a call's deadline: how long an adapter may take to say so itself."""
FREE = frozenset(
    {
        ModelFault.AUTH,
        ModelFault.INVALID,
        ModelFault.RATE_LIMITED,
        ModelFault.OVERLOADED,
        ModelFault.CONNECTION,
        ModelFault.BILLING,
    }
)
"""Faults by which a provider turns a request away: nothing is owed."""


class Turn(NamedTuple):
    """A reply and its cost."""

    reply: Reply
    settlement: Settlement
    attempts: int
    begun: datetime


class Failed(NamedTuple):
    """A failed attempt and its cost, which may not be zero."""

    error: ModelError
    settlement: Settlement


async def attempt(session: Session, prompt_tokens: int, aside: ModelRequest | None = None) -> Turn | Failed:
    """Makes the model call for which money was reserved; text of a call `aside` of the conversation is not streamed.

    Source: rows D2, D6, F7.
    """
    reservation = session.reservation
    assert reservation is not None
    runtime, begun = session.runtime, session.now()
    session.in_flight = InFlight(prompt_tokens)
    try:
        reply = await _watched(session, aside)
    except ModelError as error:
        actual, estimated = _cost_of_failure(session, error, prompt_tokens)
        if aside is None and session.in_flight is not None and session.in_flight.streamed_chars:
            live.began(session)
        session.reservation = session.in_flight = None
        session.owed_microusd = actual
        settlement = Settlement(reservation=reservation, actual_microusd=actual, estimated=estimated)
        return Failed(error, settlement)
    session.in_flight = None
    if aside is None:
        session.counted_as(prompt_tokens, reply.usage)
    cost = runtime.prices.cost(session.ref, reply.usage)
    session.owed_microusd = cost.microusd
    estimated = reply.is_estimated or not cost.known
    settlement = Settlement(reservation=reservation, actual_microusd=cost.microusd, estimated=estimated)
    return Turn(reply, settlement, reservation.attempt, begun)


async def _watched(session: Session, aside: ModelRequest | None) -> Reply:
    """The call, and what comes of it for whether others may call this provider."""
    circuits, provider = session.runtime.circuits, session.ref.provider
    try:
        reply = await _called(session, aside)
    except ModelError as error:
        circuits.failed(provider, error, session.runtime.clock.monotonic())
        raise
    except BaseException:
        circuits.left(provider)
        raise
    circuits.succeeded(provider)
    return reply


async def _called(session: Session, aside: ModelRequest | None) -> Reply:
    telemetry, ref = session.runtime.telemetry, session.ref
    with telemetry.span("model", model=ref.model, provider=ref.provider, agent=session.persona.name) as span:
        try:
            reply = await _in_time(session, aside)
        except ModelError as error:
            error.detail = session.runtime.vault.scrub(error.detail)
            error.args = (f"{error.provider}: {error.detail}",)
            span.tell(reason=str(error.fault))
            telemetry.count("error", of="model", reason=str(error.fault))
            raise
        used = reply.usage
        span.tell(
            finish_reason=str(reply.stop_reason), input_tokens=used.prompt_tokens, output_tokens=used.output_tokens,
            cache_read_tokens=used.cache_read_tokens,
            cache_write_tokens=used.cache_write_5m_tokens + used.cache_write_1h_tokens,
        )  # fmt: skip
    return reply


async def _in_time(session: Session, aside: ModelRequest | None) -> Reply:
    """The reply, or a fault at the call's deadline whatever its adapter does. Source: row F7."""
    request = aside or session.request(session.max_tokens)
    try:
        with TimeLimit(request.timeout_s + LATE_S) as limit:
            return await _stream(session, request, live.Words(session) if aside is None else None)
    except TimeoutError as error:
        if not limit.has_passed:
            raise
        said = f"no answer within {request.timeout_s:g} s"
        raise ModelError(ModelFault.TIMEOUT, said, provider=session.ref.provider) from error


async def _stream(session: Session, request: ModelRequest, words: live.Words | None) -> Reply:
    reply: Reply | None = None
    try:
        async for item in session.model.stream(request):
            if isinstance(item, Delta):
                if session.in_flight is not None:
                    session.in_flight.streamed_chars += len(item.text)
                if item.kind == "text" and words is not None:
                    words.said(item.text)
            else:
                reply = item
    finally:
        if words is not None:
            words.end()
    if reply is None:
        raise ModelError(ModelFault.DROPPED, "the stream ended without a reply", provider=session.ref.provider)
    vault, said = session.runtime.vault, reply.message.blocks
    blocks = tuple([_storable(block, vault) for block in said])
    return reply if blocks == said else reply._replace(message=Message(reply.message.role, blocks))


def _storable(block: Block, vault: Vault) -> Block:
    """A block as it can be stored, without the values of secrets; what a provider has signed stays as it is.

    It is the block itself where all of it can stay.
    """
    match block:
        case Text(text):
            kept = vault.scrub(storable(text))
            return block if kept == text else Text(kept)
        case ToolUse(id, name, args, raw, marks):
            given = vault.scrub_value(storable_value(args))
            found = storable(id), storable(name), given, vault.scrub(storable(raw))
            return block if found == (id, name, args, raw) else ToolUse(*found, marks)
    return block


def _cost_of_failure(session: Session, error: ModelError, prompt_tokens: int) -> tuple[int, bool]:
    if error.usage is not None:
        return session.runtime.prices.cost(session.ref, error.usage).microusd, True
    if error.fault in FREE:
        return 0, False
    streamed = session.in_flight.streamed_chars if session.in_flight else 0
    cut = spending.estimate_of_cut(prompt_tokens, streamed)
    return session.runtime.prices.cost(session.ref, cut).microusd, True
