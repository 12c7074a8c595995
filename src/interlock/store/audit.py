"""The audit log and the alerts: what happened, and what a person should know.

Chaining and delivery of them are not here.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.ids import new_id
from interlock.core.values import SYSTEM, Actor
from interlock.store import outbox
from interlock.store.schema import Activity, Alert, table
from interlock.store.tx import Tx, observe

ACTIVITIES, ALERTS = table(Activity), table(Alert)
_a, _al = ACTIVITIES.c, ALERTS.c
_OPEN_ALERT = sa.select(_al.id).where(_al.dedup_key == b("key"))
_OPEN_ABOUT = (
    sa.select(_al.id).where(_al.kind == b("sort"), _al.subject == b("about"), _al.acked_at.is_(None)).order_by(_al.id)
)
_ONE = sa.select(ALERTS).where(_al.id == b("alert"))
_LAST = sa.select(_a.id, _a.action, _a.run_id, _a.subject, _a.data).order_by(_a.id.desc()).limit(1000).subquery()
_RECENT = sa.select(_LAST).where(_LAST.c.action == b("what")).order_by(_LAST.c.id)
_COUNT_OPEN = sa.select(sa.func.count().label("n")).where(_al.kind == b("sort"), _al.acked_at.is_(None))
_ACK = (
    sa.update(ALERTS)
    .where(_al.id == b("alert"), _al.acked_at.is_(None))
    .values(acked_at=b("now", type_=_al.created_at.type), acked_by=b("who"), dedup_key=_al.dedup_key + ":" + _al.id)
)


def note(
    tx: Tx,
    /,
    action: str,
    actor: Actor,
    now: datetime,
    *,
    project_id: str,
    mission_id: str | None = None,
    task_id: str | None = None,
    run_id: str | None = None,
    subject: str | None = None,
    **data: Any,
) -> None:
    """Appends an activity."""
    tx.add(
        Activity,
        project_id=project_id,
        action=action,
        actor_kind=str(actor.kind),
        actor_id=actor.id,
        mission_id=mission_id,
        task_id=task_id,
        run_id=run_id,
        subject=subject,
        data=data,
        created_at=now,
    )
    observe(tx, action, mission_id=mission_id, task_id=task_id, run_id=run_id, subject=subject, **data)


def alert(
    tx: Tx, now: datetime, *, project_id: str, severity: str, kind: str, text: str, key: str, subject: str | None = None
) -> None:
    """Raises an alert, once for each `key` until somebody acknowledges it."""
    if tx.one(_OPEN_ALERT, {"key": key}) is not None:
        return
    alert_id = new_id("alt")
    tx.add(
        Alert, id=alert_id, project_id=project_id, severity=severity, kind=kind, subject=subject, text=text,
        dedup_key=key, created_at=now,
    )  # fmt: skip
    outbox.tell(tx, "alert", f"alert:{alert_id}", now, project_id=project_id)


def acknowledge(tx: Tx, alert_id: str, person_id: str, now: datetime) -> bool:
    """Marks an alert as seen; False where it does not exist or was seen before."""
    outbox.touch(tx, f"alert:{alert_id}")
    return tx.count(_ACK, {"alert": alert_id, "who": person_id, "now": now}) == 1


def settle(tx: Tx, kind: str, subject: str, now: datetime) -> None:
    """Marks the open alerts of a kind about a subject as seen: what they tell of has passed by itself."""
    for row in tx.rows(_OPEN_ABOUT, {"sort": kind, "about": subject}):
        acknowledge(tx, row.id, SYSTEM.id, now)


def one(tx: Tx, alert_id: str) -> Any | None:
    """One alert."""
    return tx.one(_ONE, {"alert": alert_id})


def count_open(tx: Tx, kind: str) -> int:
    """How many alerts of a kind nobody has seen yet."""
    found: int = tx.rows(_COUNT_OPEN, {"sort": kind})[0].n
    return found


def alerts(tx: Tx, *, open_only: bool = True, most: int = 100) -> list[Any]:
    """Alerts, newest first."""
    query = sa.select(ALERTS).order_by(_al.created_at.desc()).limit(most)
    return tx.rows(query.where(_al.acked_at.is_(None)) if open_only else query)


def recent(tx: Tx, action: str) -> list[Any]:
    """What of a kind is among the last thousand activities, in order."""
    return tx.rows(_RECENT, {"what": action})


def activities(
    tx: Tx, *, mission_id: str | None = None, after: int = 0, action: str | None = None, most: int = 500
) -> list[Any]:
    """Activities in order, after an id."""
    query = sa.select(ACTIVITIES).where(_a.id > after).order_by(_a.id).limit(most)
    if mission_id is not None:
        query = query.where(_a.mission_id == mission_id)
    if action is not None:
        query = query.where(_a.action == action)
    return tx.rows(query)
