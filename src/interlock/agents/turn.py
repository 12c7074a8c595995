"""One attempt of a model call: streamed, its cost known whatever happens.

What the reply leads to is the runner's matter; when to try again, `llm.retries`'.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from interlock.agents import live, spending
from interlock.agents.session import InFlight, Session
from interlock.agents.steps import Settlement
from interlock.core.text import storable, storable_value
from interlock.llm.messages import Block, Delta, Message, ModelError, ModelFault, Reply, Text, ToolUse
from interlock.tools.secrets import Vault

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


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply and what it cost."""

    reply: Reply
    settlement: Settlement
    attempts: int
    begun: datetime


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt without a reply and what it cost all the same."""

    error: ModelError
    settlement: Settlement


async def attempt(session: Session, prompt_tokens: int) -> Turn | Failed:
    """Makes the call that money was set aside for. Source: rows D2, D6, F7."""
    reservation = session.reservation
    assert reservation is not None
    begun = session.now()
    session.in_flight = InFlight(prompt_tokens)
    try:
        reply = await _called(session)
    except ModelError as error:
        actual, estimated = _cost_of_failure(session, error, prompt_tokens)
        session.reservation = session.in_flight = None
        session.owed_microusd = actual
        settlement = Settlement(reservation=reservation, actual_microusd=actual, estimated=estimated)
        return Failed(error, settlement)
    session.in_flight = None
    cost = session.runtime.prices.cost(session.ref, reply.usage)
    session.owed_microusd = cost.microusd
    settlement = Settlement(reservation=reservation, actual_microusd=cost.microusd, estimated=not cost.known)
    return Turn(reply, settlement, reservation.attempt, begun)


async def _called(session: Session) -> Reply:
    telemetry, ref = session.runtime.telemetry, session.ref
    with telemetry.span("model", model=ref.model, provider=ref.provider, agent=session.persona.name) as span:
        try:
            reply = await _stream(session)
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


async def _stream(session: Session) -> Reply:
    reply: Reply | None = None
    words = live.Words(session)
    try:
        async for item in session.model.stream(session.request(session.max_tokens)):
            if isinstance(item, Delta):
                if session.in_flight is not None:
                    session.in_flight.streamed_chars += len(item.text)
                if item.kind == "text":
                    words.said(item.text)
            else:
                reply = item
    finally:
        words.end()
    if reply is None:
        raise ModelError(ModelFault.DROPPED, "the stream ended without a reply", provider=session.ref.provider)
    vault = session.runtime.vault
    blocks = tuple(_storable(block, vault) for block in reply.message.blocks)
    return replace(reply, message=Message(reply.message.role, blocks))


def _storable(block: Block, vault: Vault) -> Block:
    """A block as it can be stored, without the values of secrets; what a provider has signed stays as it is."""
    match block:
        case Text(text):
            return Text(vault.scrub(storable(text)))
        case ToolUse(id, name, args, raw):
            given = vault.scrub_value(storable_value(args))
            return ToolUse(storable(id), storable(name), given, vault.scrub(storable(raw)))
    return block


def _cost_of_failure(session: Session, error: ModelError, prompt_tokens: int) -> tuple[int, bool]:
    if error.usage is not None:
        return session.runtime.prices.cost(session.ref, error.usage).microusd, True
    if error.fault in FREE:
        return 0, False
    streamed = session.in_flight.streamed_chars if session.in_flight else 0
    cut = spending.estimate_of_cut(prompt_tokens, streamed)
    return session.runtime.prices.cost(session.ref, cut).microusd, True
