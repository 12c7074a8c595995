"""Looks up rows by id or a part of one; resolving what a person meant is up to `desk.reading.finding`."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from interlock.store.schema import (
    Account,
    Agent,
    Alert,
    Approval,
    Deliverable,
    Grant,
    Lesson,
    Memory,
    MemoryBlock,
    Mission,
    Run,
    Task,
    table,
)
from interlock.store.tx import Tx

IDS: Mapping[str, sa.Column[Any]] = {
    "mission": table(Mission).c.id,
    "task": table(Task).c.id,
    "run": table(Run).c.id,
    "approval": table(Approval).c.id,
    "agent": table(Agent).c.id,
    "deliverable": table(Deliverable).c.id,
    "alert": table(Alert).c.id,
    "account": table(Account).c.id,
    "lesson": table(Lesson).c.id,
    "grant": table(Grant).c.id,
    "memory": table(Memory).c.id,
    "block": table(MemoryBlock).c.id,
}
"""The kinds of things that have ids."""


def exists(tx: Tx, kind: str, ident: str) -> bool:
    """Whether there is a row of `kind` with exactly this id."""
    return tx.one(sa.select(IDS[kind]).where(IDS[kind] == ident)) is not None


def alike(tx: Tx, kind: str, part: str, most: int) -> list[str]:
    """Ids of `kind` that begin or end with `part`, in order."""
    column = IDS[kind]
    fits = sa.or_(column.startswith(part, autoescape=True), column.endswith(part, autoescape=True))
    return [str(row[0]) for row in tx.rows(sa.select(column).where(fits).order_by(column).limit(most))]


def greatest(tx: Tx, kind: str, most: int) -> list[str]:
    """The last ids of `kind` in id order, which for most kinds is chronological."""
    column = IDS[kind]
    return [str(row[0]) for row in tx.rows(sa.select(column).order_by(column.desc()).limit(most))]
