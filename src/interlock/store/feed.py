"""What those who watch are told, as rows: written in the transaction that makes it so, read from an id on.

What is told only while it happens has no row; who may see what is the reader's business.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import FeedEvent, table
from interlock.store.tx import Tx, small

FEED = table(FeedEvent)
_f = FEED.c
_BEFORE = b("before", type_=UTCDateTime())
EVERYWHERE = ""
"""Project of what concerns them all."""
BITE = 2_000
_AFTER = sa.select(FEED).where(_f.id > b("after")).order_by(_f.id).limit(b("most"))
_UP_TO = sa.select(FEED).where(_f.id > b("after"), _f.id <= b("last")).order_by(_f.id).limit(b("most"))
_LAST = sa.select(sa.func.max(_f.id).label("id"))
_FIRST = sa.select(_f.id, _f.created_at).order_by(_f.id).limit(1)
_KEPT = sa.select(sa.func.max(_f.id)).where(_f.created_at < _BEFORE).scalar_subquery()
_OLD = sa.select(_f.id).where(_f.created_at < _BEFORE, _f.id < _KEPT).order_by(_f.id).limit(b("most"))
_PRUNE = sa.delete(FEED).where(_f.id.in_(_OLD.scalar_subquery()))
_PART = b("part", type_=sa.Text())
_HAS_PART = sa.func.replace(sa.cast(_f.payload, sa.Text), _PART, "") != sa.cast(_f.payload, sa.Text)
"""Not by LIKE, to which a percent sign in a name says something else."""
_GREATEST = sa.select(sa.func.max(_f.id)).scalar_subquery()
_FORGET = sa.delete(FEED).where(_HAS_PART, _f.id < _GREATEST)
_EMPTY = sa.update(FEED).where(_HAS_PART).values(payload=b("nothing", type_=_f.payload.type))
_WRITERS = sa.text(
    "SELECT virtualtransaction AS writer FROM pg_locks WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND relation = CAST('feed' AS regclass)"
).columns(writer=sa.String())


def tell(
    tx: Tx, name: str, now: datetime, *, project_id: str, payload: Mapping[str, Any], channel_id: str | None = None
) -> None:
    """Adds an event; `channel_id` where only the members of that channel may see it."""
    tx.add(
        FeedEvent, name=name, project_id=project_id, channel_id=channel_id, payload=dict(payload), created_at=now
    )  # fmt: skip
    tx.wake = True


@small
def after(tx: Tx, event_id: int, most: int) -> Sequence[Any]:
    """Events with greater ids than that, in order; `most` at once."""
    return tx.rows(_AFTER, {"after": event_id, "most": most})


def between(tx: Tx, event_id: int, last_id: int, most: int) -> Sequence[Any]:
    """Events with greater ids than the first and none above the last, in order; `most` at once."""
    return tx.rows(_UP_TO, {"after": event_id, "last": last_id, "most": most})


@small
def last(tx: Tx) -> int:
    """The greatest id so far, 0 where there is none."""
    row = tx.one(_LAST)
    return (row.id or 0) if row is not None else 0


def has_forgotten(tx: Tx, event_id: int, before: datetime) -> bool:
    """Whether events after that id may have been pruned, if what is older than `before` has been.

    The last of what was pruned is kept, so that it shows.
    """
    row = tx.one(_FIRST)
    return row is not None and row.id > event_id + 1 and row.created_at < before


def writers(tx: Tx) -> frozenset[str]:
    """Transactions at work that may have taken ids which nobody can see yet.

    On PostgreSQL ids are given out in order and become visible at the commits, in another one. Whoever writes here
    holds a lock on the table from before it takes an id. On SQLite there is one writer, and nothing to wait for.
    """
    if tx.dialect != "postgresql":
        return frozenset()
    return frozenset(row.writer for row in tx.rows(_WRITERS))


def prune(tx: Tx, before: datetime, most: int = BITE) -> int:
    """Forgets what is older, `most` at once; returns how many. The last of it stays, so that no id is given twice."""
    return tx.count(_PRUNE, {"before": before, "most": most})


def forget(tx: Tx, part: str) -> None:
    """Forgets the events in which a text stands. The last event of all stays, empty, so that no id is given twice."""
    if part:
        tx.run(_FORGET, {"part": part})
        tx.run(_EMPTY, {"part": part, "nothing": {}})
