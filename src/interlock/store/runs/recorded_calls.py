"""Recorded tool calls with their decisions and who they were made for, newest first, in pages; read-only."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.schema import Agent, Member, Run, Task, ToolCall, table
from interlock.store.tx import Tx

PAGE = 1_000
_c, _r, _t = table(ToolCall).c, table(Run).c, table(Task).c
_a, _m = table(Agent).c, table(Member).c
_CALLS = (
    sa.select(
        _c.id, _c.tool, _c.tool_digest, _c.args, _c.risk, _c.effect, _c.rules, _c.reasons, _c.policy_hash,
        _c.created_at, _c.run_id, _c.task_id, _r.project_id, _r.mission_id, _r.agent_id, _r.labels, _r.cost_microusd,
        _m.persona, _m.trust, _t.type.label("task_type"),
    )
    .join_from(table(ToolCall), table(Run), _c.run_id == _r.id)
    .join(table(Agent), _r.agent_id == _a.id)
    .join(table(Member), _a.member_id == _m.id)
    .outerjoin(table(Task), _c.task_id == _t.id)
    .where(_c.id < b("before"), _c.created_at >= b("since", type_=_c.created_at.type))
    .where(_c.status != sa.text("'refused'"))
    .order_by(_c.id.desc())
    .limit(b("most"))
)  # fmt: skip
_OF_MISSION = _CALLS.where(_r.mission_id == b("mission"))
LAST = "tcl_~"
"""Greater than every id of a call."""


def calls(tx: Tx, before: str, since: datetime, mission_id: str | None = None, most: int = PAGE) -> list[Any]:
    """The calls with ids before `before`, newest first; without those that were refused before a decision."""
    given = {"before": before, "since": since, "most": most}
    if mission_id is None:
        return tx.rows(_CALLS, given)
    return tx.rows(_OF_MISSION, {**given, "mission": mission_id})
