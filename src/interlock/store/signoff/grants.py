"""Grants: standing approvals for calls like one that a person approved; each use is counted, revoking is immediate.

Which calls a grant covers is decided in `policy.grants`.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict
from interlock.core.values import Actor
from interlock.policy.grants import Grant as Leave
from interlock.state_machine.table import TERMINAL
from interlock.store.auditing import audit
from interlock.store.schema import Agent, Approval, Grant, Run, Task, table
from interlock.store.tx import Tx, small

GRANTS, TASKS = table(Grant), table(Task)
APPROVALS, RUNS, AGENTS = table(Approval), table(Run), table(Agent)
_g = GRANTS.c
_TIME = UTCDateTime()
_ENDED = [str(state) for state in sorted(TERMINAL)]
_LIVE = sa.and_(
    sa.text("grants.revoked_at IS NULL"),
    _g.expires_at > b("now", type_=_TIME),
    sa.or_(
        _g.task_id.is_(None),
        sa.exists(sa.select(TASKS.c.id).where(TASKS.c.id == _g.task_id, TASKS.c.status.not_in(_ENDED))),
    ),
)
_FOR = (
    sa.select(_g.id, _g.project_id, _g.persona, _g.tool, _g.tool_digest, _g.task_id, _g.shape)
    .where(
        _g.project_id == b("project"),
        _g.tool == b("named"),
        _g.persona == b("who"),
        sa.or_(sa.not_(_g.simulated), b("rehearsed", type_=sa.Boolean())),
        _LIVE,
    )
    .order_by(_g.created_at, _g.id)
)
_OF_PERSONA = (
    sa.select(_g.id)
    .where(_g.project_id == b("project"), _g.persona == b("who"), _LIVE)
    .order_by(_g.created_at, _g.id)
)  # fmt: skip
_GIVEN_BY = sa.select(_g.id).where(_g.given_by == b("who"), _LIVE).order_by(_g.created_at, _g.id)
_GIVEN_TO = (
    sa.select(_g.id, _g.persona, AGENTS.c.persona_json)
    .join_from(GRANTS, APPROVALS, APPROVALS.c.id == _g.approval_id)
    .join(RUNS, RUNS.c.id == APPROVALS.c.run_id)
    .join(AGENTS, AGENTS.c.id == RUNS.c.agent_id)
    .where(_LIVE)
    .order_by(_g.created_at, _g.id)
)
_IN_FORCE = sa.select(_g.id).where(_g.id == b("grant_"), _LIVE)
_ONE = sa.select(GRANTS).where(_g.id == b("grant_"))
_USED = (
    sa.update(GRANTS).where(_g.id == b("grant_")).values(uses=_g.uses + 1, used_at=b("now", type_=_TIME))
)  # fmt: skip
_REVOKE = (
    sa.update(GRANTS)
    .where(_g.id == b("grant_"), _g.revoked_at.is_(None))
    .values(revoked_at=b("now", type_=_TIME), revoked_by=b("who"))
)


class Ended(Conflict):
    """A grant that allowed a call is no longer in force."""


@small
def live(
    tx: Tx, project_id: str, tool: str, persona: str, now: datetime, *, simulated: bool = False
) -> tuple[Leave, ...]:
    """The grants in force for a persona's calls of a tool. A grant for a task ends with the task.

    Grants from rehearsals apply only if the call is `simulated`.
    """
    given = {"project": project_id, "named": tool, "who": persona, "now": now, "rehearsed": simulated}
    rows = tx.rows(_FOR, given)
    return tuple(
        Leave(
            id=row.id, project=row.project_id, persona=row.persona, tool=row.tool, tool_digest=row.tool_digest,
            task_id=row.task_id, shape=row.shape,
        )
        for row in rows
    )  # fmt: skip


def give(tx: Tx, actor: Actor, now: datetime, *, mission_id: str | None, **values: Any) -> None:
    """Adds a grant; `values` are the columns of its row."""
    tx.add(Grant, given_by=actor.id, created_at=now, **values)
    audit.note(
        tx, "GRANT_GIVEN", actor, now, project_id=values["project_id"], mission_id=mission_id,
        task_id=values.get("task_id"), subject=values["id"], tool=values["tool"], persona=values["persona"],
        scope=values["scope"], approval=values["approval_id"], narrow=values.get("shape") is not None,
        until=values["expires_at"].isoformat(),
    )  # fmt: skip


def require(tx: Tx, grant_id: str, now: datetime) -> None:
    """Raises Ended unless a grant is still in force."""
    if tx.one(_IN_FORCE, {"grant_": grant_id, "now": now}) is None:
        raise Ended(f"the grant `{grant_id}` is not in force any more")


def used(tx: Tx, grant_id: str, actor: Actor, now: datetime, **about: Any) -> None:
    """Counts a use of a grant; `about` are fields for the audit log."""
    tx.run(_USED, {"grant_": grant_id, "now": now})
    audit.note(tx, "GRANT_USED", actor, now, subject=grant_id, **about)


def revoke(tx: Tx, grant_id: str, actor: Actor, now: datetime, **about: Any) -> bool:
    """Revokes a grant with immediate effect; False if it was revoked before."""
    row: Any = tx.one(_ONE, {"grant_": grant_id})
    if row is None or tx.count(_REVOKE, {"grant_": grant_id, "who": actor.id, "now": now}) != 1:
        return False
    audit.note(
        tx, "GRANT_REVOKED", actor, now, project_id=row.project_id, task_id=row.task_id, subject=grant_id,
        tool=row.tool, persona=row.persona, uses=row.uses, **about,
    )  # fmt: skip
    return True


def grant(tx: Tx, grant_id: str) -> Any | None:
    """One grant."""
    return tx.one(_ONE, {"grant_": grant_id})


def of_persona(tx: Tx, project_id: str, persona: str, now: datetime) -> list[str]:
    """Ids of the grants in force for a persona's calls of any tool."""
    return [row.id for row in tx.rows(_OF_PERSONA, {"project": project_id, "who": persona, "now": now})]


def given_by(tx: Tx, person_id: str, now: datetime) -> list[str]:
    """Ids of the grants in force that a person gave, in any project."""
    return [row.id for row in tx.rows(_GIVEN_BY, {"who": person_id, "now": now})]


def given_to(tx: Tx, now: datetime) -> list[Any]:
    """The grants in force in all projects, with `persona_json`: the persona as it was when its agent asked."""
    return tx.rows(_GIVEN_TO, {"now": now})


def listing(tx: Tx, now: datetime, *, every: bool = False, most: int = 500) -> list[Any]:
    """The grants in force, or with `every` all grants ever given, newest first."""
    query = sa.select(GRANTS).order_by(_g.created_at.desc(), _g.id.desc()).limit(most)
    return tx.rows(query) if every else tx.rows(query.where(_LIVE), {"now": now})
