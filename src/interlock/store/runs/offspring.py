"""Subagents as rows: which are live, and what the end of a run means for them.

Starting and expiring them is in `subagents`.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import OPEN_RUNS
from interlock.store.schema import Agent, Run, Subagent, Task, table
from interlock.store.tx import Tx

KIND = "subagent"
"""The kind of subagents' descriptors and of their runs."""
EXPIRED = "expired"
SUBAGENTS = table(Subagent)
_TIME = UTCDateTime()
_s, _r, _a, _t = SUBAGENTS.c, table(Run).c, table(Agent).c, table(Task).c
_LIVE = sa.select(SUBAGENTS).where(_s.ended_at.is_(None))
_ONE = sa.select(SUBAGENTS).where(_s.agent_id == b("agent"))
_OF_RUN = _LIVE.where(_s.parent_run_id == b("run"))
_OF_PARENT = _LIVE.where(_s.parent_id == b("parent")).order_by(_s.created_at, _s.agent_id)
_ABROAD = (
    _LIVE.where(
        _s.parent_id.in_(sa.select(_a.id).where(_a.member_id == b("member"))),
        _s.agent_id.not_in(sa.select(_a.id).where(_a.member_id == b("member"))),
    )
).order_by(_s.agent_id)
_COUNT = sa.select(sa.func.count().label("n")).select_from(SUBAGENTS).where(_s.ended_at.is_(None))
_END = (
    sa.update(SUBAGENTS)
    .where(_s.agent_id == b("agent"), _s.ended_at.is_(None))
    .values(ended_at=b("now", type_=_TIME), outcome=b("came_to"))
)
_OPEN_RUNS = sa.select(_r.id).where(_r.agent_id == b("agent"), _r.status.in_(OPEN_RUNS)).order_by(_r.seq)
_HUSH = (
    sa.update(table(Run))
    .where(_r.agent_id == b("agent"), _r.status.in_(OPEN_RUNS), _r.id != b("but"))
    .values(report_to=None)
)
_PARENT_RUN = sa.select(_r.channel_id, _r.payload).where(_r.id == b("run"), _r.channel_id.is_not(None))
_PLACE = ("room", "room_kind", "thread")
_IS_OVER = sa.select(_t.id).where(_t.id == b("mission"), _t.status.in_(("DONE", "CANCELED")))


def one(tx: Tx, agent_id: str) -> Any | None:
    """The subagent row of an agent, live or not; None if it is no subagent."""
    return tx.one(_ONE, {"agent": agent_id})


def live(tx: Tx) -> int:
    """The number of live subagents."""
    found: int = tx.rows(_COUNT)[0].n
    return found


def of_parent(tx: Tx, agent_id: str) -> list[Any]:
    """The live subagents that an agent has started, oldest first."""
    return tx.rows(_OF_PARENT, {"parent": agent_id})


def of_run(tx: Tx, run_id: str) -> list[Any]:
    """The live subagents that a run has started."""
    return sorted(tx.rows(_OF_RUN, {"run": run_id}), key=lambda row: row.agent_id)


def abroad(tx: Tx, member_id: str) -> list[Any]:
    """The live subagents that agents of a member have started and that belong to other members."""
    return tx.rows(_ABROAD, {"member": member_id})


def open_runs(tx: Tx, agent_id: str) -> list[str]:
    """Ids of the runs of an agent that have not ended, in order."""
    return [row.id for row in tx.rows(_OPEN_RUNS, {"agent": agent_id})]


def end(tx: Tx, agent_id: str, outcome: str, now: datetime) -> bool:
    """Marks a subagent as ended; False if it was before."""
    return tx.count(_END, {"agent": agent_id, "came_to": outcome, "now": now}) == 1


def suppress_reports(tx: Tx, agent_id: str, *, but: str = "") -> None:
    """Suppresses the reports of its open runs' ends, except for one run."""
    tx.run(_HUSH, {"agent": agent_id, "but": but})


def place(tx: Tx, agent_id: str) -> tuple[str | None, dict[str, Any]]:
    """The workspace-chat channel in which a subagent was started, and its name in a payload; None if there is none."""
    found = one(tx, agent_id)
    row = tx.one(_PARENT_RUN, {"run": found.parent_run_id}) if found is not None else None
    if row is None:
        return None, {}
    return row.channel_id, {name: row.payload[name] for name in _PLACE if row.payload.get(name)}


def run_ended(tx: Tx, run: Any, now: datetime) -> dict[str, Any] | None:
    """What the report of a subagent's ended run tells its parent; None if nobody waits for it, empty for other agents.

    A subagent ends with its last run, when its mailbox is empty. Source: row E11.
    """
    found = one(tx, run.agent_id)
    if found is None:
        return {}
    if found.ended_at is None and not open_runs(tx, run.agent_id):
        end(tx, run.agent_id, run.status, now)
    if run.mission_id is not None and tx.one(_IS_OVER, {"mission": run.mission_id}) is not None:
        return None
    report = {"subagent": run.agent_id, "label": found.label, "purpose": found.purpose}
    return {**report, "status": EXPIRED} if found.outcome == EXPIRED else report
