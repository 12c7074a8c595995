"""The accounts held against the lines of the ledger: what was booked, added up anew.

Nothing is put right here, and nobody told.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from interlock.store.schema import Account, LedgerEntry, table
from interlock.store.tx import Tx

ACCOUNTS, LEDGER = table(Account), table(LedgerEntry)
_acc, _led = ACCOUNTS.c, LEDGER.c
_end = LEDGER.alias("ended").c
_WHOSE = sa.cast(_led.accounts, sa.String()).label("whose")
_SUM = sa.cast(sa.func.sum(_led.amount_microusd), sa.BigInteger()).label("total")
_SETTLED = sa.select(_WHOSE, _SUM).where(_led.kind == "settle").group_by(sa.text("whose"))
_RESERVED = (
    sa.select(_WHOSE, _SUM)
    .where(
        _led.kind == "reserve",
        sa.not_(
            sa.exists().where(
                _end.run_id == _led.run_id, _end.reservation_id == _led.reservation_id, _end.kind == "settle"
            )
        ),
    )
    .group_by(sa.text("whose"))
)
_BOOKED = sa.select(_acc.id, _acc.project_id, _acc.settled_microusd, _acc.reserved_microusd).order_by(_acc.id)


@dataclass(frozen=True, slots=True)
class Difference:
    """An account that says something else than its lines, in micro-dollars."""

    account_id: str
    project_id: str
    settled_microusd: int
    lines_settled_microusd: int
    reserved_microusd: int
    lines_reserved_microusd: int


def differences(tx: Tx) -> list[Difference]:
    """Every account that is not the sum of its lines, by id. Reads the whole ledger."""
    settled, reserved = _by_account(tx.rows(_SETTLED)), _by_account(tx.rows(_RESERVED))
    found = []
    for row in tx.rows(_BOOKED):
        spent, aside = settled.get(row.id, 0), reserved.get(row.id, 0)
        if (spent, aside) != (row.settled_microusd, row.reserved_microusd):
            found.append(
                Difference(row.id, row.project_id, row.settled_microusd, spent, row.reserved_microusd, aside)
            )  # fmt: skip
    return found


def _by_account(rows: list[Any]) -> Mapping[str, int]:
    sums: dict[str, int] = {}
    for row in rows:
        for account in json.loads(row.whose):
            sums[account] = sums.get(account, 0) + int(row.total)
    return sums
