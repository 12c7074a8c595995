"""Claiming: a worker takes the lanes that have waited longest, and starts the head of each, in one transaction.

How claimed runs end is in `mailbox`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.errors import LeaseLost
from interlock.store.mailboxes import controls
from interlock.store.mailboxes.posting import LANES, RUNS
from interlock.store.tx import Tx, observe, relaxed, small

_TIME = UTCDateTime()
_lane, _run = LANES.c, RUNS.c
_NOW = b("now", type_=_TIME)

_IS_READY = sa.and_(
    _lane.holder.is_(None),
    _lane.ready_at.is_not(None),
    sa.or_(_lane.due_at.is_(None), _lane.due_at <= _NOW),
    sa.not_(_lane.paused),
    sa.or_(_lane.needs == sa.text("0"), _lane.needs.bitwise_and(b("lacks", type_=sa.BigInteger())) == sa.text("0")),
    controls.MAY_START,
)
"""`needs = 0` is stated although the bit test implies it: PostgreSQL assumes that a bit test holds for one row in
200, and would read and sort all ready lanes instead of taking the first ones from the index."""
_ONE: Any = sa.literal_column("1", sa.Integer())
_READY = (
    sa.select(_lane.agent_id)
    .where(_IS_READY)
    .order_by(_lane.ready_at)
    .limit(sa.select(b("most", type_=sa.BigInteger())).scalar_subquery())
    .with_for_update(skip_locked=True)
    .cte("ready")
)
"""A common table expression, since PostgreSQL may run a subquery, with its limit, more than once. The limit comes from
a subquery so that the planner does not know it: with a known number it would plan each claim again, which takes
longer than the claim. A limit that is always one is a literal."""
_ANY_READY = sa.select(_lane.agent_id).where(_IS_READY).order_by(_lane.ready_at).limit(_ONE)
_TAKE = (
    sa.update(LANES)
    .where(_lane.agent_id == sa.any_(sa.func.array(sa.select(_READY.c.agent_id).scalar_subquery())))
    .values(holder=b("worker"), fence=_lane.fence + 1)
    .returning(_lane.agent_id, _lane.fence)
)
"""Looks the keys up in an array, which PostgreSQL always does by index; of a limit that is a parameter it assumes
a tenth of all rows."""
_LANE_AT, _RUN_AT = (sa.literal_column(f"{each.name}.rowid", sa.Integer()) for each in (LANES, RUNS))
_READY_HERE = (
    sa.select(_lane.agent_id, (_lane.fence + sa.text("1")).label("fence"), _LANE_AT.label("place"))
    .where(_IS_READY)
    .order_by(_lane.ready_at)
    .limit(b("most"))
)
_TAKE_HERE = sa.update(LANES).where(b("place") == _LANE_AT).values(holder=b("worker"), fence=b("lease"))
"""On SQLite, where nobody else can write in between: one row at a time, so that SQLite keeps no statement journal
(among many mailboxes, a file of its own), and by rowid, so that the key is not looked up again."""
SUSPECT = 2
"""A run on which so many workers in a row have died is not executed next to another such run, so that it takes none of
them along. Lower if `crash_limit` is lower."""
_HEAD = (
    sa.select(RUNS)
    .where(_run.agent_id == b("agent"), _run.status == sa.text("'created'"))
    .order_by(_run.order_at, _run.seq)
    .limit(_ONE)
)
_HEAD_AT = _HEAD.with_only_columns(_RUN_AT).correlate(None).scalar_subquery()
_STARTED = {
    "status": sa.text("'running'"), "worker_id": b("worker"), "fence": b("lease"),
    "started_at": b("begun", type_=_TIME), "due_at": None, "stop_reason": None,
}  # fmt: skip
_START = sa.update(RUNS).where(_run.id == b("run"), _run.status == sa.text("'created'")).values(_STARTED)
_START_HERE = _START.where(_RUN_AT == _HEAD_AT)
_SUSPECTS = sa.select(_run.id).where(
    _run.worker_id == b("worker"), _run.status == sa.text("'running'"), _run.crashes >= b("deaths", type_=sa.Integer())
)
_QUEUE = (
    sa.select(_run.due_at)
    .where(_run.agent_id == b("agent"), _run.status == sa.text("'created'"))
    .order_by(_run.order_at, _run.seq)
    .limit(_ONE)
)
NEXT_READY = _QUEUE.with_only_columns(sa.func.coalesce(_run.due_at, _NOW)).scalar_subquery()
NEXT_DUE = _QUEUE.scalar_subquery()
HELD = sa.and_(_lane.agent_id == b("agent"), _lane.holder == b("worker"), _lane.fence == b("lease"))
"""Matches the lane of a claim as long as its lease is valid."""
LET_GO = sa.update(LANES).where(HELD).values(holder=None, parked_run_id=None, ready_at=NEXT_READY, due_at=NEXT_DUE)
"""Frees a lane for the next run of its queue. On PostgreSQL lock the lane first: a statement does not see what was
posted while it waited for the lock."""
REFRESH = (
    sa.update(LANES)
    .where(_lane.agent_id == b("agent"))
    .values(
        ready_at=sa.case((_lane.parked_run_id.is_not(None), None), else_=NEXT_READY),
        due_at=sa.case((_lane.parked_run_id.is_not(None), None), else_=NEXT_DUE),
    )
)


@dataclass(slots=True)
class Claim:
    """A run that this worker holds, and the lease that each of its writes must show."""

    run: Any
    """The row of `runs` when it was claimed, as a named tuple."""
    worker_id: str
    lease: int
    steps: int = 0
    """How many steps are recorded; its holder counts up after each commit."""

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the statements that check the lease."""
        return {"run": self.run.id, "agent": self.run.agent_id, "worker": self.worker_id, "lease": self.lease}


@small
def has_ready(tx: Tx, now: datetime, lacks: int = 0) -> bool:
    """Whether a claim would find something; False while the squad is not running."""
    return tx.one(_ANY_READY, {"now": now, "lacks": lacks}) is not None


@relaxed
def claim(tx: Tx, worker_id: str, most: int, now: datetime, lacks: int = 0, suspect_at: int = SUSPECT) -> list[Claim]:
    """Takes up to `most` ready lanes and starts the head of each; none unless the squad is running.

    `lacks` has a bit for each capability that this worker does not have: lanes that need one are left to others. A
    worker gets only one run at a time on which `suspect_at` workers in a row have died.

    INVARIANT: lanes are locked, not runs, so a second claimer cannot overtake a head that is not committed yet.
    """
    lanes = _taken(tx, {"now": now, "most": most, "worker": worker_id, "lacks": lacks})
    heads = tx.ones(_HEAD, [{"agent": lane.agent_id} for lane in lanes])
    claims: list[Claim] = []
    suspects: int | None = None
    head: Any
    for lane, head in zip(lanes, heads, strict=True):
        is_due = head is not None and (head.due_at is None or head.due_at <= now)
        if is_due and head.crashes >= suspect_at:
            if suspects is None:
                suspects = len(tx.rows(_SUSPECTS, {"worker": worker_id, "deaths": suspect_at}))
            is_due, suspects = suspects == 0, suspects + 1
        if is_due:
            claims.append(_started(tx, head, worker_id, lane.fence, now))
        else:
            tx.run(LET_GO, {"agent": lane.agent_id, "worker": worker_id, "lease": lane.fence, "now": now})
    return claims


def _taken(tx: Tx, wanted: Mapping[str, Any]) -> list[Any]:
    """The lanes that have waited longest, now held by the worker, each with its new fencing token."""
    if tx.dialect != "sqlite":
        return tx.rows(_TAKE, wanted)
    lanes = tx.rows(_READY_HERE, wanted)
    for lane in lanes:
        tx.run(_TAKE_HERE, {"place": lane.place, "worker": wanted["worker"], "lease": lane.fence})
    return lanes


def _started(tx: Tx, head: Any, worker_id: str, lease: int, now: datetime) -> Claim:
    """Starts the head of a locked lane, which nobody else can have changed."""
    begun = head.started_at or now
    start = {"run": head.id, "agent": head.agent_id, "worker": worker_id, "lease": lease, "begun": begun}
    tx.must(_START_HERE if tx.dialect == "sqlite" else _START, start, 1, LeaseLost(head.id))
    row = head._replace(
        status="running", worker_id=worker_id, fence=lease, started_at=begun, due_at=None, stop_reason=None
    )  # fmt: skip
    is_fresh = head.started_at is None and row.policy_hash is None
    waited_s = (now - row.order_at).total_seconds() if is_fresh else None
    observe(tx, "run_claimed", run=row, waited_s=waited_s)
    return Claim(row, worker_id, lease, row.step_count)
