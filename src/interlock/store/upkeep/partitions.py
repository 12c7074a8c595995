"""The monthly partitions of steps, messages and activities on PostgreSQL: listing and creating them.

Dropping them is in `retention`. On SQLite, which has none, everything here is a no-op.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import sqlalchemy as sa

from interlock.store.tx import Tx

OF_RUNS = ("run_steps", "run_messages")
"""The partitioned tables whose rows belong to runs."""
TABLES = (*OF_RUNS, "activities")
"""All partitioned tables, by `created_at`."""
MONTHS_AHEAD = 3
_PARTS = sa.text(
    "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i"
    " JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(:parent) ORDER BY c.relname"
).columns(relname=sa.String(), bound=sa.String())
_BOUNDS = re.compile(r"FROM \((?:MINVALUE|'(?P<start>[^']+)')\) TO \('(?P<stop>[^']+)'\)")
LOCK_S = 0.02
"""How long a change of tables waits for its exclusive lock, since everybody else queues up behind it. A unit that times
out is retried.
"""
SHORT_WAIT = sa.text(f"SET LOCAL lock_timeout = '{LOCK_S * 1000:.0f}ms'")
_MOVE = (
    "WITH later AS (DELETE FROM {name}_default WHERE created_at >= '{start}' AND created_at < '{stop}' RETURNING *)"
    " INSERT INTO {part} SELECT * FROM later"
)
_ATTACH = "ALTER TABLE {name} ATTACH PARTITION {part} FOR VALUES FROM ('{start}') TO ('{stop}')"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: rows from `start` (None: unbounded) to before `stop`."""

    name: str
    start: datetime | None
    stop: datetime


def partitions(tx: Tx, name: str) -> list[Partition]:
    """The partitions of a table in chronological order, without the default one; none on SQLite."""
    if tx.dialect != "postgresql":
        return []
    found = ((row.relname, _BOUNDS.search(row.bound)) for row in tx.rows(_PARTS, {"parent": name}))
    parts = [Partition(part, _time(bound["start"]), _moment(bound["stop"])) for part, bound in found if bound]
    return sorted(parts, key=lambda part: part.stop)


def ensure(tx: Tx, now: datetime, months: int = MONTHS_AHEAD) -> str | None:
    """Creates the first missing partition of this month and the `months` after it, if any; returns its name.

    Rows that went to the default partition meanwhile are moved to it. Only one at a time, since the table cannot be
    read from the attachment until the commit.
    """
    for name in TABLES if tx.dialect == "postgresql" else ():
        there = partitions(tx, name)
        for start, stop in _months(now, months + 1):
            if not any((part.start is None or part.start <= start) and stop <= part.stop for part in there):
                return _make(tx, name, start, stop)
    return None


def _make(tx: Tx, name: str, start: datetime, stop: datetime) -> str:
    """INVARIANT: the partition gets no foreign key to `runs` of its own: to merge it with the table's, PostgreSQL would
    lock `runs` exclusively, even against readers.
    """
    part = f"{name}_{start:%Y_%m}"
    words = {"name": name, "part": part, "start": start.isoformat(), "stop": stop.isoformat()}
    tx.run(SHORT_WAIT)
    for statement in ("CREATE TABLE {part} (LIKE {name} INCLUDING ALL)", _MOVE, _ATTACH):
        tx.run(_literal(statement.format(**words)))
    return part


def _months(now: datetime, count: int) -> Iterator[tuple[datetime, datetime]]:
    at = now.astimezone(UTC)
    firsts = [datetime(*_later(at.year, at.month, i), 1, tzinfo=UTC) for i in range(count + 1)]
    yield from pairwise(firsts)


def _later(year: int, month: int, later: int) -> tuple[int, int]:
    years, index = divmod(month - 1 + later, 12)
    return year + years, index + 1


def _literal(statement: str) -> sa.TextClause:
    """A statement from internal names and times; colons in times are escaped."""
    return sa.text(statement.replace(":", "\\:"))


def _time(text: str | None) -> datetime | None:
    return None if text is None else _moment(text)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
