"""What to do with a run whose model call has failed: try again, switch to another model, or continue later.

When one call is tried again is `retries`' rule, whether a provider is called at all `circuits`'; which models stand in
is `model_choice`'s job.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from interlock.agents.models import model_choice, spending
from interlock.agents.models.model_choice import Amiss, Candidate
from interlock.agents.models.turn import Failed
from interlock.agents.running import steps
from interlock.agents.running.session import Session, later
from interlock.agents.running.steps import Ending, Settlement
from interlock.agents.runtime import Runtime
from interlock.agents.special.routing import KIND as ROUTE
from interlock.core.values import Actor
from interlock.llm.messages import ModelError, ModelFault, ModelRef
from interlock.llm.providers import NoKey
from interlock.llm.retries import RetryPolicy, delay_s, is_too_long
from interlock.store.auditing import audit
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.money import ledger
from interlock.store.money.ledger import Spender
from interlock.store.tx import Tx

OUTAGE_WAITS_S = (15.0, 60.0, 180.0, 300.0, 600.0, 600.0)
"""Between tries of a run whose provider cannot be used."""
KEY_WAIT_S = 600.0
MODEL_SWITCHED = "MODEL_SWITCHED"
"""The kind of an activity, and of the alert about a provider whose runs go on with another model."""
NO_SUCH_MODEL = 404
AWAITED = frozenset({"message", "room"})
"""Causes of runs that somebody waits for, in a chat or a channel."""
HOPES = (ModelFault.INVALID, ModelFault.AUTH, ModelFault.BILLING)
"""Faults in the order of how little hope they leave, the least first; of all others there is more."""


SHRUNK = 0.75
"""Of a prompt that a provider found too long: what its model's window is taken to be from then on."""


@dataclass(frozen=True, slots=True)
class Switch:
    """The switch of a run to another model. `unpriced` describes the rate it is charged at if it has no price."""

    of: str
    to: ModelRef
    fault: str
    why: str
    unpriced: str | None

    @classmethod
    def made(cls, session: Session, of: str, to: ModelRef, fault: str, why: str) -> "Switch":
        """A switch of a run from one model to another, and why."""
        prices = session.runtime.prices
        return cls(of, to, fault, why, spending.in_words(prices) if prices.rate(to) is None else None)


async def again(session: Session, failed: Failed) -> Ending | bool:
    """Books a failed attempt. Returns True if the run goes on at once, False if it was put off, or else how it ends.

    It goes on after a short wait while that may help, with room made where the prompt was too long, or with the next
    model. Source: rows E14, F7.
    """
    session.failures += 1
    wait_s = _wait_s(session, failed.error)
    if is_too_long(failed.error) and len(session.messages) > 1:
        session.info = replace(session.info, context_tokens=int(session.context_tokens() * SHRUNK))
        wait_s = 0.0
    if wait_s is None:
        return await _otherwise(session, failed)
    await session.write(steps.book_failed, session.claim, session.spender, failed.settlement, session.now())
    session.owed_microusd = None
    await session.interrupt.rest(wait_s)
    return True


async def blocked(session: Session, wait_s: float) -> Ending | bool:
    """The same for a call that is not made, because its provider's circuit is open."""
    provider, reservation = session.ref.provider, session.reservation
    assert reservation is not None
    circuit = session.runtime.circuits.of(provider)
    fault = circuit.last.fault if circuit is not None and circuit.last is not None else ModelFault.OVERLOADED
    said = f"{circuit.faults} faults in a row, the last one: {circuit.last.detail}" if circuit and circuit.last else ""
    error = ModelError(fault, f"left alone for now after {said}", provider=provider, retry_after_s=wait_s)
    session.reservation, session.owed_microusd = None, 0
    unspent = Settlement(reservation=reservation, actual_microusd=0)
    return await _otherwise(session, Failed(error, unspent), called=False)


def _wait_s(session: Session, error: ModelError) -> float | None:
    """Until the same call may be made again by this run; None if that is not worth waiting for on the spot."""
    retry, runtime = session.runtime.settings.retry, session.runtime
    policy = RetryPolicy(max_attempts=retry.max_attempts, base_s=retry.base_s, cap_s=retry.cap_s)
    wait_s = delay_s(session.failures, error, jitter=random.random(), policy=policy)
    rests_s = runtime.circuits.wait_s(session.ref.provider, runtime.clock.monotonic())
    return None if wait_s is None or rests_s > wait_s or wait_s >= session.seconds_left else wait_s


async def _otherwise(session: Session, failed: Failed, *, called: bool = True) -> Ending | bool:
    """Goes on with the next model, or puts the run off where there is none that can be used."""
    error = failed.error
    session.refused[str(session.ref)] = error
    if _may_be_another_s(session, error):
        other = await _other(session, error)
        if other is not None:
            switch = Switch.made(session, str(session.ref), other.ref, str(error.fault), str(error))
            await session.write(
                _booked_switch, session.claim, session.spender, failed.settlement, switch, session.actor, session.now()
            )  # fmt: skip
            session.works_with(other.ref, other.model)
            return True
    return await _outage(session, failed, called=called)


def _may_be_another_s(session: Session, error: ModelError) -> bool:
    """Whether another model may do what this one did not: not where the request itself is at fault, as far as known."""
    if error.fault is not ModelFault.INVALID or error.status == NO_SUCH_MODEL:
        return True
    return model_choice.is_stand_in(session.runtime, session.brief, session.persona, str(session.ref))


async def _other(session: Session, error: ModelError) -> Candidate | None:
    """The next model; where it is the key that does not work, one of another provider."""
    async for other in model_choice.candidates(
        session.runtime, session.brief, session.persona, str(session.ref), session.context_tokens(), session.refused
    ):
        if error.fault not in (ModelFault.AUTH, ModelFault.BILLING) or other.ref.provider != session.ref.provider:
            return other
    return None


def _booked_switch(
    tx: Tx, claim: Claim, spender: Spender, failed: Settlement, switch: Switch, actor: Actor, now: datetime
) -> None:  # fmt: skip
    steps.book_failed(tx, claim, spender, failed, now)
    _note(tx, claim, switch, actor, now)


async def keyless(runtime: Runtime, claim: Claim, error: NoKey) -> bool:
    """Puts off a run for which no model could be opened, and alerts people: another process may have the key.

    False if somebody waits for it: that one is told at once.
    """
    run, now = claim.run, runtime.clock.now()
    if run.kind == ROUTE or (run.kind == "chat" and run.cause_kind in AWAITED):
        return False
    await runtime.store.write(_unopened, claim, error, later(now, KEY_WAIT_S), now)
    return True


def _unopened(tx: Tx, claim: Claim, error: NoKey, due_at: datetime, now: datetime) -> None:
    steps.hand_back(
        tx, claim, now, open_microusd=None, due_at=due_at, error=str(error), failed=False, stop_reason="error"
    )
    _tell_unusable(tx, claim, str(ModelFault.AUTH), error.provider, str(error), due_at, now, severity="critical")


async def stand_in(session: Session, amiss: Amiss) -> None:
    """Records that a run works with another model because its own cannot be opened."""
    switch = Switch.made(
        session, amiss.model, session.ref, "unusable", f"`{amiss.model}` cannot be used: {amiss.error}"
    )
    await session.write(_switched, session.claim, switch, session.actor, session.now())


def _switched(tx: Tx, claim: Claim, switch: Switch, actor: Actor, now: datetime) -> None:
    mailbox.own(tx, claim)
    _note(tx, claim, switch, actor, now)


def _note(tx: Tx, claim: Claim, switch: Switch, actor: Actor, now: datetime) -> None:
    run, to, provider = claim.run, str(switch.to), switch.of.partition("/")[0]
    mailbox.use_model(tx, claim, to)
    audit.note(
        tx, MODEL_SWITCHED, actor, now, project_id=run.project_id, mission_id=run.mission_id, task_id=run.task_id,
        run_id=run.id, subject=provider, reason=switch.why, fault=switch.fault,
        **{"from": switch.of, "to": to},
    )  # fmt: skip
    audit.alert(
        tx, now, project_id=run.project_id, severity="warning", kind=MODEL_SWITCHED, subject=provider,
        text=f"{switch.why}; runs go on with `{to}` in place of `{switch.of}`",
        key=f"switched:{provider}:{switch.fault}",
    )  # fmt: skip
    if switch.unpriced is not None:
        spending.tell_unpriced(tx, run.project_id, to, switch.unpriced, now)


def _deciding(errors: Mapping[str, ModelError]) -> ModelError:
    """Of what is wrong with each model that was tried, what leaves the most hope; of several, the last one."""
    return max(
        reversed(list(errors.values())), key=lambda e: HOPES.index(e.fault) if e.fault in HOPES else len(HOPES)
    )  # fmt: skip


async def _outage(session: Session, failed: Failed, *, called: bool) -> Ending | bool:
    """No model can be used: the run keeps its place and goes on later, and somebody is told.

    One that only saves a person a question ends instead: the person is asked now.
    """
    error, tries = _deciding(session.refused), session.claim.run.attempt
    session.refused.clear()
    wait_s = _until_later(session, error, tries) if called else failed.error.retry_after_s or 0
    is_over = error.fault is ModelFault.INVALID or (called and error.retryable and tries >= len(OUTAGE_WAITS_S))
    if is_over or session.claim.run.kind == ROUTE or _keeps_waiting(session, error, wait_s):
        await session.write(steps.book_failed, session.claim, session.spender, failed.settlement, session.now())
        session.owed_microusd = None
        said = f"{error}; try again later" if error.retryable else str(error)
        return Ending(status="failed", stop_reason="error", error=said)
    due_at = later(session.now(), wait_s)
    await session.write(
        _put_off, session.claim, session.spender, failed.settlement, error, due_at, called, session.now()
    )  # fmt: skip
    return False


def _until_later(session: Session, error: ModelError, tries: int) -> float:
    rests_s = session.runtime.circuits.wait_s(session.ref.provider, session.runtime.clock.monotonic())
    usual_s = OUTAGE_WAITS_S[min(tries, len(OUTAGE_WAITS_S) - 1)] if error.retryable else KEY_WAIT_S
    return max(usual_s, error.retry_after_s or 0, rests_s)


def _keeps_waiting(session: Session, error: ModelError, wait_s: float) -> bool:
    """Whether somebody who talks with an agent would wait for what only a person can put right, or for too long."""
    run, runtime = session.claim.run, session.runtime
    if run.kind != "chat" or run.cause_kind not in AWAITED:
        return False
    waited_s = (session.now() - run.created_at).total_seconds()
    return not error.retryable or waited_s + wait_s > runtime.settings.times.chat_run_s


def _put_off(
    tx: Tx, claim: Claim, spender: Spender, failed: Settlement, error: ModelError, due_at: datetime, called: bool,
    now: datetime,
) -> None:  # fmt: skip
    mailbox.own(tx, claim, even_if_controlled=True)
    steps.book(tx, spender, failed, now)
    ledger.count(tx, claim.run.id, failed.actual_microusd)
    steps.hand_back(
        tx, claim, now, open_microusd=0, due_at=due_at, error=str(error), failed=called and error.retryable,
        stop_reason=None if error.retryable else "error",
    )  # fmt: skip
    severity = "warning" if error.retryable else "critical"
    _tell_unusable(tx, claim, str(error.fault), error.provider, str(error), due_at, now, severity=severity)


def _tell_unusable(
    tx: Tx, claim: Claim, fault: str, provider: str, said: str, due_at: datetime, now: datetime, *, severity: str
) -> None:
    audit.alert(
        tx, now, project_id=claim.run.project_id, severity=severity, kind=steps.MODEL_UNUSABLE,
        text=f"{said}; nothing is lost, its runs are tried again from {due_at:%H:%M:%S} UTC on",
        key=f"model:{provider}:{fault}", subject=provider,
    )  # fmt: skip
