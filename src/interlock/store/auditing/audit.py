"""The audit log and alerts.

The hash chain is in `seals`, delivery in `outbox`.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.ids import new_id
from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.store.messages import feed, outbox
from interlock.store.schema import Activity, Alert, Meta, table
from interlock.store.tx import Tx, observe

TASK_WAITS = "task_waits"
"""The kind of an alert about a task that waits for an answer; it is settled when the task goes on."""
ACTIVITIES, ALERTS, _META = table(Activity), table(Alert), table(Meta)
_a, _al = ACTIVITIES.c, ALERTS.c
_OPEN_ALERT = sa.select(_al.id).where(_al.dedup_key == b("key"))
_OPEN_ABOUT = sa.select(_al.id).where(_al.kind == b("sort"), _al.subject == b("about"), _al.acked_at.is_(None))
_RAISED_ABOUT = sa.select(_al.id).where(_al.kind == b("sort"), _al.subject == b("about")).limit(1)
_ONE = sa.select(ALERTS).where(_al.id == b("alert"))
_LAST = sa.select(_a.id, _a.action, _a.run_id, _a.subject, _a.data).order_by(_a.id.desc()).limit(1000).subquery()
_RECENT = sa.select(_LAST).where(_LAST.c.action == b("what")).order_by(_LAST.c.id)
_COUNT_OPEN = sa.select(sa.func.count().label("n")).where(_al.kind == b("sort"), _al.acked_at.is_(None))
_RAISED = (
    sa.select(_al.id).where(_al.kind == b("sort"), _al.created_at >= b("since", type_=_al.created_at.type)).limit(1)
)
_RAISED_ABOUT_SINCE = (
    sa.select(_al.id)
    .where(
        _al.subject == b("about"), _al.kind == b("sort"), _al.created_at > b("since", type_=_al.created_at.type)
    )
    .limit(1)
)  # fmt: skip
_FACT = sa.select(_META.c.value).where(_META.c.key == b("fact"))
_FORGET_FACT = sa.delete(_META).where(_META.c.key == b("fact"))
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
    """Raises an alert; a no-op while an unacknowledged alert with the same `key` exists."""
    if tx.one(_OPEN_ALERT, {"key": key}) is not None:
        return
    alert_id = new_id("alt")
    tx.add(
        Alert, id=alert_id, project_id=project_id, severity=severity, kind=kind, subject=subject, text=text,
        dedup_key=key, created_at=now,
    )  # fmt: skip
    payload = {"alert_id": alert_id, "severity": severity, "kind": kind, "text": text, "subject": subject}
    feed.append(tx, "alert_raised", now, project_id=project_id, payload=payload)
    outbox.notify(tx, "alert", f"alert:{alert_id}", now, project_id=project_id)


def acknowledge(tx: Tx, alert_id: str, person_id: str, now: datetime) -> bool:
    """Acknowledges an alert; False if it does not exist or was acknowledged before."""
    outbox.touch(tx, f"alert:{alert_id}")
    return tx.count(_ACK, {"alert": alert_id, "who": person_id, "now": now}) == 1


def settle(tx: Tx, kind: str, subject: str, now: datetime, by: str = SYSTEM.id) -> None:
    """Acknowledges the open alerts of a kind about a subject, because their cause is gone."""
    for alert_id in sorted(row.id for row in tx.rows(_OPEN_ABOUT, {"sort": kind, "about": subject})):
        acknowledge(tx, alert_id, by, now)


def settle_one(tx: Tx, key: str, now: datetime, by: str) -> None:
    """Acknowledges the open alert that was raised with this `key`, if there is one."""
    row = tx.one(_OPEN_ALERT, {"key": key})
    if row is not None:
        acknowledge(tx, row.id, by, now)


def was_ever_raised(tx: Tx, kind: str, subject: str) -> bool:
    """Whether an alert of a kind about a subject was ever raised, acknowledged or not."""
    return tx.one(_RAISED_ABOUT, {"sort": kind, "about": subject}) is not None


def raised_about(tx: Tx, kind: str, subject: str, since: datetime) -> bool:
    """Whether there was an alert of a kind about a subject after a moment, seen or not."""
    return tx.one(_RAISED_ABOUT_SINCE, {"sort": kind, "about": subject, "since": since}) is not None


def one(tx: Tx, alert_id: str) -> Any | None:
    """One alert."""
    return tx.one(_ONE, {"alert": alert_id})


def count_open(tx: Tx, kind: str) -> int:
    """The number of unacknowledged alerts of a kind."""
    found: int = tx.rows(_COUNT_OPEN, {"sort": kind})[0].n
    return found


def was_raised(tx: Tx, kind: str, since: datetime) -> bool:
    """Whether an alert of a kind was raised since a time, acknowledged or not."""
    return tx.one(_RAISED, {"sort": kind, "since": since}) is not None


def note_change(tx: Tx, /, action: str, now: datetime, *, project_id: str, key: str, value: str, **data: Any) -> bool:
    """Appends an activity if a value differs from the last one recorded; returns whether it does."""
    row = tx.one(_FACT, {"fact": key})
    if row is not None and row.value == value:
        return False
    tx.run(_FORGET_FACT, {"fact": key})
    tx.add(Meta, key=key, value=value)
    note(tx, action, SYSTEM, now, project_id=project_id, former=row.value if row else None, value=value, **data)
    return True


def alerts(tx: Tx, *, open_only: bool = True, project_id: str | None = None, most: int = 100) -> list[Any]:
    """Alerts, newest first."""
    query = sa.select(ALERTS).order_by(_al.created_at.desc(), _al.id.desc()).limit(most)
    if project_id is not None:
        query = query.where(_al.project_id == project_id)
    return tx.rows(query.where(_al.acked_at.is_(None)) if open_only else query)


def recent(tx: Tx, action: str) -> list[Any]:
    """The activities of a kind among the last thousand, in order."""
    return tx.rows(_RECENT, {"what": action})


def activities(
    tx: Tx,
    *,
    mission_id: str | None = None,
    task_id: str | None = None,
    run_id: str | None = None,
    actor: str | None = None,
    after: int = 0,
    action: str | None = None,
    since: datetime | None = None,
    most: int = 500,
    newest: bool = False,
) -> list[Any]:
    """Activities in order, after an id: the first `most` of them, or with `newest` the last ones.

    `actor` is a person's or an agent's id, or `system:<part>`, or human, agent or system.
    """
    order = _a.id.desc() if newest else _a.id
    query = sa.select(ACTIVITIES).where(_a.id > after).order_by(order).limit(most)
    for column, value in ((_a.mission_id, mission_id), (_a.task_id, task_id), (_a.run_id, run_id), (_a.action, action)):
        if value is not None:
            query = query.where(column == value)
    if actor is not None:
        query = query.where(_a.actor_kind == actor if actor in tuple(ActorKind) else _a.actor_id == actor)
    if since is not None:
        query = query.where(_a.created_at >= since)
    found = tx.rows(query)
    return found[::-1] if newest else found
