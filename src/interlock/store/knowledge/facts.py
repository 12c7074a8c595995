"""The record of a task, a mission or a project, as rows with ids that lessons can cite.

How they are presented to the Learner is in `memory.facts`.
"""

import json
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import (
    Account,
    Agent,
    Approval,
    Deliverable,
    Incident,
    Mission,
    Run,
    Task,
    TaskMessage,
    TaskTransition,
    ToolCall,
    WorkspaceFile,
    table,
)
from interlock.store.tx import Tx

TASKS, RUNS, CALLS, APPROVALS = table(Task), table(Run), table(ToolCall), table(Approval)
DELIVERABLES, TRANSITIONS, MESSAGES = table(Deliverable), table(TaskTransition), table(TaskMessage)
INCIDENTS, FILES, AGENTS, ACCOUNTS = table(Incident), table(WorkspaceFile), table(Agent), table(Account)
MISSIONS = table(Mission)
_mi = MISSIONS.c
_t, _r, _c, _ap, _de = TASKS.c, RUNS.c, CALLS.c, APPROVALS.c, DELIVERABLES.c
_tr, _tm, _in, _f, _ag, _acc = TRANSITIONS.c, MESSAGES.c, INCIDENTS.c, FILES.c, AGENTS.c, ACCOUNTS.c
_TIME = UTCDateTime()
FAULTY = ("failed", "denied", "refused", "unknown")
_HERE: sa.BindParameter[str] = b("ident", type_=sa.String())
_FAILED = sa.or_(_c.is_error, _c.status.in_(FAULTY))
_mission = table(Task).alias("mission").c
_REVIEWED = sa.and_(
    _t.mission_id == sa.select(_mission.mission_id).where(_mission.id == _HERE).scalar_subquery(),
    sa.or_(_t.id == _HERE, _t.reviews_task_id == _HERE),
)
"""A task and its reviews."""

_TASK_ROWS = (
    sa.select(TASKS, _ag.persona.label("worker"), _acc.settled_microusd)
    .join_from(TASKS, AGENTS, _t.assignee_agent_id == _ag.id, isouter=True)
    .join(ACCOUNTS, _acc.id == sa.literal("task:") + _t.id, isouter=True)
    .order_by(_t.created_at, _t.id)
    .limit(100)
)
_RUN_ROWS = (
    sa.select(
        _r.id, _r.task_id, _r.kind, _r.status, _r.stop_reason, _r.error, _r.step_count, _r.cost_microusd, _r.labels,
        _r.simulated, _ag.persona,
    )
    .join_from(RUNS, AGENTS, _r.agent_id == _ag.id)
    .where(_r.kind.in_(("task", "think")))
    .order_by(_r.created_at, _r.id)
    .limit(200)
)  # fmt: skip
_CALL_ROWS = (
    sa.select(
        _c.id, _c.run_id, _r.task_id, _c.tool, _c.status, _c.is_error, _c.args, _c.raw_args, _c.result, _c.reasons,
        _c.created_at, _r.labels,
    )
    .join_from(CALLS, RUNS, _c.run_id == _r.id)
    .order_by(_c.created_at, _c.step_number, _c.position)
    .limit(1_000)
)  # fmt: skip
_ANSWERS = (
    sa.select(
        _ap.id, _ap.task_id, _ap.run_id, _ap.kind, _ap.risk, _ap.status, _ap.note, _ap.edited, _ap.edited_args,
        _ap.request, _r.labels,
    )
    .join_from(APPROVALS, RUNS, _ap.run_id == _r.id, isouter=True)
    .where(_ap.status.in_(("approved", "denied", "expired", "used")))
    .order_by(_ap.created_at, _ap.id)
    .limit(100)
)  # fmt: skip
_HANDED_IN = (
    sa.select(
        _de.id, _de.task_id, _de.run_id, _de.kind, _de.title, _de.summary, _de.text, _de.verdict, _de.findings,
        _de.labels, _t.reviews_task_id,
    )
    .join_from(DELIVERABLES, TASKS, _de.task_id == _t.id)
    .order_by(_de.created_at, _de.id)
    .limit(100)
)  # fmt: skip
_CHANGES = (
    sa.select(_tr.id, _tr.task_id, _tr.from_status, _tr.to_status, _tr.actor_kind, _tr.reason, _tr.created_at)
    .join_from(TRANSITIONS, TASKS, _tr.task_id == _t.id)
    .order_by(_tr.created_at, _tr.id)
    .limit(300)
)
_SAID = (
    sa.select(_tm.id, _tm.task_id, _tm.run_id, _tm.kind, _tm.author_kind, _tm.text)
    .join_from(MESSAGES, TASKS, _tm.task_id == _t.id)
    .order_by(_tm.created_at, _tm.id)
    .limit(100)
)
_INCIDENT_ROWS = (
    sa.select(INCIDENTS, _r.labels)
    .join_from(INCIDENTS, RUNS, _in.run_id == _r.id, isouter=True)
    .order_by(_in.created_at, _in.id)
    .limit(50)
)
_FILE_ROWS = (
    sa.select(_f.id, _f.project_id, _f.path, _f.version, _f.blob, _f.run_id, _f.labels, _r.task_id)
    .join_from(FILES, RUNS, _f.run_id == _r.id)
    .order_by(_f.created_at, _f.id)
    .limit(100)
)
_TAINT = (
    sa.select(sa.cast(_r.labels, sa.Text).label("written"), _r.simulated)
    .where(_r.kind != sa.text("'learn'"))
    .distinct()
)
"""The labels of all runs that may have contributed to the facts; the Learner's own contribute nothing."""
_BEFORE = sa.select(_f.blob).where(_f.project_id == b("project"), _f.path == b("name"), _f.version == b("number"))

_TAINT_OF_TASK, _TAINT_OF_MISSION = _TAINT.where(_r.task_id == _HERE), _TAINT.where(_r.mission_id == _HERE)
_OF_TASK = {
    "tasks": _TASK_ROWS.where(_REVIEWED),
    "runs": _RUN_ROWS.where(_r.task_id == _HERE),
    "calls": _CALL_ROWS.where(_r.task_id == _HERE),
    "answers": _ANSWERS.where(_ap.task_id == _HERE),
    "deliverables": _HANDED_IN.where(_REVIEWED),
    "changes": _CHANGES.where(_t.id == _HERE),
    "said": _SAID.where(_t.id == _HERE),
    "incidents": _INCIDENT_ROWS.where(_in.task_id == _HERE),
    "files": _FILE_ROWS.where(_r.task_id == _HERE),
}
_OF_MISSION = {
    "tasks": _TASK_ROWS.where(_t.mission_id == _HERE),
    "runs": _RUN_ROWS.where(_r.mission_id == _HERE),
    "calls": _CALL_ROWS.where(_r.mission_id == _HERE),
    "answers": _ANSWERS.where(_ap.mission_id == _HERE),
    "deliverables": _HANDED_IN.where(_t.mission_id == _HERE),
    "changes": _CHANGES.where(_t.mission_id == _HERE),
    "said": _SAID.where(_t.mission_id == _HERE),
    "incidents": _INCIDENT_ROWS.where(_in.mission_id == _HERE),
    "files": _FILE_ROWS.where(_r.mission_id == _HERE),
}
_SINCE = b("since", type_=_TIME)
_REHEARSAL = b("rehearsal", type_=sa.Boolean())
_OF_THE_KIND = sa.select(_mi.id).where(_mi.project_id == _HERE, _mi.simulated == _REHEARSAL)
"""Either real missions or rehearsals."""
_OF_PROJECT = {
    "calls": _CALL_ROWS.where(_r.project_id == _HERE, _r.simulated == _REHEARSAL, _c.created_at >= _SINCE, _FAILED)
    .order_by(None)
    .order_by(_c.created_at.desc(), _c.id.desc())
    .limit(200),
    "answers": _ANSWERS.where(
        _ap.project_id == _HERE, _ap.created_at >= _SINCE, _ap.status == "denied", _ap.mission_id.in_(_OF_THE_KIND)
    )
    .order_by(None)
    .order_by(_ap.created_at.desc(), _ap.id.desc()),
    "incidents": _INCIDENT_ROWS.where(
        _in.project_id == _HERE, _in.created_at >= _SINCE, _in.mission_id.in_(_OF_THE_KIND)
    )
    .order_by(None)
    .order_by(_in.created_at.desc(), _in.id.desc()),
}
"""Newest first, so that the oldest rows are cut if there are too many."""


_OF_TASKS = sa.select(_t.mission_id, _t.project_id)
_OF_RUNS = sa.select(_r.mission_id, _r.project_id)
_OWNERS = (
    _OF_RUNS.where(_r.id == _HERE),
    _OF_TASKS.where(_t.id == _HERE),
    sa.select(_ap.mission_id, _ap.project_id).where(_ap.id == _HERE),
    _OF_RUNS.join_from(CALLS, RUNS, _c.run_id == _r.id).where(_c.id == _HERE),
    _OF_TASKS.join_from(DELIVERABLES, TASKS, _de.task_id == _t.id).where(_de.id == _HERE),
    sa.select(_in.mission_id, _in.project_id).where(_in.id == _HERE),
    _OF_TASKS.join_from(TRANSITIONS, TASKS, _tr.task_id == _t.id).where(_tr.id == _HERE),
    _OF_TASKS.join_from(MESSAGES, TASKS, _tm.task_id == _t.id).where(_tm.id == _HERE),
    _OF_RUNS.join_from(FILES, RUNS, _f.run_id == _r.id).where(_f.id == _HERE),
)
"""The project and mission of a row of each kind: run, task, approval, call, deliverable, incident and so on."""


def of_task(tx: Tx, task_id: str) -> dict[str, list[Any]]:
    """The rows about a task and its reviews. Calls, answers and incidents carry the labels of their runs."""
    return {name: tx.rows(query, {"ident": task_id}) for name, query in _OF_TASK.items()}


def of_mission(tx: Tx, mission_id: str) -> dict[str, list[Any]]:
    """The rows about a mission, in the same format."""
    return {name: tx.rows(query, {"ident": mission_id}) for name, query in _OF_MISSION.items()}


def of_project(tx: Tx, project_id: str, since: datetime, *, rehearsal: bool) -> dict[str, list[Any]]:
    """What went wrong in a project since a time, in real work or in rehearsals, in the same format."""
    wanted = {"ident": project_id, "since": since, "rehearsal": rehearsal}
    return {name: tx.rows(query, wanted)[::-1] for name, query in _OF_PROJECT.items()}


def taint_of_task(tx: Tx, task_id: str) -> tuple[frozenset[str], bool]:
    """The labels of all runs of a task, and whether any was a rehearsal."""
    return _taint(tx.rows(_TAINT_OF_TASK, {"ident": task_id}))


def taint_of_mission(tx: Tx, mission_id: str) -> tuple[frozenset[str], bool]:
    """The same for a mission."""
    return _taint(tx.rows(_TAINT_OF_MISSION, {"ident": mission_id}))


def _taint(rows: list[Any]) -> tuple[frozenset[str], bool]:
    labels = frozenset(label for row in rows for label in json.loads(row.written))
    return labels, any(row.simulated for row in rows)


def blob_before(tx: Tx, file: Any) -> str | None:
    """The blob that a version of a file replaced."""
    found = tx.one(_BEFORE, {"project": file.project_id, "name": file.path, "number": file.version - 1})
    return None if found is None else found.blob


def exists(tx: Tx, ident: str, project_id: str, mission_id: str | None) -> bool:
    """Whether an id is that of a row of this project and (if given) of this mission. Source: row H9."""
    for query in _OWNERS:
        found = tx.one(query, {"ident": ident})
        if found is not None:
            return found.project_id == project_id and mission_id in (None, found.mission_id)
    return False
