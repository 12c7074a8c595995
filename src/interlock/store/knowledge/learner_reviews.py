"""The Learner's reviews: ended tasks, its runs, and what is new in a project.

What it should review is decided in `oversight.learner`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import Incident, Lesson, Mission, Run, Task, table
from interlock.store.tx import Tx

TASKS, MISSIONS, RUNS = table(Task), table(Mission), table(Run)
LESSONS, INCIDENTS = table(Lesson), table(Incident)
_t, _mi, _r, _l, _in = TASKS.c, MISSIONS.c, RUNS.c, LESSONS.c, INCIDENTS.c
_TIME = UTCDateTime()
_SINCE = b("since", type_=_TIME)
_ENDED = (
    sa.select(
        _t.id, _t.parent_id, _t.project_id, _t.mission_id, _t.status, _t.block_kind, _t.attempt, _t.review_cycles,
        _mi.model, _mi.simulated,
    )
    .join_from(TASKS, MISSIONS, _t.mission_id == _mi.id)
    .where(
        _t.status.in_(("DONE", "CANCELED", "BLOCKED")),
        _t.updated_at >= _SINCE,
        sa.or_(_t.parent_id.is_(None), _t.assignee_agent_id.is_not(None)),
    )
    .order_by(_t.updated_at, _t.id)
    .limit(1_000)
)  # fmt: skip
_LOOKS = sa.select(_r.idempotency_key, _r.status).where(_r.kind == "learn", _r.mission_id == b("mission"))
_PASSED = sa.select(sa.func.max(_r.created_at).label("at")).where(
    _r.kind == "learn", _r.project_id == b("project"), _r.mission_id.is_(None)
)
_PROJECTS = sa.select(_l.project_id).where(_l.project_id.is_not(None)).union(sa.select(_in.project_id))
_NEW_LESSONS = sa.select(sa.func.count().label("n")).where(_l.project_id == b("project"), _l.created_at > _SINCE)
_NEW_INCIDENTS = sa.select(sa.func.count().label("n")).where(_in.project_id == b("project"), _in.created_at > _SINCE)
_LATEST = (
    sa.select(_mi.model, _mi.simulated)
    .where(_mi.project_id == b("project"))
    .order_by(_mi.created_at.desc(), _mi.id.desc())
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class News:
    """What is new in a project since the Learner last reviewed all of it."""

    lessons: int
    incidents: int


def ended(tx: Tx, since: datetime) -> list[Any]:
    """Tasks and missions that ended or were blocked since a time, oldest first, with their missions' models."""
    return tx.rows(_ENDED, {"since": since})


def of_mission(tx: Tx, mission_id: str) -> dict[str, str]:
    """The status of each of the Learner's runs for a mission, by key."""
    return {row.idempotency_key: row.status for row in tx.rows(_LOOKS, {"mission": mission_id})}


def projects(tx: Tx) -> list[str]:
    """The projects that have lessons or incidents."""
    return sorted(row.project_id for row in tx.rows(_PROJECTS))


def last_pass(tx: Tx, project_id: str) -> datetime | None:
    """When a review of the whole project was last posted."""
    row = tx.one(_PASSED, {"project": project_id})
    return None if row is None else row.at


def news(tx: Tx, project_id: str, since: datetime) -> News:
    """What is new in a project since a time."""
    wanted = {"project": project_id, "since": since}
    return News(tx.rows(_NEW_LESSONS, wanted)[0].n, tx.rows(_NEW_INCIDENTS, wanted)[0].n)


def latest_model(tx: Tx, project_id: str) -> tuple[str | None, bool]:
    """The model of the newest mission of a project, and whether that was a rehearsal."""
    row = tx.one(_LATEST, {"project": project_id})
    return (None, False) if row is None else (row.model, row.simulated)
