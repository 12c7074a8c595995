"""Users' schedules as rows: adding, listing, changing, and advancing one when it has fired.

When one is due, and what it starts, is in `scheduler`; authorisation is up to the desk.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlalchemy.dialects.postgresql import insert
from sqlmodel import UTCDateTime

from interlock.store.schema import Schedule, table
from interlock.store.tx import Tx

SCHEDULES = table(Schedule)
_s = SCHEDULES.c
_TIME = UTCDateTime()
HEARTBEAT = "heartbeat"
"""The kind, and the name in its project, of the schedule that reads HEARTBEAT.md."""
_COLUMNS = (
    "id", "project_id", "name", "kind", "persona", "text", "cron", "every_s", "timezone", "anchor_at", "options",
    "state", "next_at", "version", "created_by", "created_at", "updated_at",
)  # fmt: skip
_ADD = insert(SCHEDULES).values({name: b(f"new_{name}", type_=_s[name].type) for name in _COLUMNS})
_ADD_NEW = _ADD.on_conflict_do_nothing(index_elements=[_s.project_id, _s.name])
_ONE = sa.select(SCHEDULES).where(_s.id == b("schedule"))
_NAMED = sa.select(SCHEDULES).where(_s.project_id == b("project"), _s.name == b("called"))
_NAMED_LOCKED, _LOCKED = _NAMED.with_for_update(), _ONE.with_for_update()
_ALL = sa.select(SCHEDULES).order_by(_s.project_id, _s.name)
_ACTIVE = sa.select(SCHEDULES).where(_s.state == "active").order_by(_s.id)
_UNSET = _ACTIVE.where(_s.next_at.is_(None))
_DUE = (
    sa.select(SCHEDULES)
    .where(_s.next_at <= b("now", type_=_TIME), _s.state == "active")
    .order_by(_s.next_at, _s.id)
    .limit(b("most"))
)
_CHANGED = {"version": _s.version + 1, "updated_at": b("now", type_=_TIME)}
_SEEN = sa.and_(_s.id == b("schedule"), _s.version == b("seen"))
_FIRED = (
    sa.update(SCHEDULES)
    .where(_SEEN)
    .values(
        next_at=b("upcoming", type_=_TIME), last_at=b("fired", type_=_TIME), last_outcome=b("came_of_it"), **_CHANGED
    )
)
_MOVE = (
    sa.update(SCHEDULES)
    .where(_SEEN)
    .values(next_at=b("upcoming", type_=_TIME), anchor_at=b("origin", type_=_TIME), **_CHANGED)
)
_STATE = (
    sa.update(SCHEDULES)
    .where(_s.id == b("schedule"))
    .values(state=b("to"), state_reason=b("why"), next_at=b("upcoming", type_=_TIME), **_CHANGED)
)
_REFIT = (
    sa.update(SCHEDULES)
    .where(_s.id == b("schedule"))
    .values(persona=b("who"), every_s=b("period"), next_at=None, **_CHANGED)
)
_REMOVE = sa.delete(SCHEDULES).where(_s.id == b("schedule"))


def add(tx: Tx, **values: Any) -> bool:
    """Adds an active schedule; False if its project already has one of that name."""
    given = {"state": "active", "version": 0, "persona": None, "cron": None, "every_s": None, "options": {}, **values}
    return tx.count(_ADD_NEW, {f"new_{name}": given[name] for name in _COLUMNS}) == 1


def schedule(tx: Tx, ident: str, *, lock: bool = False) -> Any | None:
    """One schedule; `lock` locks it until the end of the transaction."""
    return tx.one(_LOCKED if lock else _ONE, {"schedule": ident})


def named(tx: Tx, project_id: str, name: str, *, lock: bool = False) -> Any | None:
    """The schedule of a name in its project."""
    return tx.one(_NAMED_LOCKED if lock else _NAMED, {"project": project_id, "called": name})


def listing(tx: Tx, project_id: str | None = None) -> list[Any]:
    """All schedules, or those of a project, by name."""
    return [row for row in tx.rows(_ALL) if project_id in (None, row.project_id)]


def active(tx: Tx) -> list[Any]:
    """The active schedules."""
    return tx.rows(_ACTIVE)


def unset(tx: Tx) -> list[Any]:
    """The active schedules without a next due time."""
    return tx.rows(_UNSET)


def due(tx: Tx, now: datetime, most: int) -> list[Any]:
    """The due schedules, longest overdue first."""
    return tx.rows(_DUE, {"now": now, "most": most})


def fired(tx: Tx, ident: str, seen: int, *, fire_at: datetime, outcome: str, next_at: datetime, now: datetime) -> bool:
    """Advances a schedule after a firing; False if its version is no longer `seen`."""
    return tx.count(
        _FIRED,
        {"schedule": ident, "seen": seen, "fired": fire_at, "came_of_it": outcome, "upcoming": next_at, "now": now},
    ) == 1  # fmt: skip


def move(tx: Tx, ident: str, seen: int, *, next_at: datetime, anchor_at: datetime, now: datetime) -> bool:
    """Sets the next due time of a schedule; False if its version is no longer `seen`."""
    params = {"schedule": ident, "seen": seen, "upcoming": next_at, "origin": anchor_at, "now": now}
    return tx.count(_MOVE, params) == 1


def set_state(tx: Tx, ident: str, state: str, reason: str | None, next_at: datetime | None, now: datetime) -> None:
    """Sets the state of a schedule: active, paused or ended."""
    tx.run(_STATE, {"schedule": ident, "to": state, "why": reason, "upcoming": next_at, "now": now})


def refit(tx: Tx, ident: str, *, persona: str, every_s: float, now: datetime) -> None:
    """Changes the persona or interval of the heartbeat schedule, and clears its next due time."""
    tx.run(_REFIT, {"schedule": ident, "who": persona, "period": every_s, "now": now})


def remove(tx: Tx, ident: str) -> bool:
    """Deletes a schedule; what it has started continues, and its firings stay on record."""
    return tx.count(_REMOVE, {"schedule": ident}) == 1


def job(ident: str) -> str:
    """The job name of its firings."""
    return f"schedule:{ident}"


def start_key(ident: str, fire_at: datetime) -> str:
    """The idempotency key of what one firing starts."""
    return f"{job(ident)}:{fire_at.isoformat()}"
