"""Acceptance checks of tasks: their definitions, results by digest, and whether all have passed.

Running them is in `oversight.checking`; `tasks.advance()` enforces that they pass. Rows A15, A20.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.core.ids import new_id
from interlock.core.values import Actor, ActorKind
from interlock.policy.checks import MOST, WAIVER, BadCheck, stored
from interlock.state_machine.table import TERMINAL
from interlock.store.auditing import audit
from interlock.store.schema import CheckResult, Deliverable, Run, Task, TaskTransition, WorkspaceFile, table
from interlock.store.tx import Tx
from interlock.store.work import missions

TASKS, RESULTS, DELIVERABLES = table(Task), table(CheckResult), table(Deliverable)
RUNS, TRANSITIONS, FILES = table(Run), table(TaskTransition), table(WorkspaceFile)
_t, _cr, _de, _r, _tr = TASKS.c, RESULTS.c, DELIVERABLES.c, RUNS.c, TRANSITIONS.c
GATE, EVIDENCE = "gate", "evidence"
RUN_KIND = "check"
"""The kind of run that executes a task's checks; its key is `check:DELIVERABLE:NUMBER`."""
_TASK = sa.select(TASKS).where(_t.id == b("task")).with_for_update()
_SET = (
    sa.update(TASKS)
    .where(_t.id == b("task"), _t.version == b("seen"))
    .values(checks=b("wanted", type_=_t.checks.type), version=_t.version + 1, updated_at=b("now", type_=UTCDateTime()))
)
_DIGEST = sa.select(_de.sha256).where(_de.id == b("deliverable"), _de.task_id == b("task"))
_OF_TASK = sa.select(RESULTS).where(_cr.task_id == b("task")).order_by(_cr.created_at, _cr.kind, _cr.position)
_OF_ONE = (
    sa.select(RESULTS)
    .where(_cr.deliverable_id == b("deliverable"), _cr.kind == sa.text(f"'{EVIDENCE}'"))
    .order_by(_cr.position)
)
_FORGET = sa.delete(RESULTS).where(
    _cr.deliverable_id == b("deliverable"), _cr.kind == b("kind_"), _cr.position == b("place")
)
_VERDICTS = (
    sa.select(_de.verdict, _r.idempotency_key.label("run_key"), _t.assignee_agent_id)
    .join_from(TASKS, DELIVERABLES, _t.deliverable_id == _de.id)
    .join(RUNS, _de.run_id == _r.id)
    .where(
        _t.mission_id == b("mission"),
        _t.reviews_task_id == b("task"),
        _t.status.in_(("REVIEW", "NEEDS_APPROVAL", "DONE")),
    )
)
_CHECK_RUNS = (
    sa.select(_r.id, _r.idempotency_key, _r.status, _r.error)
    .where(_r.kind == sa.text(f"'{RUN_KIND}'"), _r.mission_id == b("mission"))
    .where(_r.idempotency_key.like(b("keys")))
    .order_by(_r.created_at, _r.id)
)
_SENT_BACK = (
    sa.select(_tr.created_at)
    .where(_tr.task_id == b("task"), _tr.from_status == "REVIEW", _tr.to_status == "IN_PROGRESS")
    .order_by(_tr.created_at)
)
_VERSIONS = (
    sa.select(_de.id, _de.sha256, _de.created_at)
    .where(_de.task_id == b("task"))
    .order_by(_de.created_at, _de.id)
)  # fmt: skip
_LABELS = sa.select(_r.labels).where(_r.id == b("run"))
_TAINT = sa.update(RUNS).where(_r.id == b("run")).values(labels=b("taint", type_=_r.labels.type))
_FAILED = sa.select(_cr.deliverable_id).where(
    _cr.task_id == b("task"), _cr.kind == sa.text(f"'{EVIDENCE}'"), _cr.passed.is_(False)
)
_WROTE = sa.select(FILES.c.id).where(FILES.c.run_id == b("run"), FILES.c.project_id == b("project")).limit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    position: int
    name: str
    passed: bool
    detail: str = ""


def require(tx: Tx, task_id: str, checks: Sequence[dict[str, Any]], actor: Actor, now: datetime) -> list[Any]:
    """Adds checks (as `checks.read` returns them) to a task; returns all of its checks.

    Raises NotFound, Refused for agents and for a task that has ended, UsageError for too many, Conflict.
    """
    row = _changeable(tx, task_id, actor)
    wanted = [*(row.checks or []), *({**check, "by": actor.id} for check in checks)]
    if len(wanted) > MOST:
        raise UsageError(f"task `{task_id}` would have {len(wanted)} checks: {MOST} are the most")
    _write(tx, row, wanted, now)
    for number, check in enumerate(stored(checks), start=len(wanted) - len(checks) + 1):
        audit.note(
            tx, "CHECK_SET", actor, now, project_id=row.project_id, mission_id=row.mission_id, task_id=row.id,
            number=number, check=check.name,
        )  # fmt: skip
    return wanted


def waive(tx: Tx, task_id: str, number: int, note: str, actor: Actor, now: datetime) -> Any:
    """Records that a person waives a check (numbered from 1); returns the check.

    Raises NotFound, Refused for anybody but a person, UsageError for a number that there is not, Conflict.
    """
    if actor.kind is not ActorKind.HUMAN:
        raise Refused("only a person may waive a check")
    row = _changeable(tx, task_id, actor)
    wanted = [dict(each) for each in row.checks or []]
    if not 1 <= number <= len(wanted):
        raise UsageError(f"task `{task_id}` has no check {number}: look with `interlock task {task_id}`")
    wanted[number - 1][WAIVER] = {"by": actor.id, "note": note, "at": now.isoformat()}
    _write(tx, row, wanted, now)
    audit.note(
        tx, "CHECK_WAIVED", actor, now, project_id=row.project_id, mission_id=row.mission_id, task_id=row.id,
        number=number, check=stored(wanted[number - 1 : number])[0].name, note=note,
    )  # fmt: skip
    return wanted[number - 1]


def _changeable(tx: Tx, task_id: str, actor: Actor) -> Any:
    if actor.kind is ActorKind.AGENT:
        raise Refused("an agent cannot set, change or waive what its work is held to")
    row = tx.one(_TASK, {"task": task_id})
    if row is None:
        raise NotFound("task", task_id)
    if row.status in TERMINAL:
        raise Refused(f"task `{task_id}` is {row.status}: its checks cannot change any more")
    return row


def _write(tx: Tx, row: Any, wanted: list[dict[str, Any]], now: datetime) -> None:
    params = {"task": row.id, "seen": row.version, "wanted": wanted, "now": now}
    tx.must(_SET, params, 1, Conflict(f"task `{row.id}` was changed by somebody else: look again"))
    missions.notify(tx, row.mission_id, "tick", {"task_id": row.id}, now)


def record(
    tx: Tx,
    task_id: str,
    deliverable_id: str,
    sha256: str,
    kind: str,
    found: Iterable[Finding],
    now: datetime,
    *,
    run_id: str | None = None,
) -> None:
    """Stores results of checks, bound to the digest of what was checked; replaces earlier results."""
    for each in found:
        tx.run(_FORGET, {"deliverable": deliverable_id, "kind_": kind, "place": each.position})
        tx.add(
            CheckResult, id=new_id("chk"), task_id=task_id, deliverable_id=deliverable_id, sha256=sha256, kind=kind,
            position=each.position, name=each.name, passed=each.passed, detail=each.detail, run_id=run_id,
            created_at=now,
        )  # fmt: skip


def taint(tx: Tx, run_id: str, labels: Iterable[str]) -> None:
    """Adds the labels of what a run of checks has read to the run's own. Source: row C11."""
    row = tx.one(_LABELS, {"run": run_id})
    if row is not None and (found := {*row.labels, *labels}) != set(row.labels):
        tx.run(_TAINT, {"run": run_id, "taint": sorted(found)})


def missing(tx: Tx, task: Any) -> tuple[str, ...]:
    """The checks of a task that have not passed for exactly its latest deliverable, one line each.

    Fails closed: checks that cannot be read count as not passed.
    """
    try:
        checks = stored(task.checks)
    except BadCheck:
        return ("its checks cannot be read",)
    wanted = [(place, check) for place, check in enumerate(checks) if not check.waived]
    if not wanted:
        return ()
    handed = tx.one(_DIGEST, {"deliverable": task.deliverable_id, "task": task.id})
    if handed is None:
        return tuple(check.name for _, check in wanted)
    passed = {
        (row.position, row.name)
        for row in tx.rows(_OF_ONE, {"deliverable": task.deliverable_id})
        if row.passed and row.sha256 == handed.sha256
    }
    return tuple(
        check.name
        for place, check in wanted
        if not ((place, check.name) in passed if check.is_run else _has_verdict(tx, task))
    )


def _has_verdict(tx: Tx, task: Any) -> bool:
    """Whether a reviewer other than its author has passed exactly the task's latest deliverable."""
    end = f":of:{task.deliverable_id}"
    return any(
        row.verdict == "pass" and row.run_key.endswith(end) and row.assignee_agent_id != task.assignee_agent_id
        for row in tx.rows(_VERDICTS, {"mission": task.mission_id, "task": task.id})
    )


def results(tx: Tx, task_id: str) -> list[Any]:
    """The results of checks of a task's deliverables, in order."""
    return tx.rows(_OF_TASK, {"task": task_id})


def results_of(tx: Tx, deliverable_id: str) -> list[Any]:
    """The results of one deliverable's checks, without those of the output gate."""
    return tx.rows(_OF_ONE, {"deliverable": deliverable_id})


def check_runs(tx: Tx, mission_id: str, deliverable_id: str) -> list[Any]:
    """The runs that execute or executed a deliverable's checks, in order: id, key, status, error."""
    return tx.rows(_CHECK_RUNS, {"mission": mission_id, "keys": f"check:{deliverable_id}:%"})


def rejected(tx: Tx, task_id: str) -> frozenset[str]:
    """The digests of the versions that were rejected on their merits, not because of a failed check."""
    versions = tx.rows(_VERSIONS, {"task": task_id})
    by_checks = {row.deliverable_id for row in tx.rows(_FAILED, {"task": task_id})}
    found = set()
    for moment in tx.rows(_SENT_BACK, {"task": task_id}):
        before = [row for row in versions if row.created_at <= moment.created_at]
        if before and before[-1].id not in by_checks:
            found.add(before[-1].sha256)
    return frozenset(found)


def wrote_files(tx: Tx, project_id: str, run_id: str) -> bool:
    """Whether a run has changed any workspace file."""
    return tx.one(_WROTE, {"run": run_id, "project": project_id}) is not None
