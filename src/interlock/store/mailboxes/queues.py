"""Reads mailboxes: their runs in order, with their states and what they wait for.

Claiming is in `claiming`.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import ENDED_RUNS, OPEN_RUNS
from interlock.store.mailboxes.posting import LANES, RUNS
from interlock.store.schema import Agent, Member, table
from interlock.store.signoff.approvals import APPROVALS
from interlock.store.tx import Tx

AGENTS, MEMBERS = table(Agent), table(Member)
_lane, _run, _ag, _m, _ap = LANES.c, RUNS.c, AGENTS.c, MEMBERS.c, APPROVALS.c
AT_ONCE = 500
"""The number of runs per statement."""
_LANE = (
    sa.select(
        _ag.id, _ag.persona, _ag.descriptor, _ag.project_id, _lane.holder, _lane.paused, _lane.parked_run_id,
        _lane.ready_at, _lane.needs, _m.state, _m.state_reason,
    )
    .join_from(AGENTS, LANES, _lane.agent_id == _ag.id)
    .join(MEMBERS, _m.id == _ag.member_id)
    .where(_ag.id == b("agent"))
)  # fmt: skip


def _is(status: str) -> sa.ColumnElement[bool]:
    """Worded exactly as in the partial indexes, so that ended runs are not scanned."""
    return _run.status == sa.text(f"'{status}'")


_OPEN = {
    status: sa.select(RUNS)
    .where(_run.agent_id == b("agent"), _is(status))
    .order_by(_run.order_at, _run.seq)
    .limit(b("most"))
    for status in OPEN_RUNS
}
_COUNTS = {
    status: sa.select(sa.func.count().label("n")).where(_run.agent_id == b("agent"), _is(status))
    for status in OPEN_RUNS
}
_BUSY = (
    sa.select(_ag.id)
    .where(
        _ag.member_id == b("member"),
        _ag.id.in_(sa.union(*(sa.select(_run.agent_id).where(_is(status)) for status in OPEN_RUNS))),
    )
    .order_by(_ag.id)
    .limit(b("most"))
)
_QUESTIONS = (
    sa.select(_ap.id).where(_ap.run_id == b("run"), _ap.status == sa.text("'pending'")).order_by(_ap.created_at)
)
_RESULT = sa.select(
    _run.id, _run.status, _run.stop_reason, _run.result, _run.error, _run.step_count, _run.cost_microusd
)
_LOCK = sa.update(LANES).where(_lane.agent_id == b("agent")).values(fence=_lane.fence)


def lane(tx: Tx, agent_id: str) -> Any | None:
    """An agent with its lane and its member's state."""
    return tx.one(_LANE, {"agent": agent_id})


def waiting(tx: Tx, agent_id: str, most: int) -> list[Any]:
    """The open runs of a mailbox, in order: executing, parked and pending ones."""
    found = [row for each in _OPEN.values() for row in tx.rows(each, {"agent": agent_id, "most": most})]
    return sorted(found, key=lambda row: (row.order_at, row.seq))[:most]


def pending(tx: Tx, agent_id: str, most: int) -> list[Any]:
    """The first pending runs of a mailbox, in order."""
    return tx.rows(_OPEN["created"], {"agent": agent_id, "most": most})


def counts(tx: Tx, agent_id: str) -> dict[str, int]:
    """The number of open runs of a mailbox, by state."""
    return {status: tx.rows(each, {"agent": agent_id})[0].n for status, each in _COUNTS.items()}


def busy(tx: Tx, member_id: str, most: int) -> list[str]:
    """Ids of a member's agents whose mailboxes are not empty."""
    return [row.id for row in tx.rows(_BUSY, {"member": member_id, "most": most})]


def questions(tx: Tx, run_id: str) -> list[str]:
    """Ids of the open questions of a run."""
    return [row.id for row in tx.rows(_QUESTIONS, {"run": run_id})]


def lock(tx: Tx, agent_id: str) -> None:
    """Prevents others from claiming from a mailbox, or posting to it, until the end of this transaction."""
    tx.run(_LOCK, {"agent": agent_id})


def missing(tx: Tx, run_ids: Sequence[str]) -> list[str]:
    """Those of some ids that no run has (any more)."""
    known: set[str] = set()
    for start in range(0, len(run_ids), AT_ONCE):
        known |= {row.id for row in tx.rows(sa.select(_run.id).where(_run.id.in_(run_ids[start : start + AT_ONCE])))}
    return [each for each in run_ids if each not in known]


def ended(tx: Tx, run_ids: Sequence[str], *, or_waiting: bool = False) -> list[Any]:
    """Those of some runs that have ended (or, with `or_waiting`, wait for something), with their status and result."""
    found, wanted = [], (*ENDED_RUNS, "waiting") if or_waiting else ENDED_RUNS
    for start in range(0, len(run_ids), AT_ONCE):
        some = list(run_ids[start : start + AT_ONCE])
        found += tx.rows(_RESULT.where(_run.id.in_(some), _run.status.in_(wanted)))
    return found
