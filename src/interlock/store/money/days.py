"""Daily accounts: whether the day is over, and which account has succeeded it.

Spending is in `ledger`, questions to people about it in `shortfalls`.
"""

from datetime import datetime
from typing import Any

from interlock.policy.budgets import day_key
from interlock.store import squad
from interlock.store.money import ledger, ledger_lines
from interlock.store.money.ledger import Opening
from interlock.store.tx import Tx

KINDS = ("agent_day", "project_day")


def today(tx: Tx, account: Any, now: datetime) -> str:
    """The id of today's successor of a daily account; for any other account, its own id."""
    if account.kind not in KINDS:
        return str(account.id)
    project = squad.project(tx, account.project_id)
    return f"{account.kind}:{account.owner_id}:{day_key(now, project.timezone if project else 'UTC')}"


def is_over(tx: Tx, account: Any, now: datetime) -> bool:
    """Whether an account is of a past day. One of a future day (the clock was set back) is not."""
    return bool(account.id < today(tx, account, now)) if account.kind in KINDS else False


def opened_in_place(tx: Tx, account_id: str, now: datetime) -> str:
    """The id of the account that a raise applies to: today's, if the day in question is over.

    If nothing was spent today yet, it is opened with the initial limit of the past one.
    """
    account = ledger.account(tx, account_id)
    if account is None or not is_over(tx, account, now):
        return account_id
    ident = today(tx, account, now)
    first = account.limit_microusd - ledger_lines.sums(tx, ledger_lines.Which(account_id=account.id)).raised
    ledger.open_accounts(tx, [Opening(ident, account.kind, account.owner_id, account.project_id, first)], now)
    return ident
