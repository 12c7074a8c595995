"""The event feed: rows written in the transaction of the change, read from an id onwards.

Transient events have no rows; who may see an event is up to the reader.
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
"""The project id of events that concern all projects."""
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
"""Not by LIKE, since a name may contain a percent sign."""
_GREATEST = sa.select(sa.func.max(_f.id)).scalar_subquery()
_FORGET = sa.delete(FEED).where(_HAS_PART, _f.id < _GREATEST)
_EMPTY = sa.update(FEED).where(_HAS_PART).values(payload=b("nothing", type_=_f.payload.type))
_WRITERS = sa.text(
    "SELECT virtualtransaction AS writer FROM pg_locks WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND relation = CAST('feed' AS regclass)"
).columns(writer=sa.String())


def append(
    tx: Tx, name: str, now: datetime, *, project_id: str, payload: Mapping[str, Any], channel_id: str | None = None
) -> None:
    """Adds an event; `channel_id` if only that channel's members may see it."""
    tx.add(
        FeedEvent, name=name, project_id=project_id, channel_id=channel_id, payload=dict(payload), created_at=now
    )  # fmt: skip
    tx.wake = True


@small
def after(tx: Tx, event_id: int, most: int) -> Sequence[Any]:
    """Up to `most` events with ids greater than `event_id`, in order."""
    return tx.rows(_AFTER, {"after": event_id, "most": most})


def between(tx: Tx, event_id: int, last_id: int, most: int) -> Sequence[Any]:
    """Up to `most` events with ids greater than `event_id`, up to `last_id`, in order."""
    return tx.rows(_UP_TO, {"after": event_id, "last": last_id, "most": most})


@small
def last(tx: Tx) -> int:
    """The greatest id so far; 0 if there is none."""
    row = tx.one(_LAST)
    return (row.id or 0) if row is not None else 0


def has_forgotten(tx: Tx, event_id: int, before: datetime) -> bool:
    """Whether events after that id may have been pruned, given that events older than `before` are.

    The last of the pruned events is kept as evidence.
    """
    row = tx.one(_FIRST)
    return row is not None and row.id > event_id + 1 and row.created_at < before


def writers(tx: Tx) -> frozenset[str]:
    """Open transactions that may have taken ids that are not visible yet.

    PostgreSQL assigns ids in order, but they become visible in the order of the commits. A writer holds a lock on the
    table from before it takes an id. SQLite has only one writer, so nothing has to be waited for.
    """
    if tx.dialect != "postgresql":
        return frozenset()
    return frozenset(row.writer for row in tx.rows(_WRITERS))


def prune(tx: Tx, before: datetime, most: int = BITE) -> int:
    """Deletes up to `most` older events; returns how many. The newest of them stays, so that no id is reused."""
    return tx.count(_PRUNE, {"before": before, "most": most})


def forget(tx: Tx, part: str) -> None:
    """Deletes the events that contain a text. The newest event of all stays, emptied, so that no id is reused."""
    if part:
        tx.run(_FORGET, {"part": part})
        tx.run(_EMPTY, {"part": part, "nothing": {}})
