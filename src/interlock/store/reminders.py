"""Reminders of open questions, as alerts.

The period, and the text of a reminder, are defined in `oversight.reminders`.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import Alert, Approval, table
from interlock.store.tx import Tx

APPROVALS, ALERTS = table(Approval), table(Alert)
_a, _al = APPROVALS.c, ALERTS.c
_TIME = UTCDateTime()
KIND = "APPROVAL_WAITS"
"""The kind of reminder alerts; their subject is the approval."""
_WAITS = sa.and_(
    _a.status == sa.text("'pending'"),
    sa.func.coalesce(_a.reminded_at, _a.created_at) <= b("before", type_=_TIME),
)
_DUE = sa.select(_a.id).where(_WAITS).order_by(_a.created_at, _a.id)
_REMIND = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _WAITS)
    .values(reminded_at=b("now", type_=_TIME))
    .returning(*APPROVALS.columns)
)
_SEEN = {"acked_at": b("now", type_=_TIME), "acked_by": b("who"), "dedup_key": _al.dedup_key + ":" + _al.id}
_EARLIER = sa.update(ALERTS).where(_al.kind == KIND, _al.subject == b("approval"), _al.acked_at.is_(None)).values(_SEEN)
_ANSWERED = sa.and_(
    _al.kind == KIND,
    _al.acked_at.is_(None),
    sa.exists().where(_a.id == _al.subject, _a.status != sa.text("'pending'")),
)
_IDLE = sa.select(_al.id).where(_ANSWERED).limit(1)
_CLOSE = sa.update(ALERTS).where(_ANSWERED).values(_SEEN)


def due(tx: Tx, before: datetime) -> list[str]:
    """Ids of the open questions that were neither asked nor reminded of since `before`."""
    return [row.id for row in tx.rows(_DUE, {"before": before})]


def remind(tx: Tx, approval_id: str, before: datetime, now: datetime, who: str) -> Any | None:
    """Records a reminder of a question, replacing the previous one.

    Returns the question; None if it was answered or reminded of in the meantime.
    """
    row = tx.one(_REMIND, {"approval": approval_id, "before": before, "now": now})
    if row is not None:
        tx.run(_EARLIER, {"approval": approval_id, "now": now, "who": who})
    return row


def any_idle(tx: Tx) -> bool:
    """Whether there is an open reminder of a closed question."""
    return tx.one(_IDLE) is not None


def close(tx: Tx, now: datetime, who: str) -> None:
    """Closes the reminders of closed questions."""
    tx.run(_CLOSE, {"now": now, "who": who})
