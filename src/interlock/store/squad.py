"""Projects, people, members and agents; agents are found by descriptor.

What an agent does is up to `agents`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_agent_id, new_id
from interlock.store.mailboxes import capabilities
from interlock.store.schema import Agent, Identity, Lane, Member, Person, Project, Run, SessionMarker, Task, table
from interlock.store.tx import Tx

PROJECTS, MEMBERS, AGENTS, LANES = table(Project), table(Member), table(Agent), table(Lane)
PEOPLE, IDENTITIES, TASKS, RUNS = table(Person), table(Identity), table(Task), table(Run)
_p, _m, _ag, _lane = PROJECTS.c, MEMBERS.c, AGENTS.c, LANES.c
_TIME = UTCDateTime()

CONVERSES = frozenset({"user", "cron", "heartbeat", "room", "subagent"})
"""Kinds of agents whose sessions continue from run to run."""

PROJECT = sa.select(PROJECTS).where(_p.id == b("project"))
_MEMBER = sa.select(MEMBERS).where(_m.project_id == b("project"), _m.persona == b("name"))
_MEMBER_BY_ID = sa.select(MEMBERS).where(_m.id == b("member"))
MEMBER_OF = sa.select(MEMBERS).join_from(MEMBERS, AGENTS, _m.id == _ag.member_id).where(_ag.id == b("agent"))
_MEMBERS_OF = sa.select(MEMBERS).where(_m.project_id == b("project")).order_by(_m.persona)
_MEMBER_LOCKED = _MEMBER_BY_ID.with_for_update()
AGENT = sa.select(AGENTS).where(_ag.id == b("agent"))
_BY_KEY = sa.select(AGENTS).where(_ag.descriptor_key == b("key"))
_PERSON = (
    sa.select(PEOPLE.c.id, PEOPLE.c.name, PEOPLE.c.role)
    .join_from(PEOPLE, IDENTITIES, PEOPLE.c.id == IDENTITIES.c.person_id)
    .where(IDENTITIES.c.key == b("identity"))
)
_STATUS = (
    sa.update(AGENTS)
    .where(_ag.id == b("agent"))
    .values(runtime_status=b("to"), last_error=b("fault"), last_active_at=b("now", type_=_TIME))
)
_IDLE = _STATUS.where(sa.or_(_ag.runtime_status != sa.text("'idle'"), _ag.last_error.is_not(None)))

_DOING = sa.case(
    (sa.and_(_lane.holder.is_not(None), _ag.runtime_status != "stuck"), sa.text("'running'")),
    else_=_ag.runtime_status,
)
_ACTIVE_AT = (
    sa.select(sa.func.coalesce(RUNS.c.completed_at, RUNS.c.started_at, type_=_TIME))
    .where(RUNS.c.agent_id == _ag.id, RUNS.c.started_at.is_not(None))
    .order_by(RUNS.c.seq.desc())
    .limit(1)
    .scalar_subquery()
)
_RECORD = (
    sa.update(MEMBERS)
    .where(_m.id == b("member"))
    .values(done_count=_m.done_count + b("done"), failed_count=_m.failed_count + b("failed"))
)
_STATE = sa.update(MEMBERS).where(_m.id == b("member")).values(state=b("to"), state_reason=b("why"))
_STATE_FROM = _STATE.where(_m.state == b("seen"))
_OF_MEMBER = sa.select(_ag.id).where(_ag.member_id == b("member")).order_by(_ag.id)
_SHARED = _MEMBER.with_for_update(read=True)
_OUT_OF_MONEY = sa.select(MEMBERS).where(_m.state == "PAUSED", _m.state_reason.like("budget:%")).order_by(_m.id)
_SET_APART = sa.select(_m.persona).where(_m.state == "QUARANTINED")
_GATE = (
    sa.update(LANES)
    .where(_lane.agent_id.in_(sa.select(_ag.id).where(_ag.member_id == b("member"))))
    .values(paused=b("shut"))
)
_ACTIVE_TASKS = (
    sa.select(_ag.member_id, sa.func.count().label("active"))
    .join_from(TASKS, AGENTS, TASKS.c.assignee_agent_id == _ag.id)
    .where(
        TASKS.c.ended_at.is_(None),
        TASKS.c.status.in_(("ASSIGNED", "IN_PROGRESS", "REVIEW", "NEEDS_APPROVAL")),
        TASKS.c.parent_id.is_not(None),
    )
    .where(_ag.project_id == b("project"))
    .group_by(_ag.member_id)
)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Identifies an agent by its purpose: the same parts always find the same agent.

    `kind` is task, mission, think, learn, user, cron, heartbeat or subagent; `parts` tell it from others of
    its kind. Source: row E1.
    """

    kind: str
    project_id: str
    persona: str
    parts: Mapping[str, str]

    @property
    def key(self) -> str:
        """Its canonical spelling."""
        inner = ",".join(f"{k}={self.parts[k]}" for k in sorted(self.parts))
        return f"{self.project_id}/{self.persona}/{self.kind}/{inner}"


def ensure_project(tx: Tx, project_id: str, timezone: str, now: datetime) -> None:
    """Creates the project if it does not exist."""
    if tx.one(PROJECT, {"project": project_id}) is None:
        tx.add(Project, id=project_id, name=project_id, timezone=timezone, created_at=now)


def project(tx: Tx, project_id: str) -> Any | None:
    """One project."""
    return tx.one(PROJECT, {"project": project_id})


def projects(tx: Tx) -> list[str]:
    """Ids of the projects, in order."""
    return [row.id for row in tx.rows(sa.select(_p.id).order_by(_p.id))]


def ensure_person(tx: Tx, identity: str, name: str, role: str, now: datetime) -> Any:
    """The person with an identity on a surface; created with `role` if there is none."""
    found = tx.one(_PERSON, {"identity": identity})
    if found is not None:
        return found
    person_id = new_id("per")
    tx.add(Person, id=person_id, name=name, role=role, created_at=now)
    tx.add(Identity, key=identity, person_id=person_id, created_at=now)
    return tx.one(_PERSON, {"identity": identity})


def person(tx: Tx, identity: str) -> Any | None:
    """The person with an identity on a surface: id, name, role."""
    return tx.one(_PERSON, {"identity": identity})


def ensure_member(tx: Tx, project_id: str, persona: str, trust: str, now: datetime) -> Any:
    """The member of a persona in a project."""
    found = tx.one(_MEMBER, {"project": project_id, "name": persona})
    if found is None:
        tx.add(Member, id=new_id("mem"), project_id=project_id, persona=persona, trust=trust, created_at=now)
        found = tx.one(_MEMBER, {"project": project_id, "name": persona})
    return found


def found(tx: Tx, descriptor: Descriptor) -> Any | None:
    """The agent of a descriptor; None if there is none."""
    return tx.one(_BY_KEY, {"key": descriptor.key})


def ensure_agent(tx: Tx, descriptor: Descriptor, persona_json: Mapping[str, Any], trust: str, now: datetime) -> Any:
    """The agent of a descriptor; spawned with its mailbox if there is none.

    An agent keeps the persona it was spawned with; its mailbox requires the capabilities that its tools need.
    """
    found = tx.one(_BY_KEY, {"key": descriptor.key})
    if found is not None:
        return found
    ensure_member(tx, descriptor.project_id, descriptor.persona, trust, now)
    owner: Any = tx.one(_SHARED, {"project": descriptor.project_id, "name": descriptor.persona})
    agent_id = new_agent_id()
    tx.add(
        Agent,
        id=agent_id,
        member_id=owner.id,
        project_id=descriptor.project_id,
        persona=descriptor.persona,
        descriptor_key=descriptor.key,
        descriptor={"kind": descriptor.kind, **descriptor.parts},
        persona_json=dict(persona_json),
        created_at=now,
    )
    tx.add(
        Lane, agent_id=agent_id, clock_at=now, exclusive=descriptor.kind == "task", paused=owner.state != "ACTIVE",
        needs=capabilities.bits(tx, persona_json.get("needs", ())),
    )  # fmt: skip
    if descriptor.kind in CONVERSES:
        tx.add(
            SessionMarker, id=new_id("mrk"), agent_id=agent_id, kind="start", from_seq=0, made_by="system:squad",
            created_at=now,
        )  # fmt: skip
    return tx.one(_BY_KEY, {"key": descriptor.key})


def agent(tx: Tx, agent_id: str) -> Any | None:
    """One agent."""
    return tx.one(AGENT, {"agent": agent_id})


def member(tx: Tx, member_id: str) -> Any | None:
    """One member."""
    return tx.one(_MEMBER_BY_ID, {"member": member_id})


def some_members(tx: Tx, member_ids: Sequence[str]) -> list[Any | None]:
    """Each of several members."""
    return tx.ones(_MEMBER_BY_ID, [{"member": each} for each in member_ids])


def lock_member(tx: Tx, member_id: str) -> None:
    """Locks a member against changes, and against spawning agents of it, until the end of this transaction."""
    tx.one(_MEMBER_LOCKED, {"member": member_id})


def member_of(tx: Tx, project_id: str, persona: str) -> Any | None:
    """The member of a persona in a project; None if it never worked there."""
    return tx.one(_MEMBER, {"project": project_id, "name": persona})


def members(tx: Tx, project_id: str) -> list[Any]:
    """The members of a project."""
    return tx.rows(_MEMBERS_OF, {"project": project_id})


def agents(tx: Tx, project_id: str | None = None, most: int = 500, *, agent_id: str | None = None) -> list[Any]:
    """Agents, most recently active first, with the holders of their lanes and the trust of their members; or one."""
    query = (
        sa.select(
            _ag.id, _ag.persona, _ag.project_id, _ag.descriptor, _DOING.label("runtime_status"), _ag.last_error,
            _ACTIVE_AT.label("last_active_at"), _ag.created_at, _m.state, _m.state_reason, _m.trust,
            _m.id.label("member_id"), _lane.holder, _lane.parked_run_id,
        )
        .join_from(AGENTS, MEMBERS, _ag.member_id == _m.id)
        .join(LANES, _lane.agent_id == _ag.id)
        .order_by(sa.func.coalesce(_ACTIVE_AT, _ag.created_at).desc(), _ag.id)
        .limit(most)
    )  # fmt: skip
    if agent_id is not None:
        query = query.where(_ag.id == agent_id)
    return tx.rows(query if project_id is None else query.where(_ag.project_id == project_id))


def workloads(tx: Tx, project_id: str) -> dict[str, int]:
    """Active tasks by member."""
    return {row.member_id: row.active for row in tx.rows(_ACTIVE_TASKS, {"project": project_id})}


def agents_of(tx: Tx, member_id: str) -> list[str]:
    """Ids of the agents of a member."""
    return [row.id for row in tx.rows(_OF_MEMBER, {"member": member_id})]


def set_status(tx: Tx, agent_id: str, status: str, now: datetime, error: str | None = None) -> None:
    """Sets an agent's status after a run: idle or error. Whether it is running follows from its lane alone.

    An agent that is idle already is not updated: its row contains its persona, which every run would copy.
    """
    statement = _IDLE if status == "idle" and error is None else _STATUS
    tx.run(statement, {"agent": agent_id, "to": status, "fault": error, "now": now})


def add_record(tx: Tx, member_id: str, *, done: bool) -> None:
    """Counts a task in the member's track record."""
    tx.run(_RECORD, {"member": member_id, "done": int(done), "failed": int(not done)})


def set_state(tx: Tx, member_id: str, state: str, reason: str | None, *, seen: str | None = None) -> bool:
    """Changes a member's state (ACTIVE, PAUSED, QUARANTINED) and opens or closes its mailboxes.

    With `seen`, only if that is still its state, else False: a pause for money never lifts a quarantine.
    """
    params = {"member": member_id, "to": state, "why": reason}
    if seen is None:
        tx.run(_STATE, params)
    elif tx.count(_STATE_FROM, {**params, "seen": seen}) != 1:
        return False
    tx.run(_GATE, {"member": member_id, "shut": state != "ACTIVE"})
    tx.wake = True
    return True


def is_active(tx: Tx, project_id: str, persona: str) -> bool:
    """Whether a persona's member may be given work; the state is locked until this transaction ends."""
    row = tx.one(_SHARED, {"project": project_id, "name": persona})
    return row is None or row.state == "ACTIVE"


def pause_for_budget(tx: Tx, member_id: str, account_id: str, need_microusd: int) -> None:
    """Pauses a member until its account has this much left; `budget_pause` parses the recorded reason."""
    set_state(tx, member_id, "PAUSED", f"budget:{need_microusd}:{account_id}", seen="ACTIVE")


def budget_pause(member: Any) -> tuple[str, int] | None:
    """The account that a paused member waits for, and how much it needs; None if it is not paused for money."""
    kind, _, rest = (member.state_reason or "").partition(":")
    if member.state != "PAUSED" or kind != "budget":
        return None
    need, _, account_id = rest.partition(":")
    return account_id, int(need)


def quarantined(tx: Tx) -> list[str]:
    """Personas whose members are in quarantine."""
    return sorted({row.persona for row in tx.rows(_SET_APART)})


def paused_for_budget(tx: Tx) -> list[Any]:
    """Members that wait for a new day or a higher limit."""
    return tx.rows(_OUT_OF_MONEY)


def names(tx: Tx, agent_ids: Sequence[str]) -> dict[str, str]:
    """Persona names by agent id."""
    query = sa.select(_ag.id, _ag.persona).where(_ag.id.in_(list(agent_ids)))
    return {row.id: row.persona for row in tx.rows(query)}
