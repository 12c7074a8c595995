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
from interlock.store.tx import Tx

FEED = table(FeedEvent)
_f = FEED.c
_AFTER = sa.select(FEED).where(_f.id > b("after")).order_by(_f.id).limit(b("most"))
_LAST = sa.select(sa.func.max(_f.id).label("id"))
_PRUNE = sa.delete(FEED).where(_f.created_at < b("before", type_=UTCDateTime()))


def tell(
    tx: Tx, name: str, now: datetime, *, project_id: str, payload: Mapping[str, Any], channel_id: str | None = None
) -> None:
    """Adds an event; `channel_id` where only the members of that channel may see it."""
    tx.add(
        FeedEvent, name=name, project_id=project_id, channel_id=channel_id, payload=dict(payload), created_at=now
    )  # fmt: skip


def after(tx: Tx, event_id: int, most: int) -> Sequence[Any]:
    """Events with greater ids than that, in order; `most` at once."""
    return tx.rows(_AFTER, {"after": event_id, "most": most})


def last(tx: Tx) -> int:
    """The greatest id so far, 0 where there is none."""
    row = tx.one(_LAST)
    return (row.id or 0) if row is not None else 0


def prune(tx: Tx, before: datetime) -> int:
    """Forgets what is older; returns how many."""
    return tx.count(_PRUNE, {"before": before})
