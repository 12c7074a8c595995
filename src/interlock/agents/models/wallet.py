"""Money for the next model call: reserved at its worst case, with a shorter answer if little is left, or asked for.

The ledger decides; nothing is called here.
"""

from datetime import datetime
from typing import Any

from interlock.agents.models import spending
from interlock.agents.models.spending import NoRoom, Quote
from interlock.agents.running import asking, steps
from interlock.agents.running.session import Session, later
from interlock.agents.running.steps import Ending, Hold
from interlock.agents.special.learning import KIND as LEARN
from interlock.agents.special.routing import KIND as ROUTE
from interlock.agents.special.voting import KIND as VOTE
from interlock.core.ids import new_id
from interlock.core.values import SYSTEM, digest, usd
from interlock.policy.budgets import day_end, day_key
from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.money import days, ledger, shortfalls
from interlock.store.money.ledger import OverBudget, Shortage
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import tasks

WAIT_FOR_OTHERS_S = 2.0
"""Between looks whether other runs have settled what they had set aside."""
ESTIMATE_EXCEEDED = "ESTIMATE_EXCEEDED"
"""The kind of an alert: a mission has cost a multiple of what was thought."""


async def secure(session: Session) -> bool:
    """Reserves money for the next model call, unless that has been done. Source: rows D1, D2.

    False if the run waits instead: for other runs to settle, for midnight, or for a person to raise a limit.

    Raises OverBudget for a look of the Learner, a vote and a routing, for which nobody is asked for money.
    """
    if session.reservation is not None:
        return True
    reservation, wanted = session.quote()
    try:
        await session.write(steps.reserve_more, session.claim, session.spender, reservation, session.now())
        session.reserved(reservation, wanted)
        return True
    except OverBudget:
        found = await session.runtime.store.read(
            spending.afford, session.spender.accounts, session.runtime.prices, session.ref, session.prompt_tokens(),
            wanted,
        )  # fmt: skip
    if isinstance(found, Quote):
        return await _shorter(session, found)
    await _without(session, found)
    return False


async def _shorter(session: Session, found: Quote) -> bool:
    reservation = session.reservation_of(found.worst_microusd)
    try:
        await session.write(steps.reserve_more, session.claim, session.spender, reservation, session.now())
    except OverBudget:
        await _wait(session)
        return False
    session.reserved(reservation, found.max_tokens)
    return True


async def _wait(session: Session) -> None:
    due = later(session.now(), WAIT_FOR_OTHERS_S)
    await session.write(
        steps.hand_back, session.claim, session.now(), open_microusd=0, due_at=due, error=None, failed=False
    )


async def _without(session: Session, found: NoRoom) -> None:
    if found.waiting_helps:
        await _wait(session)
        return
    short = found.binding
    if session.claim.run.kind in (LEARN, VOTE, ROUTE):
        raise OverBudget([short.account_id], found.need_microusd)
    if short.kind in days.KINDS and short.account_id.rpartition(":")[2] < _today(session):
        await session.write(
            steps.hand_back, session.claim, session.now(), open_microusd=0, due_at=None, error=None, failed=False
        )
        return
    if short.kind == "agent_day":
        resumes = day_end(session.now(), session.brief.project.timezone)
        need = found.need_microusd
        await session.write(_pause_member, session.claim, session.brief.member, short, need, resumes, session.now())
        return
    lost = await session.runtime.store.read(ledger.charged_whole, session.claim.run.id) if short.kind == "run" else 0
    hold = _ask_for_more(session, short, found.need_microusd, lost)
    if short.kind not in shortfalls.SHARED:
        await session.write(_ask_and_park, session.claim, hold, session.now())
    elif (denied := await session.write(_ask_once_and_park, session.claim, hold, short, session.now())) is not None:
        why = f"a person did not raise the budget of `{short.account_id}`: {denied}"
        ending = Ending(status="failed", stop_reason="budget", error=why)
        await session.write(
            steps.end, session.claim, session.spender, ending, session.actor, None, None, session.now()
        )  # fmt: skip


def _today(session: Session) -> str:
    """The day whose money a run that begins now spends; one that began before midnight still holds yesterday's."""
    return day_key(session.now(), session.brief.project.timezone)


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


def _ask_for_more(session: Session, short: Shortage, need_microusd: int, lost_microusd: int) -> Hold:
    """One question for a shared account at its limit, whichever run asks; else one of this run's own."""
    raise_by, summary = _wanted(session, short, need_microusd, lost_microusd)
    about = {"account": short.account_id, "limit": short.limit_microusd, "line": short.line_microusd}
    mine = {} if short.kind in shortfalls.SHARED else {"run": session.claim.run.id}
    return Hold(
        call_id=None,
        subject=digest({**about, **mine}),
        approval={
            "id": new_id("apr"),
            "kind": "BUDGET",
            "request": {
                "account": short.account_id,
                "amount_microusd": raise_by,
                "limit_microusd": short.limit_microusd,
                "settled_microusd": short.settled_microusd,
                **({"paused": True} if short.line_microusd is not None else {}),
                "need_microusd": need_microusd,
                "summary": summary,
                "persona": session.persona.name,
                "task": session.brief.task.title if session.brief.task else None,
            },
            "risk": "YELLOW",
            "rules": ["budget"],
            "reasons": [summary],
            "expires_at": later(session.now(), session.runtime.settings.approval_expires_s),
        },
    )


def _wanted(session: Session, short: Shortage, need_microusd: int, lost_microusd: int) -> tuple[int, str]:
    """How much more to ask for, and the question in words.

    `lost_microusd` was charged to the run for calls whose process died: people should know that it may not be spent.
    """
    what, spent = {"project_day": "project's day"}.get(short.kind, short.kind), usd(short.settled_microusd)
    if short.line_microusd is not None:
        factor = session.runtime.settings.breakers.estimate_factor
        estimate = round(short.line_microusd / factor)
        more = 2 * estimate
        return more, (
            f"the {what} has cost {spent}, more than {factor:g} times its estimate of {usd(estimate)}; approving lets "
            f"it spend {usd(more)} more before you are asked again"
        )
    more = max(short.limit_microusd // 2, need_microusd * 4)
    if short.frozen:
        more = max(more, short.settled_microusd + need_microusd * 4 - short.limit_microusd)
        return more, (
            f"the {what} budget is frozen: a provider billed more than a call can cost by its price, and {spent} of "
            f"{usd(short.limit_microusd)} are spent; approving raises the limit by {usd(more)} and lets it go on"
            f"{_by_then(short)}"
        )
    lost = ""
    if lost_microusd:
        lost = f" ({usd(lost_microusd)} of it for a call that was cut off, at the most it can cost)"
    return more, (
        f"{what} budget used up: {spent} of {usd(short.limit_microusd)} spent{lost}, the next model call needs "
        f"{usd(need_microusd)}; approving raises the limit by {usd(more)}{_by_then(short)}"
    )


def _by_then(short: Shortage) -> str:
    """What else an answer to a question about a day means, as it may come after midnight."""
    if short.kind != "project_day":
        return ""
    return "; after midnight it raises the new day's, and any answer lets work go on with the new day's money"


def _ask_and_park(tx: Tx, claim: Claim, hold: Hold, now: datetime) -> None:
    asking.ask(tx, claim, [hold], now)
    if not asking.park_unless_answered(tx, claim, now):
        raise AssertionError("a question asked in this transaction has no answer yet")


def _ask_once_and_park(tx: Tx, claim: Claim, hold: Hold, short: Shortage, now: datetime) -> str | None:
    """Parks a run at the one question about an account that many share; gives the reason where it was denied already.

    The account is locked, so that of two runs at once one asks. Source: row D1.
    """
    run = claim.run
    mailbox.lock(tx, run.id)
    row = ledger.lock(tx, short.account_id)
    seen = (short.limit_microusd, short.frozen)
    if row is None or (row.limit_microusd, row.frozen) != seen or (short.line_microusd and not ledger.is_paused(row)):
        steps.hand_back(tx, claim, now, open_microusd=0, due_at=None, error=None, failed=False)
        return None
    asked = shortfalls.last_about(tx, hold.subject)
    if asked is not None and asked.status == "denied":
        return str(asked.note or "no reason given")
    if asked is None or asked.status != "pending":
        _ask_for_all(tx, claim, hold, short, now)
    approval_id = hold.approval["id"] if asked is None or asked.status != "pending" else asked.id
    task = tasks.task(tx, run.task_id or run.mission_id) if run.mission_id else None
    if task is not None and task.status == "IN_PROGRESS":
        key = f"money:{approval_id}:{task.id}:v{task.version}"
        wait = tasks.Move(
            task_id=task.id, to=TaskState.NEEDS_APPROVAL, actor=SYSTEM, key=key,
            reason=hold.approval["request"]["summary"], wait_for=f"approval:{approval_id}",
        )  # fmt: skip
        tasks.advance(tx, wait, now)
    mailbox.park(tx, claim, now)
    squad.set_status(tx, run.agent_id, "idle", now)
    return None


def _ask_for_all(tx: Tx, claim: Claim, hold: Hold, short: Shortage, now: datetime) -> None:
    """The question is about the mission or the project, not about the run that happened to ask first."""
    mission_id = claim.run.mission_id if short.kind == "mission" else None
    request = {name: value for name, value in hold.approval["request"].items() if name not in ("persona", "task")}
    approvals.ask(
        tx, project_id=claim.run.project_id, mission_id=mission_id, task_id=mission_id, run_id=None,
        tool_call_id=None, subject=hold.subject, asked_by=claim.run.agent_id, created_at=now,
        **{**hold.approval, "request": request},
    )  # fmt: skip
    if short.line_microusd is not None:
        audit.alert(
            tx, now, project_id=claim.run.project_id, severity="warning", kind=ESTIMATE_EXCEEDED, subject=mission_id,
            text=request["summary"], key=f"estimate:{short.account_id}:{short.line_microusd}",
        )  # fmt: skip
