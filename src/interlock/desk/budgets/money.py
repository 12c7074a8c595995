"""Budgets for people: accounts, actual costs of tasks, changing limits. Accounting is in `store.money.ledger`."""

from datetime import datetime
from typing import Any

from interlock.core.errors import UsageError
from interlock.core.values import microusd
from interlock.desk.budgets.accounts import account_of, open_today, owners, require_open_day, whose
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.operations import emergency
from interlock.desk.reading.views import View, dollars, view
from interlock.desk.work import projects
from interlock.oversight import expiry
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.money import estimates, ledger, limits, shortfalls
from interlock.store.signoff import approvals
from interlock.store.signoff.approvals import Answer
from interlock.store.tx import Tx

KINDS = ("project_day", "agent_day", "mission", "learn", "task", "run")
LISTED = ("project_day", "agent_day", "mission")
MOST = 100
"""Accounts that one list has."""
MOST_RAISE_USD = 100_000.0
MOST_WORDS = 1_000


async def budget(context: DeskContext, *, every: bool = False, most: int = MOST) -> list[View]:
    """Accounts, newest first: limit, spent, reserved and left, in USD; with `every`, those of tasks and runs too."""
    return await context.store.read(_accounts, KINDS if every else LISTED, most)


def _accounts(tx: Tx, kinds: tuple[str, ...], most: int) -> list[View]:
    rows = ledger.accounts(tx, kinds=kinds, most=most)
    return [_view(row, name) for row, name in zip(rows, owners(tx, rows), strict=True)]


def _account(tx: Tx, row: Any) -> View:
    return _view(row, whose(tx, row))


def _view(row: Any, owner: str | None) -> View:
    left = max(0, row.limit_microusd - row.settled_microusd - row.reserved_microusd)
    line = row.pause_at_microusd
    return view(
        row, "id", "kind", "owner_id", "project_id", "limit_microusd", "settled_microusd", "reserved_microusd",
        "frozen", "created_at", left_usd=dollars(left), whose=owner, paused=ledger.is_paused(row),
        asks_at_usd=dollars(line) if line is not None and line < row.limit_microusd else None,
    )  # fmt: skip


async def actuals(context: DeskContext, project: str | None = None) -> list[View]:
    """The actual cost of tasks finished in the last 90 days, by type and model, in USD. Source: row D5.

    Raises NotFound for a project that is not there.
    """
    if project is not None:
        await projects.require(context, project)
    found = await context.store.read(estimates.actuals, project or context.settings.project, context.clock.now())
    return [
        {
            "type": each.type, "model": each.model, "tasks": each.tasks, "mean_usd": dollars(each.mean_microusd),
            "most_usd": dollars(each.most_microusd), "budget_usd": dollars(each.budget_microusd),
            "counts": each.tasks >= estimates.LEAST_TASKS,
        }
        for each in found
    ]  # fmt: skip


async def raise_budget(context: DeskContext, person: Person, account: str, usd: float, note: str | None = None) -> View:
    """Raises a limit by `usd` dollars and resumes what waited for it; returns the account.

    `account` is its id, or that of a run, task, mission or agent, or the name of a persona or a project, for today. An
    open question about the account is answered by this. A frozen account resumes once its limit covers what was billed.

    Raises Unknown, Refused, and UsageError for an invalid amount.
    """
    require_operator(person, "raise a budget")
    if not 0 < usd <= MOST_RAISE_USD:
        raise UsageError(
            f"`{usd:g}` is not an amount to raise a limit by: give dollars from 0.01 to {MOST_RAISE_USD:,.0f}; "
            "`interlock budget set` lowers one"
        )
    amount, words = microusd(usd), _words(note)
    if amount == 0:
        raise UsageError(f"`{usd:g}` is less than a millionth of a dollar: give 0.01 at least")
    return await context.store.write(_raise, context, person, account, amount, words, context.clock.now())


async def set_budget(context: DeskContext, person: Person, account: str, usd: float, note: str | None = None) -> View:
    """Sets a limit to `usd` dollars, lower or higher, and unfreezes the account. Returns the account.

    Raises Unknown, Refused, UsageError for an invalid amount, Conflict if more is already spent or reserved.
    """
    require_operator(person, "set a budget")
    if not 0 <= usd <= MOST_RAISE_USD:
        raise UsageError(f"`{usd:g}` is not a limit: give dollars from 0 to {MOST_RAISE_USD:,.0f}")
    words = _words(note)
    return await context.store.write(_set, context, person, account, microusd(usd), words, context.clock.now())


def _words(note: str | None) -> str | None:
    words = " ".join((note or "").split())
    if len(words) > MOST_WORDS:
        raise UsageError(f"the note has {len(words):,} characters: {MOST_WORDS:,} are the most")
    return words or None


def _changeable(tx: Tx, context: DeskContext, given: str, now: datetime) -> str:
    """The account that is meant. A project's account of today is opened if necessary; accounts of past days are
    refused.
    """
    open_today(tx, context, given.strip(), now)
    account_id = account_of(tx, context, given)
    require_open_day(tx, ledger.account(tx, account_id), now)
    return account_id


def _raise(
    tx: Tx, context: DeskContext, person: Person, given: str, amount: int, words: str | None, now: datetime
) -> View:  # fmt: skip
    account_id = _changeable(tx, context, given, now)
    asked = shortfalls.pending_for(tx, account_id)
    if asked:
        _answer(tx, person, asked[0], amount, words, now)
    else:
        limits.raise_limit(tx, account_id, amount, person.id, now, words)
    for row in asked[1:]:
        _answer(tx, person, row, 0, words, now)
    return _changed(tx, person, account_id, amount, words, now)


def _set(
    tx: Tx, context: DeskContext, person: Person, given: str, limit: int, words: str | None, now: datetime
) -> View:  # fmt: skip
    account_id = _changeable(tx, context, given, now)
    before: Any = ledger.account(tx, account_id)
    limits.set_limit(tx, account_id, limit, person.id, now, words)
    if limit > before.limit_microusd or before.frozen or ledger.is_paused(before):
        for row in shortfalls.pending_for(tx, account_id):
            _answer(tx, person, row, 0, words, now)
    return _changed(tx, person, account_id, limit - before.limit_microusd, words, now)


def _answer(tx: Tx, person: Person, row: Any, amount: int, words: str | None, now: datetime) -> None:
    """Answers an open question about the account with this raise, whose amount may differ from the one asked for."""
    given = Answer(
        approval_id=row.id, person_id=person.id, name=person.name, role=person.role, surface=person.surface,
        verdict="approve", note=words or "the budget was raised", changes={"amount_microusd": amount},
    )  # fmt: skip
    approvals.answer(tx, given, now)


def _changed(tx: Tx, person: Person, account_id: str, amount: int, words: str | None, now: datetime) -> View:
    row: Any = ledger.account(tx, account_id)
    audit.note(
        tx, "BUDGET_RAISED" if amount >= 0 else "BUDGET_LOWERED", person.actor, now, project_id=row.project_id,
        subject=account_id, mission_id=row.owner_id if row.kind == "mission" else None,
        amount_microusd=amount, surface=person.surface, name=person.name, note=words,
    )  # fmt: skip
    if row.kind == "agent_day":
        expiry.resume_member(tx, row.owner_id, now)
    return {**_account(tx, row), "hindrance": _hindrance(tx, row)}


def _hindrance(tx: Tx, row: Any) -> str | None:
    """Why the work that waited for money still does not continue; None if nothing else blocks it."""
    member = squad.member(tx, row.owner_id) if row.kind == "agent_day" else None
    if member is not None and member.state == "QUARANTINED":
        return f"{member.persona} is in quarantine: `interlock release {member.persona}` lets it work again"
    return emergency.hindrance(tx)
