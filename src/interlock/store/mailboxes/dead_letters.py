"""Dead letters: runs that were set aside because they kept killing their workers, and requeuing them.

Which worker is dead is decided in `worker`; who may requeue a run, at the desk.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import SYSTEM
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.posting import LANES, RUNS, report
from interlock.store.messages import rounds
from interlock.store.money import ledger
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx, observe
from interlock.store.work import missions

STOP_REASON = "dead_letter"
ALERT = "DEAD_LETTER"
BURIED = "its run is a dead letter"
_TIME = UTCDateTime()
_lane, _run = LANES.c, RUNS.c
_BURY = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.status == sa.text("'running'"))
    .values(
        status="failed", stop_reason=sa.text(f"'{STOP_REASON}'"), error=b("why"), worker_id=None, control=None,
        completed_at=b("now", type_=_TIME), crashes=b("died", type_=sa.Integer()),
    )
)  # fmt: skip
_FENCE = sa.select(_lane.fence).where(_lane.agent_id == _run.agent_id).scalar_subquery()
_REVIVE = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.status == sa.text("'failed'"), _run.stop_reason == sa.text(f"'{STOP_REASON}'"))
    .values(
        status="created", stop_reason=None, error=None, result=None, completed_at=None, due_at=None, crashes=0,
        attempt=0, control=None, fence=_FENCE,
    )
)  # fmt: skip
_call, _asked = traces.CALLS.c, approvals.APPROVALS.c
_UNANSWERED = sa.or_(
    _call.approval_id.is_(None), sa.exists().where(_asked.id == _call.approval_id, _asked.status == "void")
)
_AGAIN = {"result": None, "is_error": False, "ended_at": None}
_UNCERTAIN = (
    sa.update(traces.CALLS)
    .where(_call.run_id == b("run"), _call.status == "unknown", _UNANSWERED)
    .values(status="started", **_AGAIN)
)
_NOT_BEGUN = (
    sa.update(traces.CALLS)
    .where(_call.run_id == b("run"), _call.status == "skipped", _call.approval_id.is_(None), _call.result == b("why"))
    .values(status="ready", **_AGAIN)
)
IS_DEAD = sa.and_(_run.status == sa.text("'failed'"), _run.stop_reason == sa.text(f"'{STOP_REASON}'"))
_ALL = sa.select(RUNS).where(IS_DEAD).order_by(_run.completed_at.desc(), _run.id.desc())
UNTOLD = frozenset({"mission", "learn", "vote", "subagent", "child_end", "letter"})
"""Kinds of runs whose end is not reported to a coordinator, such as its own steps."""


def bury(tx: Tx, run: Any, why: str, now: datetime, *, crashes: int) -> None:
    """Ends a run that nobody holds as a dead letter: its lane continues; people and its mission are notified.

    Its reservations are charged in full, its started calls are uncertain, its questions void.
    """
    tx.run(_BURY, {"run": run.id, "why": why, "now": now, "died": crashes})
    tx.run(mailbox.REFRESH, {"agent": run.agent_id, "now": now})
    observe(tx, "run_ended", run=run, status="failed", stop_reason=STOP_REASON)
    ledger.charge_open(tx, run.id, now)
    traces.close_calls(tx, run.id, now, BURIED)
    approvals.void_of_run(tx, run.id, now, BURIED)
    squad.set_status(tx, run.agent_id, "error", now, why)
    rounds.ended(tx, run, now)
    audit.note(
        tx, "RUN_DEAD", SYSTEM, now, project_id=run.project_id, mission_id=run.mission_id, task_id=run.task_id,
        run_id=run.id, subject=run.agent_id, reason=why, crashes=crashes,
    )  # fmt: skip
    audit.alert(
        tx, now, project_id=run.project_id, severity="critical", kind=ALERT, key=f"{STOP_REASON}:{run.id}",
        text=f"run `{run.id}` was set aside: {why}; look with `interlock trace {run.id}`, and once that is put right "
        f"have it tried again with `interlock runs requeue {run.id}`",
        subject=run.id,
    )  # fmt: skip
    report(tx, run.id, now)
    if run.mission_id is not None and run.kind not in UNTOLD:
        news = {
            "run_id": run.id, "kind": run.kind, "purpose": run.payload.get("purpose"), "task_id": run.task_id,
            "status": "failed", "stop_reason": STOP_REASON, "result": None, "error": why,
        }  # fmt: skip
        missions.notify(tx, run.mission_id, "run_ended", news, now)


def revive(tx: Tx, run_id: str, now: datetime) -> bool:
    """Requeues a dead letter at its place in its mailbox, and settles its alert; False if the run is not a dead letter.

    Its calls are in the state in which the last worker died: started ones are repeated, or a person is asked.
    """
    found = mailbox.lock(tx, run_id)
    if found is None or tx.count(_REVIVE, {"run": run_id}) != 1:
        return False
    tx.run(_UNCERTAIN, {"run": run_id})
    tx.run(_NOT_BEGUN, {"run": run_id, "why": f"not executed: {BURIED}"})
    tx.run(mailbox.REFRESH, {"agent": found.agent_id, "now": now})
    audit.settle(tx, ALERT, run_id, now)
    tx.wake = True
    return True


def letters(tx: Tx, most: int = 100, *, mission_id: str | None = None, project_id: str | None = None) -> list[Any]:
    """Dead letters, newest first."""
    query = _ALL.limit(most)
    if mission_id is not None:
        query = query.where(_run.mission_id == mission_id)
    if project_id is not None:
        query = query.where(_run.project_id == project_id)
    return tx.rows(query)
