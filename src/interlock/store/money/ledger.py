"""The ledger: limits, money reserved before a call, money spent after it; in integer micro-dollars.

The doors are `reserve()` and `settle()`. How much a call may cost is computed in `policy.budgets`.
INVARIANT: settled plus reserved never exceeds a limit, unless a provider bills more than the worst case; that is
recorded, and freezes the account.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import InterlockError
from interlock.core.ids import new_id
from interlock.core.values import usd
from interlock.store.auditing import audit
from interlock.store.schema import Account, LedgerEntry, Member, Run, Task, table
from interlock.store.tx import Tx

ACCOUNTS, LEDGER, MEMBERS = table(Account), table(LedgerEntry), table(Member)
RUNS, TASKS = table(Run), table(Task)
_acc, _led = ACCOUNTS.c, LEDGER.c
_BIG = sa.BigInteger()

_ACCOUNT = sa.select(ACCOUNTS).where(_acc.id == b("account"))
_DAY = sa.literal("agent_day:", sa.String()) + MEMBERS.c.id + sa.literal(":", sa.String()) + b("day", type_=sa.String())
_OF_MEMBERS = (
    sa.select(ACCOUNTS).join_from(MEMBERS, ACCOUNTS, _acc.id == _DAY).where(MEMBERS.c.project_id == b("project"))
)
_LOCKED = _ACCOUNT.with_for_update()
_SETTLED = _led.reservation_id.in_(
    sa.select(_led.reservation_id).where(_led.run_id == b("run_"), _led.kind == "settle")
)
_OPEN = sa.select(LEDGER).where(_led.run_id == b("run_"), _led.kind == "reserve", sa.not_(_SETTLED)).order_by(_led.id)
_OF_RUN = (
    sa.select(LEDGER)
    .where(_led.run_id == b("run_"))
    .order_by(_led.created_at, _led.step_number, _led.attempt, _led.kind, _led.id)
)
_SPENT = (
    sa.update(RUNS).where(RUNS.c.id == b("run_")).values(cost_microusd=RUNS.c.cost_microusd + b("amount", type_=_BIG))
)
ATTEMPTS = sa.select(sa.func.coalesce(sa.func.max(_led.attempt), 0).label("attempts")).where(
    _led.run_id == b("run_"), _led.step_number == b("step"), _led.kind == "reserve"
)
SHARED = frozenset({"project_day", "agent_day", "mission"})
_SHARED = sa.text("accounts.kind IN ('project_day', 'agent_day', 'mission')")
"""Leaves out the many accounts of single runs and tasks; worded as in the partial index."""
_GOES_ON = sa.or_(_acc.pause_at_microusd.is_(None), _acc.settled_microusd <= _acc.pause_at_microusd)


OVERBILLED = "OVERBILLED"
"""The kind of an alert: a provider billed more than the worst case."""


class OverBudget(InterlockError):
    """A reservation that does not fit under every limit."""

    exit_code = 4

    def __init__(self, accounts: Sequence[str], need_microusd: int) -> None:
        super().__init__()
        self.accounts, self.need_microusd = tuple(accounts), need_microusd

    def __str__(self) -> str:
        return f"{usd(self.need_microusd)} does not fit under the limits of {', '.join(self.accounts)}"


@dataclass(frozen=True, slots=True)
class Opening:
    """An account that should exist, and its limit if it is new."""

    id: str
    kind: str
    owner_id: str
    project_id: str
    limit_microusd: int


@dataclass(frozen=True, slots=True)
class Spender:
    """For whom and from which accounts a run spends. `accounts` are ids in sorted order."""

    run_id: str
    agent_id: str
    task_id: str | None
    mission_id: str | None
    project_id: str
    accounts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shortage:
    """An account without enough room for `need_microusd`.

    `final` means that the settled amount plus the need exceeds the limit; otherwise only others' open reservations are
    in the way, and waiting for them helps.
    """

    account_id: str
    kind: str
    limit_microusd: int
    settled_microusd: int
    reserved_microusd: int
    frozen: bool
    final: bool
    line_microusd: int | None = None
    """The amount at which a person is asked, if it is exceeded while there is room below the limit. Source: row D5."""


_past = (
    sa.select(ACCOUNTS)
    .join_from(TASKS, ACCOUNTS, _acc.id == sa.literal("mission:", sa.String()) + TASKS.c.id)
    .where(_acc.settled_microusd > _acc.pause_at_microusd)
)
_PAST = (
    _past.where(TASKS.c.ended_at.is_(None)),
    _past.where(TASKS.c.status.in_(("DONE", "CANCELED")), TASKS.c.updated_at >= b("since", type_=UTCDateTime())),
)


@cache
def _ids(count: int) -> list[sa.BindParameter[Any]]:
    return [b(f"account_{i}", type_=sa.String()) for i in range(count)]


@cache
def _hold(count: int) -> sa.Update:
    worst = b("worst", type_=_BIG)
    fits = _acc.settled_microusd + _acc.reserved_microusd + worst <= _acc.limit_microusd
    return (
        sa.update(ACCOUNTS)
        .where(_acc.id.in_(_ids(count)), fits, sa.not_(_acc.frozen), _GOES_ON)
        .values(reserved_microusd=_acc.reserved_microusd + worst)
    )


@cache
def _book(count: int) -> sa.Update:
    return (
        sa.update(ACCOUNTS)
        .where(_acc.id.in_(_ids(count)))
        .values(
            reserved_microusd=_acc.reserved_microusd - b("worst", type_=_BIG),
            settled_microusd=_acc.settled_microusd + b("amount", type_=_BIG),
        )
    )


@cache
def _freeze(count: int) -> sa.Update:
    over = _acc.settled_microusd + _acc.reserved_microusd > _acc.limit_microusd
    return sa.update(ACCOUNTS).where(_acc.id.in_(_ids(count)), over).values(frozen=True)


def _named(accounts: Sequence[str]) -> dict[str, Any]:
    return {f"account_{i}": account for i, account in enumerate(accounts)}


def open_accounts(tx: Tx, openings: Iterable[Opening], now: datetime) -> None:
    """Creates the accounts that do not exist yet; existing ones keep their limits."""
    rows = [
        {
            "id": o.id, "kind": o.kind, "owner_id": o.owner_id, "project_id": o.project_id,
            "limit_microusd": o.limit_microusd, "created_at": now,
        }
        for o in openings
    ]  # fmt: skip
    tx.add_many(Account, rows, new=True)


def reserve(
    tx: Tx, spender: Spender, *, step: int, attempt: int, model: str, worst_microusd: int, now: datetime
) -> str:
    """Reserves the worst-case cost of one attempt of a model call in every account; returns the reservation's id.

    Raises OverBudget if it does not fit; then nothing has changed.
    """
    reservation = f"{spender.run_id}:{step}:{attempt}"
    named = _named(spender.accounts)
    count = len(spender.accounts)
    tx.must(_hold(count), {**named, "worst": worst_microusd}, count, OverBudget(spender.accounts, worst_microusd))
    _line(tx, "reserve", reservation, spender, step, attempt, model, worst_microusd, now)
    return reservation


def settle(
    tx: Tx,
    spender: Spender,
    *,
    step: int,
    attempt: int,
    model: str,
    worst_microusd: int,
    actual_microusd: int,
    now: datetime,
    estimated: bool = False,
) -> None:
    """Books the real cost of a reserved call and releases the rest.

    A cost above the worst case is booked in full, and freezes each account that it takes over its limit.
    """
    reservation = f"{spender.run_id}:{step}:{attempt}"
    named = _named(spender.accounts)
    count = len(spender.accounts)
    amounts = {**named, "worst": worst_microusd, "amount": actual_microusd}
    tx.must(_book(count), amounts, count, OverBudget(spender.accounts, actual_microusd))
    if actual_microusd > worst_microusd:
        tx.run(_freeze(count), named)
        _tell_overbilled(tx, spender, model, worst_microusd, actual_microusd, now)
    _line(tx, "settle", reservation, spender, step, attempt, model, actual_microusd, now, estimated=estimated)


def _tell_overbilled(tx: Tx, spender: Spender, model: str, worst: int, actual: int, now: datetime) -> None:
    shut = [name for name in spender.accounts if getattr(tx.one(_ACCOUNT, {"account": name}), "frozen", False)]
    frozen = (
        f"; frozen: {', '.join(shut)}; once you know why, `interlock budget set ACCOUNT USD` lets it go on"
        if shut else "; correct its price"
    )  # fmt: skip
    audit.alert(
        tx, now, project_id=spender.project_id, severity="critical" if shut else "warning", kind=OVERBILLED,
        subject=model, key=f"overbilled:{model}:{','.join(shut)}",
        text=f"a call of `{model}` cost {usd(actual)}, more than the {usd(worst)} it can cost by its price{frozen}",
    )  # fmt: skip


def count(tx: Tx, run_id: str, amount_microusd: int) -> None:
    """Adds an amount that was settled outside a step to the run's cost."""
    if amount_microusd:
        tx.run(_SPENT, {"run_": run_id, "amount": amount_microusd})


def charge_open(tx: Tx, run_id: str, now: datetime, actual_microusd: int | None = None) -> int:
    """Settles the reservations that a run left open, marked as estimated; returns the sum in micro-dollars.

    Each is charged in full, since nobody knows what a process spent that died, or at `actual_microusd` if given.
    """
    total = 0
    for line in tx.rows(_OPEN, {"run_": run_id}):
        spender = Spender(
            run_id, line.agent_id, line.task_id, line.mission_id, line.project_id, tuple(line.accounts)
        )  # fmt: skip
        amount = line.amount_microusd if actual_microusd is None else actual_microusd
        settle(
            tx, spender, step=line.step_number, attempt=line.attempt, model=line.model, now=now,
            estimated=amount > 0, worst_microusd=line.amount_microusd, actual_microusd=amount,
        )  # fmt: skip
        total += amount
    count(tx, run_id, total)
    return total


def charged_whole(tx: Tx, run_id: str) -> int:
    """What a run was charged, in micro-dollars, for calls whose process died: the worst case, as nobody knows more."""
    reserved = {line.reservation_id: line.amount_microusd for line in lines(tx, run_id) if line.kind == "reserve"}
    return sum(
        line.amount_microusd
        for line in lines(tx, run_id)
        if line.kind == "settle" and line.estimated and line.amount_microusd == reserved.get(line.reservation_id)
    )


def lines(tx: Tx, run_id: str) -> list[Any]:
    """The ledger of a run in order."""
    return tx.rows(_OF_RUN, {"run_": run_id})


def shortages(tx: Tx, accounts: Sequence[str], need_microusd: int) -> list[Shortage]:
    """The accounts that have no room for an amount, and whether waiting can help."""
    out = []
    for account in accounts:
        row = tx.one(_ACCOUNT, {"account": account})
        if row is None:
            continue
        taken, paused = row.settled_microusd + need_microusd, is_paused(row)
        if row.frozen or paused or taken + row.reserved_microusd > row.limit_microusd:
            over = row.frozen or taken > row.limit_microusd
            out.append(
                Shortage(
                    row.id, row.kind, row.limit_microusd, row.settled_microusd, row.reserved_microusd, row.frozen,
                    final=over or paused, line_microusd=row.pause_at_microusd if paused and not over else None,
                )
            )  # fmt: skip
    return out


def is_paused(row: Any) -> bool:
    """Whether an account has exceeded the amount at which a person is asked. Source: row D5."""
    return row.pause_at_microusd is not None and row.settled_microusd > row.pause_at_microusd


def room(tx: Tx, accounts: Sequence[str], *, settled_only: bool = False) -> int:
    """The least amount left in any of the accounts, in micro-dollars; `settled_only` ignores reservations."""
    left = []
    for account in accounts:
        row = tx.one(_ACCOUNT, {"account": account})
        if row is not None:
            left.append(left_in(row, settled_only=settled_only))
    return min(left, default=0)


def left_in(row: Any, *, settled_only: bool = False) -> int:
    """The amount left in one account, in micro-dollars; nothing while it is frozen or waits for a person."""
    taken = row.settled_microusd + (0 if settled_only else row.reserved_microusd)
    return 0 if row.frozen or is_paused(row) else max(0, int(row.limit_microusd) - int(taken))


def of_members(tx: Tx, project_id: str, day: str) -> dict[str, Any]:
    """What the members of a project may spend on a day: the accounts that were opened so far, by member."""
    return {row.owner_id: row for row in tx.rows(_OF_MEMBERS, {"project": project_id, "day": day})}


def lock(tx: Tx, account_id: str) -> Any | None:
    """One account, locked until the end of this transaction."""
    return tx.one(_LOCKED, {"account": account_id})


def past_their_line(tx: Tx, since: datetime) -> list[Any]:
    """Accounts of missions not ended before `since` that exceed the amount at which a person is asked."""
    return [row for each in _PAST for row in tx.rows(each, {"since": since})]


def account(tx: Tx, account_id: str) -> Any | None:
    """One account."""
    return tx.one(_ACCOUNT, {"account": account_id})


def some(tx: Tx, account_ids: Sequence[str]) -> list[Any]:
    """The accounts with these ids, as far as they exist."""
    return tx.rows(sa.select(ACCOUNTS).where(_acc.id.in_(list(account_ids)))) if account_ids else []


def accounts(tx: Tx, *, kinds: Sequence[str] | None = None, most: int | None = None) -> list[Any]:
    """Accounts by kind, newest first; those of days and missions are found without reading those of tasks and runs."""
    query = sa.select(ACCOUNTS).order_by(_acc.created_at.desc(), _acc.id).limit(most)
    if kinds is not None:
        query = query.where(_acc.kind.in_(list(kinds)))
        query = query.where(_SHARED) if SHARED.issuperset(kinds) else query
    return tx.rows(query)


def _line(
    tx: Tx,
    kind: str,
    reservation: str,
    spender: Spender,
    step: int,
    attempt: int,
    model: str,
    amount: int,
    now: datetime,
    *,
    estimated: bool = False,
) -> None:
    tx.add(
        LedgerEntry,
        id=new_id("led"),
        kind=kind,
        reservation_id=reservation,
        run_id=spender.run_id,
        step_number=step,
        attempt=attempt,
        agent_id=spender.agent_id,
        task_id=spender.task_id,
        mission_id=spender.mission_id,
        project_id=spender.project_id,
        model=model,
        accounts=list(spender.accounts),
        amount_microusd=amount,
        estimated=estimated,
        created_at=now,
    )
