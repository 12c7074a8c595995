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
_DUE = sa.select(_a.id, _a.project_id).where(_WAITS).order_by(_a.created_at, _a.id)
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
MOST_EACH = 20
"""Where more questions of a project wait, one reminder tells of all of them."""
_OF_ALL = sa.and_(_al.kind == KIND, _al.acked_at.is_(None), _al.dedup_key == sa.literal(KIND + ":") + _al.project_id)
_WAITING = _a.status == sa.text("'pending'")
_BEYOND: sa.Select[Any] = (
    sa.select(sa.literal_column("1")).select_from(APPROVALS).where(_WAITING).offset(MOST_EACH).limit(1)
)
_MANY = _BEYOND.where(_a.project_id == b("project"))
_COUNTED = sa.select(sa.func.count().label("n"), sa.func.min(_a.created_at).label("since")).where(
    _WAITING, _a.project_id == b("project")
)
_FEW_LEFT = sa.and_(_OF_ALL, ~sa.exists(_BEYOND.where(_a.project_id == _al.project_id)))
_CALM = sa.select(_al.id).where(_FEW_LEFT).limit(1)
_CLOSE_CALM = sa.update(ALERTS).where(_FEW_LEFT).values(_SEEN)
_LATELY = sa.select(_al.id).where(_OF_ALL, _al.project_id == b("project"), _al.created_at > b("before", type_=_TIME))
_REPLACE = sa.update(ALERTS).where(_OF_ALL, _al.project_id == b("project")).values(_SEEN)


def due(tx: Tx, before: datetime) -> dict[str, list[str]]:
    """Ids of the open questions that were neither asked nor reminded of since `before`, by project, oldest first."""
    found: dict[str, list[str]] = {}
    for row in tx.rows(_DUE, {"before": before}):
        found.setdefault(row.project_id, []).append(row.id)
    return found


def are_many(tx: Tx, project_id: str) -> bool:
    """Whether so many questions of a project wait that one reminder tells of all."""
    return tx.one(_MANY, {"project": project_id}) is not None


def key_of_all(project_id: str) -> str:
    """The key of the reminder of all questions of a project."""
    return f"{KIND}:{project_id}"


def replace(tx: Tx, project_id: str, before: datetime, now: datetime, who: str) -> tuple[int, datetime] | None:
    """Closes the previous reminder of all questions of a project; returns how many wait, and since when.

    None if there was such a reminder since `before`, or nothing waits any more.
    """
    found: Any = tx.one(_COUNTED, {"project": project_id})
    if not found.n or tx.one(_LATELY, {"project": project_id, "before": before}) is not None:
        return None
    tx.run(_REPLACE, {"project": project_id, "now": now, "who": who})
    return int(found.n), found.since


def remind(tx: Tx, approval_id: str, before: datetime, now: datetime, who: str) -> Any | None:
    """Records a reminder of a question, replacing the previous one.

    Returns the question; None if it was answered or reminded of in the meantime.
    """
    row = tx.one(_REMIND, {"approval": approval_id, "before": before, "now": now})
    if row is not None:
        tx.run(_EARLIER, {"approval": approval_id, "now": now, "who": who})
    return row


def any_idle(tx: Tx) -> bool:
    """Whether there is an open reminder of a closed question, or one of all questions where few are left."""
    return tx.one(_IDLE) is not None or tx.one(_CALM) is not None


def close(tx: Tx, now: datetime, who: str) -> None:
    """Closes the reminders of closed questions, and those of all questions where few are left."""
    tx.run(_CLOSE, {"now": now, "who": who})
    tx.run(_CLOSE_CALM, {"now": now, "who": who})
