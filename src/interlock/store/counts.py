"""Row counts by state, for display."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.mailboxes.dead_letters import IS_DEAD
from interlock.store.runs.traces import INDEXED
from interlock.store.schema import Agent, Alert, Approval, Lane, Member, Run, Task, table
from interlock.store.tx import Tx

_t, _r, _a, _lane, _m = table(Task).c, table(Run).c, table(Approval).c, table(Lane).c, table(Member).c
_N = sa.func.count().label("n")
_MISSIONS = sa.select(_t.status, _N).where(_t.parent_id.is_(None)).group_by(_t.status)
_ALL_TASKS = sa.select(_t.status, _N).group_by(_t.status)
_RUNS = sa.select(_N).select_from(table(Run))
_RUNS_IN = {state: _RUNS.where(_r.status == sa.text(f"'{state}'")) for state in INDEXED}
"""Each is counted by a partial index of its own; all others are completed."""
_QUESTIONS = sa.select(_N).select_from(table(Approval)).where(_a.status == sa.text("'pending'"))
_ALERTS = sa.select(_N).select_from(table(Alert)).where(table(Alert).c.acked_at.is_(None))
_DEAD = sa.select(_N).select_from(table(Run)).where(IS_DEAD)
_OF_MISSION = (
    sa.select(_N).join_from(table(Run), table(Lane), _r.agent_id == _lane.agent_id).where(_r.mission_id == b("mission"))
)
_QUEUED = sa.and_(_r.status == "created", _r.stop_reason.is_(None), sa.not_(_lane.paused))
_MOVING = _OF_MISSION.where(sa.or_(_r.status == "running", _QUEUED))
_AT_WORK = _OF_MISSION.where(_r.status == "running")
_WAITS_TO_START = _OF_MISSION.where(_r.status == "created")
_PUT_OFF = (
    sa.select(_r.error, _r.stop_reason)
    .where(_r.mission_id == b("mission"), _r.status == "created", _r.error.is_not(None), _r.due_at.is_not(None))
    .order_by(_r.order_at, _r.id)
)
_SHUT = (
    sa.select(_m.persona, _m.state)
    .join_from(table(Run), table(Lane), _r.agent_id == _lane.agent_id)
    .join(table(Agent), table(Agent).c.id == _lane.agent_id)
    .join(table(Member), _m.id == table(Agent).c.member_id)
    .where(_r.mission_id == b("mission"), _r.status == "created", _lane.paused)
    .distinct()
    .order_by(_m.persona)
)


def missions(tx: Tx) -> dict[str, int]:
    """Missions by state."""
    return {row.status: row.n for row in tx.rows(_MISSIONS)}


def tasks(tx: Tx) -> dict[str, int]:
    """Tasks by state, without missions' root tasks."""
    roots = missions(tx)
    found = {row.status: row.n - roots.get(row.status, 0) for row in tx.rows(_ALL_TASKS)}
    return {status: n for status, n in found.items() if n}


def runs(tx: Tx) -> dict[str, int]:
    """Runs by state."""
    found = {state: int(tx.rows(each)[0].n) for state, each in _RUNS_IN.items()}
    found["completed"] = int(tx.rows(_RUNS)[0].n) - sum(found.values())
    return {state: n for state, n in found.items() if n}


def questions(tx: Tx) -> int:
    """The number of pending approvals."""
    return int(tx.rows(_QUESTIONS)[0].n)


def alerts(tx: Tx) -> int:
    """The number of unacknowledged alerts."""
    return int(tx.rows(_ALERTS)[0].n)


def letters(tx: Tx) -> int:
    """The number of dead letters."""
    return int(tx.rows(_DEAD)[0].n)


def tasks_by_mission(tx: Tx, mission_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Tasks by mission and state, without the root tasks."""
    query = sa.select(_t.mission_id, _t.status, _N).where(_t.mission_id.in_(mission_ids), _t.parent_id.is_not(None))
    found: dict[str, dict[str, int]] = {}
    for row in tx.rows(query.group_by(_t.mission_id, _t.status)) if mission_ids else ():
        found.setdefault(row.mission_id, {})[row.status] = row.n
    return found


def questions_by_mission(tx: Tx, mission_ids: Sequence[str]) -> dict[str, int]:
    """Pending approvals of missions, by mission."""
    query = sa.select(_a.mission_id, _N).where(_a.mission_id.in_(mission_ids), _a.status == "pending")
    rows = tx.rows(query.group_by(_a.mission_id)) if mission_ids else []
    return {row.mission_id: row.n for row in rows}


def moving(tx: Tx, mission_id: str) -> int:
    """The number of runs of a mission that are executing, or only waiting for their turn in an open mailbox."""
    return int(tx.rows(_MOVING, {"mission": mission_id})[0].n)


def at_work(tx: Tx, mission_id: str) -> int:
    """The number of runs of a mission that workers are executing."""
    return int(tx.rows(_AT_WORK, {"mission": mission_id})[0].n)


def queued(tx: Tx, mission_id: str) -> int:
    """The number of runs of a mission that are queued to start or to continue."""
    return int(tx.rows(_WAITS_TO_START, {"mission": mission_id})[0].n)


def put_off(tx: Tx, mission_id: str) -> list[tuple[str, bool]]:
    """Why runs of a mission wait to be retried, and whether that resolves itself."""
    return [(row.error, row.stop_reason is None) for row in tx.rows(_PUT_OFF, {"mission": mission_id})]


def shut_in(tx: Tx, mission_id: str) -> list[tuple[str, str]]:
    """Personas whose mailboxes are closed while runs of a mission are queued in them, with their members' states."""
    return [(row.persona, row.state) for row in tx.rows(_SHUT, {"mission": mission_id})]
