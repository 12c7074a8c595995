"""How SQLite would execute a statement, and whether it would scan a growing table; no test is here.

Plans do not depend on the contents of tables, because these are never analysed.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel

from interlock.store.drivers.statements import Statement, Statements

STAY_SMALL = frozenset(
    {
        "api_tokens", "block_holders", "capabilities", "channel_members", "channels", "chat_rounds", "controls",
        "grants", "identities", "known_tools", "leaders", "members", "memory_blocks", "meta", "people", "projects",
        "schedules", "workers",
    }
)  # fmt: skip
"""As many rows as there are people, personas, tools, rooms and processes; or rows that go when they are done with."""
GROWING = frozenset(SQLModel.metadata.tables) - STAY_SMALL
OF_OPEN_THINGS = (" = 'pending'", " IN ('pending'", " = 'created'", " = 'running'", " = 'waiting'", " = 'new'",
                  " IS NULL", "= 'room'", "= 'dead_letter'")  # fmt: skip
"""What the conditions of partial indexes say whose rows go out again, or are few for ever."""
NOT_OPEN = frozenset({"ix_audit_seals_live", "ix_memories_weight", "ix_tasks_roots"})
"""Partial indexes that grow, though their conditions look like those."""
BY_STATE = "ix_tasks_status_updated_at"
"""Nearly all tasks have ended, so that a state by itself may find too many: with it goes a time, or that they have not.
"""
BY_TIME = frozenset({"ix_alerts_created_at", "ix_approvals_created_at", "ix_missions_created_at", "ix_runs_created_at",
                     "ix_tasks_created_at", "ix_accounts_shared", "ix_runs_cancelled", "ix_runs_failed"})  # fmt: skip
"""By which the newest of a kind are found, where a statement wants so many of them and no more."""


def _holds_few(index: sa.Index) -> bool:
    where = str(index.dialect_options["sqlite"]["where"])
    return index.name not in NOT_OPEN and any(each in where for each in OF_OPEN_THINGS)


SMALL_INDEXES = frozenset(
    str(index.name) for table in SQLModel.metadata.tables.values() for index in table.indexes if _holds_few(index)
)


class Noting(Statements):
    """Compiles statements, and records which were requested."""

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect)
        self.noted: dict[str, Statement] = {}

    def of(self, core: sa.Executable) -> Statement:
        """The compiled form of a statement."""
        made = super().of(core)
        self.noted.setdefault(made.sql, made)
        return made


def plan(connection: sqlite3.Connection, sql: str) -> list[str]:
    """The steps of a plan."""
    told = connection.execute(f"EXPLAIN QUERY PLAN {sql}", (None,) * sql.count("?")).fetchall()
    return [step for *_, step in told]


def walks(connection: sqlite3.Connection, sql: str, *, newest: bool = False) -> list[str]:
    """The steps of a plan that scan a growing table, or build an index over one.

    With `newest`, a backward scan up to a limit is allowed.
    """
    names, steps = dict(_aliases(sql)), plan(connection, sql)
    by_state = [step for step in steps if step.endswith(f" {BY_STATE} (status=?)") and "ended_at IS NULL" not in sql]
    return [*by_state, *(step for step in steps if _is_walk(step, names, newest=newest and "LIMIT" in sql))]


def _aliases(sql: str) -> Iterator[tuple[str, str]]:
    words = sql.replace("(", " ").replace(")", " ").replace(",", " ").split()
    for at, word in enumerate(words[:-2]):
        if word in GROWING and words[at + 1] == "AS":
            yield words[at + 2], word


def _is_walk(step: str, aliases: dict[str, str], *, newest: bool) -> bool:
    words = step.split()
    if words[0] != "SCAN" or aliases.get(words[1], words[1]) not in GROWING:
        return "AUTOMATIC" in words
    index = words[-1] if "INDEX" in words else None
    return index not in SMALL_INDEXES and not (newest and index in BY_TIME)


def statements(value: object, name: str, depth: int = 0) -> Iterator[tuple[str, sa.Executable]]:
    """The selects, updates and deletes in a module's value, each with a name."""
    parts: Iterable[tuple[str, object]] = ()
    if isinstance(value, sa.Select | sa.Update | sa.Delete | sa.CompoundSelect):
        yield name, value
    elif depth < 3 and isinstance(value, tuple | list):
        parts = ((f"[{at}]", each) for at, each in enumerate(value))
    elif depth < 3 and isinstance(value, dict):
        parts = ((f"[{key}]", each) for key, each in value.items())
    for part, each in parts:
        yield from statements(each, name + part, depth + 1)
