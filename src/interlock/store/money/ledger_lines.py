"""Reads the ledger for people: the lines of an account, an agent or everything, with the change by each, in pages.

Read-only; whether the accounts are correct is checked in `balances`.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from interlock.store.schema import Agent, LedgerEntry, Run, Task, table
from interlock.store.tx import Tx

LEDGER = table(LedgerEntry)
_l, _r = LEDGER.c, LEDGER.alias("reserved").c
_BIG = sa.BigInteger()
_HELD = sa.func.coalesce(_r.amount_microusd, 0).label("held")
_RUNS, _TASKS = table(Run).c, table(Task).c


def _with_reserved(lines: sa.FromClause) -> sa.Join:
    """Lines with the reservation that each settles, which is of the same run."""
    of = lines.c
    same = sa.and_(_r.run_id == of.run_id, _r.reservation_id == of.reservation_id, _r.kind == "reserve")
    return lines.outerjoin(_r.id.table, sa.and_(of.kind == "settle", same))


_SUMS = sa.select(
    _l.kind,
    sa.func.count().label("n"),
    sa.cast(sa.func.sum(_l.amount_microusd), _BIG).label("amount"),
    sa.cast(sa.func.sum(_HELD), _BIG).label("held"),
    sa.cast(sa.func.sum(sa.case((_l.estimated, _l.amount_microusd), else_=0)), _BIG).label("estimated"),
).select_from(_with_reserved(LEDGER))


@dataclass(frozen=True, slots=True)
class Which:
    """Selects lines: those of an account, of an agent, of all agents of a persona in a project, or all."""

    account_id: str | None = None
    agent_id: str | None = None
    member_id: str | None = None

    @property
    def clause(self) -> sa.ColumnElement[bool]:
        """The selection as a condition."""
        if self.account_id is not None:
            named = sa.cast(_l.accounts, sa.String()).contains(f'"{self.account_id}"', autoescape=True)
            payers = self._payers(*self.account_id.split(":", 1))
            return named if payers is None else sa.and_(named, sa.or_(payers, _l.run_id.is_(None)))
        if self.member_id is not None:
            agents = sa.select(table(Agent).c.id).where(table(Agent).c.member_id == self.member_id)
            return _l.agent_id.in_(agents)
        return sa.true() if self.agent_id is None else _l.agent_id == self.agent_id

    @staticmethod
    def _payers(kind: str, owner: str) -> sa.ColumnElement[bool] | None:
        """Which runs may have spent from an account, where an index finds them; None for the accounts of days.

        A subagent of a task spends the task's money too: its run is of the same mission.
        """
        if kind == "run":
            return _l.run_id == owner
        if kind in ("mission", "learn"):
            return _l.run_id.in_(sa.select(_RUNS.id).where(_RUNS.mission_id == owner))
        if kind == "task":
            mission = sa.select(_TASKS.mission_id).where(_TASKS.id == owner).scalar_subquery()
            return _l.run_id.in_(sa.select(_RUNS.id).where(_RUNS.mission_id == mission))
        return None


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of lines, in micro-dollars; `reserved` is what is still reserved."""

    lines: int = 0
    settled: int = 0
    reserved: int = 0
    raised: int = 0
    estimated: int = 0
    """The part of `settled` that is estimated, not reported by the provider."""

    def after(self, line: Any) -> "Sums":
        """The sums with one more line."""
        amount = int(line.amount_microusd)
        settled = amount if line.kind == "settle" else 0
        aside = amount if line.kind == "reserve" else -int(line.held) if line.kind == "settle" else 0
        return Sums(
            self.lines + 1, self.settled + settled, self.reserved + aside,
            self.raised + (amount if line.kind == "raise" else 0), self.estimated + (settled if line.estimated else 0),
        )  # fmt: skip


def lines(tx: Tx, which: Which, most: int, after: str | None = None, *, newest: bool = False) -> list[Any]:
    """Lines in the order in which they were written, after a given one; with `newest`, the last ones.

    `held` is the amount that had been reserved for a settled call.
    """
    query = sa.select(LEDGER).where(which.clause)
    if after is not None:
        query = query.where(sa.not_(_until(tx, after)))
    order = (_l.created_at.desc(), _l.id.desc()) if newest else (_l.created_at, _l.id)
    page = query.order_by(*order).limit(most).subquery("page")
    return tx.rows(sa.select(page, _HELD).select_from(_with_reserved(page)).order_by(page.c.created_at, page.c.id))


def sums(tx: Tx, which: Which, until: str | None = None) -> Sums:
    """The sums of the lines; with `until`, of those up to that one."""
    query = _SUMS.where(which.clause).group_by(_l.kind)
    found = {row.kind: row for row in tx.rows(query if until is None else query.where(_until(tx, until)))}

    def of(kind: str, name: str) -> int:
        return int(getattr(found[kind], name) or 0) if kind in found else 0

    return Sums(
        sum(row.n for row in found.values()), of("settle", "amount"), of("reserve", "amount") - of("settle", "held"),
        of("raise", "amount"), of("settle", "estimated"),
    )  # fmt: skip


def exists(tx: Tx, line_id: str) -> bool:
    """Whether there is a line with this id."""
    return tx.one(sa.select(_l.id).where(_l.id == line_id)) is not None


def _until(tx: Tx, line_id: str) -> sa.ColumnElement[bool]:
    row: Any = tx.one(sa.select(_l.created_at, _l.id).where(_l.id == line_id))
    assert row is not None
    earlier = _l.created_at < row.created_at
    return sa.or_(earlier, sa.and_(_l.created_at == row.created_at, _l.id <= row.id))
