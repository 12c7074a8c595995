"""What has been spent and may be spent, and raising a limit; the arithmetic is the ledger's."""

from datetime import datetime
from typing import Any

from interlock.core.errors import UsageError
from interlock.core.values import microusd
from interlock.desk.finding import find
from interlock.desk.office import Office, Person, require_operator
from interlock.desk.views import View, dollars, view
from interlock.store import audit, ledger, limits, squad
from interlock.store import tasks as task_store
from interlock.store.tx import Tx

KINDS = ("project_day", "agent_day", "mission", "learn", "task", "run")
LISTED = ("project_day", "agent_day", "mission")
MOST_RAISE_USD = 100_000.0


async def budget(office: Office, *, every: bool = False, most: int = 100) -> list[View]:
    """Accounts, newest first: limit, spent, set aside and left, in USD; with `every`, those of tasks and runs too."""
    return await office.store.read(_accounts, KINDS if every else LISTED, most)


def _accounts(tx: Tx, kinds: tuple[str, ...], most: int) -> list[View]:
    return [{**_account(row), "whose": _whose(tx, row)} for row in ledger.accounts(tx, kinds=kinds)[:most]]


def _whose(tx: Tx, row: Any) -> str | None:
    """Who or what an account is for, in words: a persona, a goal, a title."""
    if row.kind == "agent_day":
        member = squad.member(tx, row.owner_id)
        return member.persona if member is not None else None
    if row.kind in ("mission", "learn", "task"):
        task = task_store.task(tx, row.owner_id)
        return task.title if task is not None else None
    return row.project_id if row.kind == "project_day" else None


def _account(row: Any) -> View:
    left = max(0, row.limit_microusd - row.settled_microusd - row.reserved_microusd)
    return view(
        row, "id", "kind", "owner_id", "project_id", "limit_microusd", "settled_microusd", "reserved_microusd",
        "frozen", "created_at", left_usd=dollars(left),
    )  # fmt: skip


async def raise_budget(office: Office, person: Person, account: str, usd: float) -> View:
    """Raises a limit by `usd` dollars and lets an agent that was paused for it go on; returns the account.

    Raises Unknown, Refused, and UsageError for an amount that is none.
    """
    require_operator(person, "raise a budget")
    if not 0 < usd <= MOST_RAISE_USD:
        raise UsageError(f"`{usd:g}` is no amount to raise a limit by: give dollars from 0.01 to {MOST_RAISE_USD:,.0f}")
    return await office.store.write(_raise, person, account, microusd(usd), office.clock.now())


def _raise(tx: Tx, person: Person, given: str, amount: int, now: datetime) -> View:
    account_id = find(tx, "account", given)
    row = limits.raise_limit(tx, account_id, amount, person.id, now)
    assert row is not None
    audit.note(
        tx, "BUDGET_RAISED", person.actor, now, project_id=row.project_id, subject=account_id,
        mission_id=row.owner_id if row.kind == "mission" else None,
        amount_microusd=amount, surface=person.surface, name=person.name,
    )  # fmt: skip
    if row.kind == "agent_day":
        member = squad.member(tx, row.owner_id)
        if member is not None and member.state == "PAUSED":
            squad.set_state(tx, member.id, "ACTIVE", None, seen="PAUSED")
    return _account(row)
