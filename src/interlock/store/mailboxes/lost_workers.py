"""Silent workers: the runs they hold, marking their agents as stuck, and taking their runs away.

When a silence counts as a loss, and what follows, is decided in `oversight.heartbeat`.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.mailboxes import leases
from interlock.store.mailboxes.leases import WORKERS
from interlock.store.mailboxes.posting import LANES, RUNS, report
from interlock.store.money import ledger
from interlock.store.schema import Agent, table
from interlock.store.tx import Tx

AGENTS = table(Agent)
_TIME = UTCDateTime()
_w, _lane, _run, _ag = WORKERS.c, LANES.c, RUNS.c, AGENTS.c
_AGENTS_OF = sa.select(_run.agent_id).where(_run.worker_id == b("worker"), _run.status == sa.text("'running'"))
_FLAG = (
    sa.update(AGENTS)
    .where(_ag.id.in_(_AGENTS_OF), _ag.runtime_status != "stuck")
    .values(runtime_status="stuck", last_error=b("why"))
    .returning(_ag.id)
)
_CLEAR = (
    sa.update(AGENTS)
    .where(_ag.id.in_(_AGENTS_OF), _ag.runtime_status == "stuck")
    .values(runtime_status="idle", last_error=None)
)
_GONE = (
    sa.update(WORKERS).where(_w.id == b("worker"), _w.state == "running", _w.beat == b("heard")).values(state="gone")
)
_FREE = (
    sa.update(LANES)
    .where(_lane.holder == b("worker"))
    .values(holder=None, fence=_lane.fence + 1, ready_at=b("now", type_=_TIME), due_at=None)
)
_LOST = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.status == sa.text("'running'"))
    .values(status="failed", stop_reason="lost", error=b("why"), completed_at=b("now", type_=_TIME), control=None)
)
_OF_TASK = (
    sa.select(_run.id)
    .where(_run.task_id == b("task"), _run.kind == "task", _run.stop_reason == "lost")
    .order_by(_run.created_at, _run.id)
)


def held(tx: Tx, worker_id: str) -> list[Any]:
    """The rows of the runs that a worker holds."""
    return leases.left(tx, worker_id)


def flag(tx: Tx, worker_id: str, why: str) -> set[str]:
    """Marks the agents of a worker's runs as stuck; returns those that were not marked before."""
    return {row.id for row in tx.rows(_FLAG, {"worker": worker_id, "why": why})}


def clear(tx: Tx, worker_id: str) -> None:
    """Clears the mark from the agents of a worker that has recovered."""
    tx.run(_CLEAR, {"worker": worker_id})


def declare_gone(tx: Tx, worker_id: str, heard: int, now: datetime) -> bool:
    """Takes a worker's lanes away, unless it has left or sent a heartbeat since `heard`; the caller settles its runs.

    INVARIANT: afterwards the worker cannot write to any of its runs.
    """
    if tx.count(_GONE, {"worker": worker_id, "heard": heard}) != 1:
        return False
    tx.run(_FREE, {"worker": worker_id, "now": now})
    return True


def lose(tx: Tx, run_id: str, why: str, now: datetime) -> None:
    """Ends a run whose agent was lost; its open reservations are charged in full and marked as estimated."""
    tx.run(_LOST, {"run": run_id, "why": why, "now": now})
    ledger.charge_open(tx, run_id, now)
    report(tx, run_id, now)


def of_task(tx: Tx, task_id: str) -> list[str]:
    """Ids of a task's runs whose agents were lost, in order."""
    return [row.id for row in tx.rows(_OF_TASK, {"task": task_id})]
