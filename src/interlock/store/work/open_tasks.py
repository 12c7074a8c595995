"""The open tasks of a persona in a project, for its agents' prompts; read-only."""

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.schema import Agent, Task, table
from interlock.store.tx import Ask

TASKS, AGENTS = table(Task), table(Agent)
_t, _a = TASKS.c, AGENTS.c
STATES = ("ASSIGNED", "IN_PROGRESS", "REVIEW", "NEEDS_APPROVAL", "BLOCKED")
PRIORITIES = ("urgent", "high", "medium", "low")
MOST = 40
_RANK = sa.case(
    *((_t.priority == sa.literal_column(f"'{name}'"), sa.literal_column(str(n))) for n, name in enumerate(PRIORITIES)),
    else_=sa.literal_column(str(len(PRIORITIES))),
)
_IN_HAND = (
    sa.select(_t.id, _t.title, _t.status, _t.priority, _t.block_kind, _t.block_reason)
    .join_from(TASKS, AGENTS, _t.assignee_agent_id == _a.id)
    .where(
        _t.project_id == b("project"),
        _t.ended_at.is_(None),
        _t.parent_id.is_not(None),
        _t.status.in_([sa.literal_column(f"'{state}'") for state in STATES]),
        _a.persona == b("name"),
    )
    .order_by(_RANK, _t.created_at, _t.id)
    .limit(sa.literal_column(str(MOST)))
)


def select_open(project_id: str, persona: str) -> Ask:
    """Their select with its parameters, most urgent and then oldest first: id, title, status, priority, blockers."""
    return _IN_HAND, {"project": project_id, "name": persona}
