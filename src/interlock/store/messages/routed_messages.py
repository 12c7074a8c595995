"""Recently routed messages of people, and their outcomes; routing is in `desk.chats.routing`."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import Run, table
from interlock.store.tx import Tx

RUNS = table(Run)
MOST = 50
_r = RUNS.c
_SAID = (
    sa.select(_r.id, _r.kind, _r.payload, _r.created_at)
    .where(
        _r.created_at >= b("since", type_=UTCDateTime()),
        _r.kind.in_(("chat", "route")),
        _r.cause_kind == "message",
        _r.cause_id == b("who"),
    )
    .order_by(_r.created_at.desc(), _r.id.desc())
    .limit(MOST)
)
_BY_KEY = sa.select(_r.id).where(_r.idempotency_key == b("key"))


def said_by(tx: Tx, person_id: str, since: datetime) -> list[Any]:
    """The runs of a person's messages since a time, newest first."""
    return tx.rows(_SAID, {"who": person_id, "since": since})


def by_key(tx: Tx, key: str) -> str | None:
    """The id of the run with an idempotency key."""
    found = tx.one(_BY_KEY, {"key": key})
    return None if found is None else str(found.id)
