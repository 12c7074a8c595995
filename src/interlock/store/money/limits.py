"""Changes of limits by people, recorded in the ledger with who and why; and thresholds at which a person is asked.

Spending under a limit is in `ledger`; who may change one is up to the desk.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.errors import Conflict
from interlock.core.ids import new_id
from interlock.core.values import usd
from interlock.store.money import ledger
from interlock.store.money.ledger import ACCOUNTS
from interlock.store.schema import LedgerEntry
from interlock.store.tx import Tx

_acc = ACCOUNTS.c
_BIG = sa.BigInteger()
_MORE = b("amount", type_=_BIG)
_TAKEN = _acc.settled_microusd + _acc.reserved_microusd
_PAUSED = sa.and_(_acc.pause_at_microusd.is_not(None), _acc.settled_microusd > _acc.pause_at_microusd)
_RAISE = (
    sa.update(ACCOUNTS)
    .where(_acc.id == b("account"))
    .values(
        limit_microusd=_acc.limit_microusd + _MORE,
        frozen=sa.and_(_acc.frozen, _acc.limit_microusd + _MORE < _TAKEN),
        pause_at_microusd=sa.case((_PAUSED, _acc.settled_microusd + _MORE), else_=_acc.pause_at_microusd),
    )
)
_SET = (
    sa.update(ACCOUNTS)
    .where(_acc.id == b("account"), b("most", type_=_BIG) >= _TAKEN)
    .values(
        limit_microusd=b("most", type_=_BIG),
        frozen=False,
        pause_at_microusd=sa.case((_PAUSED, None), else_=_acc.pause_at_microusd),
    )
)
_GO_ON = sa.update(ACCOUNTS).where(_acc.id == b("account")).values(pause_at_microusd=_acc.settled_microusd + _MORE)
_EXPECT = (
    sa.update(ACCOUNTS)
    .where(_acc.id == b("account"), sa.not_(_PAUSED))
    .values(pause_at_microusd=_acc.pause_at_microusd + _MORE)
)
_WATCH = sa.update(ACCOUNTS).where(_acc.id == b("account")).values(pause_at_microusd=b("line", type_=_BIG))


def raise_limit(
    tx: Tx, account_id: str, amount_microusd: int, person_id: str, now: datetime, words: str | None = None
) -> Any | None:
    """Raises a limit by an amount on behalf of a person; returns the account afterwards, None if there is none.

    A frozen account stays frozen until its limit covers what was billed. A threshold at which the account waits is
    raised by the same amount.
    """
    if ledger.lock(tx, account_id) is None:
        return None
    tx.run(_RAISE, {"account": account_id, "amount": amount_microusd})
    return _changed(tx, account_id, "raise", amount_microusd, person_id, words, now)


def set_limit(
    tx: Tx, account_id: str, limit_microusd: int, person_id: str, now: datetime, words: str | None = None
) -> Any | None:
    """Sets a limit on behalf of a person; releases an account that was frozen or waited at its threshold.

    Returns the account afterwards, None if there is none. Raises Conflict if more is already spent or reserved.
    """
    row = ledger.lock(tx, account_id)
    if row is None:
        return None
    taken = row.settled_microusd + row.reserved_microusd
    refused = Conflict(f"`{account_id}` has {usd(taken)} spent or set aside already: give that at least")
    tx.must(_SET, {"account": account_id, "most": limit_microusd}, 1, refused)
    return _changed(tx, account_id, "raise", limit_microusd - row.limit_microusd, person_id, words, now)


def go_on(
    tx: Tx, account_id: str, amount_microusd: int, person_id: str, now: datetime, words: str | None = None
) -> Any | None:
    """Raises the threshold of an account by an amount, within its limit, on behalf of a person."""
    if ledger.lock(tx, account_id) is None:
        return None
    tx.run(_GO_ON, {"account": account_id, "amount": amount_microusd})
    return _changed(tx, account_id, "go_on", amount_microusd, person_id, words, now)


def _changed(
    tx: Tx, account_id: str, kind: str, amount: int, person_id: str, words: str | None, now: datetime
) -> Any:  # fmt: skip
    row = ledger.account(tx, account_id)
    assert row is not None
    tx.add(
        LedgerEntry, id=new_id("led"), kind=kind, reservation_id=new_id("rse"), project_id=row.project_id,
        accounts=[account_id], amount_microusd=amount, note=f"{person_id} {words}" if words else person_id,
        created_at=now,
    )  # fmt: skip
    return row


def watch(tx: Tx, account_id: str, line_microusd: int) -> None:
    """Sets the threshold of an account: a person is asked once more than this is settled. Source: row D5."""
    tx.run(_WATCH, {"account": account_id, "line": line_microusd})


def expect_more(tx: Tx, account_id: str, amount_microusd: int) -> None:
    """Raises the threshold of an account, unless none is set, or it is past it and a person is asked."""
    tx.run(_EXPECT, {"account": account_id, "amount": amount_microusd})
