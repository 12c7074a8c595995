"""Compares account balances with the sums of the ledger's lines.

Read-only: corrects nothing, and alerts nobody.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import MICRO, usd
from interlock.store.schema import Account, LedgerEntry, table
from interlock.store.tx import Tx

AT_ONCE = 5_000
"""Batch size in lines (plus the rest of the last line's run) and in accounts; only the sums are kept in memory.
"""
ACCOUNTS, LEDGER = table(Account), table(LedgerEntry)
_acc, _led = ACCOUNTS.c, LEDGER.c
_end = LEDGER.alias("ended").c
_WHOSE = sa.cast(_led.accounts, sa.String()).label("whose")
_SUM = sa.cast(sa.func.sum(_led.amount_microusd), sa.BigInteger()).label("total")
_HERE = sa.and_(_led.run_id > b("after"), _led.run_id <= b("last"))
_SETTLED = sa.select(_WHOSE, _SUM).where(_led.kind == "settle", _HERE).group_by(sa.text("whose"))
_RESERVED = (
    sa.select(_WHOSE, _SUM)
    .where(
        _led.kind == "reserve",
        _HERE,
        sa.not_(
            sa.exists().where(
                _end.run_id == _led.run_id, _end.reservation_id == _led.reservation_id, _end.kind == "settle"
            )
        ),
    )
    .group_by(sa.text("whose"))
)
_END_OF_PAGE = sa.select(_led.run_id).where(_led.run_id > b("after")).order_by(_led.run_id).limit(1).offset(AT_ONCE - 1)
_LAST_RUN = sa.select(sa.func.max(_led.run_id).label("run_id"))
_BOOKED = (
    sa.select(_acc.id, _acc.project_id, _acc.settled_microusd, _acc.reserved_microusd)
    .where(_acc.id > b("after"))
    .order_by(_acc.id)
    .limit(AT_ONCE)
)
_OVER = (
    sa.select(_acc.id, _acc.settled_microusd, _acc.reserved_microusd, _acc.limit_microusd)
    .where(_acc.settled_microusd + _acc.reserved_microusd > _acc.limit_microusd, sa.not_(_acc.frozen))
    .order_by(_acc.id)
)
_UNRESERVED = (
    sa.select(_led.reservation_id)
    .where(
        _led.kind == "settle",
        sa.not_(
            sa.exists().where(
                _end.run_id == _led.run_id, _end.reservation_id == _led.reservation_id, _end.kind == "reserve"
            )
        ),
    )
    .order_by(_led.reservation_id)
)
_ACCOUNTS_N, _LINES_N = (sa.select(sa.func.count().label("n")).select_from(each) for each in (ACCOUNTS, LEDGER))


@dataclass(frozen=True, slots=True)
class Difference:
    """An account whose balance differs from the sum of its lines, in micro-dollars."""

    account_id: str
    project_id: str
    settled_microusd: int
    lines_settled_microusd: int
    reserved_microusd: int
    lines_reserved_microusd: int


def differences(tx: Tx) -> list[Difference]:
    """Every account that differs from the sum of its lines, by id. Reads the whole ledger."""
    return _differing(tx, *_lines(tx))


def _differing(tx: Tx, settled: Mapping[str, int], reserved: Mapping[str, int]) -> list[Difference]:
    found = []
    for row in _booked(tx):
        spent, aside = settled.get(row.id, 0), reserved.get(row.id, 0)
        if (spent, aside) != (row.settled_microusd, row.reserved_microusd):
            found.append(
                Difference(row.id, row.project_id, row.settled_microusd, spent, row.reserved_microusd, aside)
            )  # fmt: skip
    return found


def faults(tx: Tx) -> list[str]:
    """Every inconsistency of the accounts and the ledger, in words. Reads the whole ledger."""
    settled, reserved = _lines(tx)
    found = [_in_words(each) for each in _differing(tx, settled, reserved)]
    known = {row.id for row in _booked(tx)}
    named = settled.keys() | reserved.keys()
    found += [f"lines name the account `{name}`, which does not exist" for name in sorted(named - known)]
    found += [
        f"`{row.id}` has {usd(row.settled_microusd)} spent and {usd(row.reserved_microusd)} set aside under a limit of "
        f"{usd(row.limit_microusd)}, and is not frozen"
        for row in tx.rows(_OVER)
    ]
    found += [f"`{row.reservation_id}` was settled and never set aside" for row in tx.rows(_UNRESERVED)]
    return found


def size(tx: Tx) -> tuple[int, int]:
    """The numbers of accounts and lines."""
    return int(tx.rows(_ACCOUNTS_N)[0].n), int(tx.rows(_LINES_N)[0].n)


def _in_words(each: Difference) -> str:
    parts = [
        f"{_exact(says)} {what} and its lines {_exact(lines)} (a difference of {_exact(abs(says - lines))})"
        for what, says, lines in (
            ("spent", each.settled_microusd, each.lines_settled_microusd),
            ("set aside", each.reserved_microusd, each.lines_reserved_microusd),
        )
        if says != lines
    ]
    return f"`{each.account_id}` says {'; '.join(parts)}"


def _exact(microusd: int) -> str:
    return f"${microusd / MICRO:,.6f}"


def _lines(tx: Tx) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The sums of the lines for each account: settled and reserved."""
    settled: dict[str, int] = {}
    reserved: dict[str, int] = {}
    final: Any = tx.one(_LAST_RUN)
    after = ""
    while final.run_id is not None and after != final.run_id:
        page = tx.one(_END_OF_PAGE, {"after": after})
        here = {"after": after, "last": final.run_id if page is None else page.run_id}
        _add(settled, tx.rows(_SETTLED, here))
        _add(reserved, tx.rows(_RESERVED, here))
        after = here["last"]
    return settled, reserved


def _booked(tx: Tx) -> Iterator[Any]:
    after = ""
    while page := tx.rows(_BOOKED, {"after": after}):
        yield from page
        after = page[-1].id


def _add(sums: dict[str, int], rows: list[Any]) -> None:
    for row in rows:
        for account in json.loads(row.whose):
            sums[account] = sums.get(account, 0) + int(row.total)
