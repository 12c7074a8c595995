"""Money for the next model call: set aside at its worst, with a shorter answer where little is left, or asked for.

The ledger decides; nothing is called here.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.agents import spending, steps
from interlock.agents.learning import KIND as LEARN
from interlock.agents.session import Session, later
from interlock.agents.spending import NoRoom, Quote
from interlock.agents.steps import Hold
from interlock.core.ids import new_id
from interlock.core.values import digest, usd
from interlock.policy.budgets import day_end
from interlock.store import audit, squad
from interlock.store.ledger import OverBudget, Shortage
from interlock.store.mailbox import Claim
from interlock.store.tx import Tx

WAIT_FOR_OTHERS_S = 2.0
"""Between looks whether other runs have settled what they had set aside."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The next call is paid for."""

    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Parked:
    """The run waits: for other runs to settle, for midnight, or for a person to raise a limit."""


async def secure(session: Session) -> Ready | Parked:
    """Sets money aside for the next model call, unless that is done already. Source: rows D1, D2.

    Raises OverBudget for a look of the Learner, for which nobody is asked for money.
    """
    prompt_tokens = session.prompt_tokens()
    if session.reservation is not None:
        return Ready(prompt_tokens)
    reservation, wanted = session.quote()
    try:
        await session.write(steps.reserve_more, session.claim, session.spender, reservation, session.now())
        session.reserved(reservation, wanted)
        return Ready(prompt_tokens)
    except OverBudget:
        found = await session.runtime.store.read(
            spending.afford, session.spender.accounts, session.runtime.prices, session.ref, prompt_tokens, wanted
        )
    if isinstance(found, Quote):
        return await _shorter(session, found, prompt_tokens)
    return await _without(session, found)


async def _shorter(session: Session, found: Quote, prompt_tokens: int) -> Ready | Parked:
    reservation = session.reservation_of(found.worst_microusd)
    try:
        await session.write(steps.reserve_more, session.claim, session.spender, reservation, session.now())
    except OverBudget:
        return await _wait(session)
    session.reserved(reservation, found.max_tokens)
    return Ready(prompt_tokens)


async def _wait(session: Session) -> Parked:
    due = later(session.now(), WAIT_FOR_OTHERS_S)
    await session.write(
        steps.hand_back, session.claim, session.now(), open_microusd=0, due_at=due, error=None, failed=False
    )
    return Parked()


async def _without(session: Session, found: NoRoom) -> Parked:
    if found.waiting_helps:
        return await _wait(session)
    short = found.binding
    if session.claim.run.kind == LEARN:
        raise OverBudget([short.account_id], found.need_microusd)
    if short.kind == "agent_day":
        resumes = day_end(session.now(), session.brief.project.timezone)
        need = found.need_microusd
        await session.write(_pause_member, session.claim, session.brief.member, short, need, resumes, session.now())
        return Parked()
    hold = _ask_for_more(session, short, found.need_microusd)
    await session.write(_ask_and_park, session.claim, hold, session.now())
    return Parked()


def _pause_member(
    tx: Tx, claim: Claim, member: Any, short: Shortage, need_microusd: int, resumes: datetime, now: datetime
) -> None:  # fmt: skip
    text = (
        f"{member.persona} has spent {usd(short.settled_microusd)} of {usd(short.limit_microusd)} today and is paused "
        f"until {resumes:%Y-%m-%d %H:%M} UTC: `interlock budget raise {short.account_id} USD` lets it go on now"
    )
    steps.hand_back(tx, claim, now, open_microusd=0, due_at=None, error=text, failed=False)
    squad.pause_for_budget(tx, member.id, short.account_id, need_microusd)
    audit.alert(
        tx, now, project_id=member.project_id, severity="warning", kind="BUDGET", text=text, key=short.account_id,
        subject=member.persona,
    )  # fmt: skip


def _ask_for_more(session: Session, short: Shortage, need_microusd: int) -> Hold:
    raise_by = max(short.limit_microusd // 2, need_microusd * 4)
    what = short.account_id.partition(":")[0].replace("_", " ")
    summary = (
        f"{what} budget used up: {usd(short.settled_microusd)} of {usd(short.limit_microusd)} spent, the next model "
        f"call needs {usd(need_microusd)}; approving raises the limit by {usd(raise_by)}"
    )
    return Hold(
        call_id=None,
        subject=digest({"account": short.account_id, "run": session.claim.run.id, "limit": short.limit_microusd}),
        approval={
            "id": new_id("apr"),
            "kind": "BUDGET",
            "request": {
                "account": short.account_id,
                "amount_microusd": raise_by,
                "limit_microusd": short.limit_microusd,
                "settled_microusd": short.settled_microusd,
                "need_microusd": need_microusd,
                "summary": summary,
                "persona": session.persona.name,
                "task": session.brief.task.title if session.brief.task else None,
            },
            "risk": "YELLOW",
            "rules": ["budget"],
            "reasons": [summary],
            "on_behalf_of": session.brief.mission.requested_by if session.brief.mission else None,
            "expires_at": later(session.now(), session.runtime.settings.approval_expires_s),
        },
    )


def _ask_and_park(tx: Tx, claim: Claim, hold: Hold, now: datetime) -> None:
    steps.ask(tx, claim, [hold], now)
    if not steps.park_unless_answered(tx, claim, now):
        raise AssertionError("a question asked in this transaction has no answer yet")
