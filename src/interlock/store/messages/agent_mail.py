"""Messages between agents: who may receive one, and delivery to the recipient's mailbox.

The tools that send them are in `tools.builtin`; how a message reads in a prompt is up to `agents`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import NotFound, Refused
from interlock.policy.loops import Limits
from interlock.store import squad
from interlock.store.mailboxes import posting
from interlock.store.mailboxes.posting import RUNS, Post
from interlock.store.runs import offspring, traces
from interlock.store.tx import Tx

CAUSE = "agent"
"""The `cause_kind` of a run that an agent's message started; `loops` counts these."""
FOREGROUND = "user"
"""The kind of agents that people talk with."""
REACHABLE = frozenset({FOREGROUND, "cron", "heartbeat", "room", offspring.KIND})
"""Kinds of agents that can be sent messages; agents on a mission communicate in the threads of its tasks."""
LETTER = "letter"
"""The kind of a run that delivers a message to a scheduled agent, whose own scheduled messages supersede each other."""
MOST_CAUSES = 50
_r, _a = RUNS.c, squad.AGENTS.c
_LATEST = (
    sa.select(_a.id, _a.descriptor)
    .join_from(squad.AGENTS, RUNS, _r.agent_id == _a.id)
    .where(_a.project_id == b("project"), _a.descriptor_key.contains(f"/{FOREGROUND}/", autoescape=True))
    .group_by(_a.id)
    .order_by(sa.func.max(_r.created_at).desc(), _a.id)
    .limit(20)
)
_BETWEEN = sa.select(sa.func.count().label("n")).where(
    _r.cause_kind == sa.text(f"'{CAUSE}'"),
    _r.created_at > b("since", type_=UTCDateTime()),
    sa.or_(
        sa.and_(_r.agent_id == b("one"), _r.cause_id == b("other")),
        sa.and_(_r.agent_id == b("other"), _r.cause_id == b("one")),
    ),
)


def foreground(tx: Tx, run_id: str, project_id: str) -> str | None:
    """The agent with which a person talks at the root of a run's causes, else the latest one of its project.

    Source: decisions, "Most recent foreground agent".
    """
    found, at = None, run_id
    for _ in range(MOST_CAUSES):
        run = traces.run(tx, at)
        if run is None or run.project_id != project_id:
            break
        agent = squad.agent(tx, run.agent_id)
        if agent is not None and agent.descriptor.get("kind") == FOREGROUND:
            found = agent.id
        if run.parent_run_id is None:
            break
        at = run.parent_run_id
    if found is not None:
        return str(found)
    latest = (row for row in tx.rows(_LATEST, {"project": project_id}) if row.descriptor.get("kind") == FOREGROUND)
    return next((str(row.id) for row in latest), None)


def recipient(tx: Tx, project_id: str, agent_id: str) -> Any:
    """The agent with this id, if it may be sent messages.

    Raises NotFound for an agent of another project, Refused for one that takes no messages. Source: row A7.
    """
    found = squad.agent(tx, agent_id)
    if found is None or found.project_id != project_id:
        raise NotFound("agent", agent_id)
    kind = found.descriptor.get("kind")
    if kind not in REACHABLE:
        raise Refused(f"`{agent_id}` works for a mission and hears no messages: what it must know belongs in a thread")
    if kind == offspring.KIND:
        child = offspring.one(tx, agent_id)
        if child is None or child.ended_at is not None:
            raise Refused(f"`{agent_id}` has ended and hears nothing any more: start another agent")
    return found


def count_between(tx: Tx, one: str, other: str, limits: Limits, now: datetime) -> int:
    """The number of messages between two agents within the loop detection window."""
    since = now - timedelta(seconds=limits.messages_s)
    found: int = tx.rows(_BETWEEN, {"one": one, "other": other, "since": since})[0].n
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message from one agent to another. Idempotent by `key`."""

    key: str
    sender_id: str
    persona: str
    run_id: str
    to_id: str
    text: str
    labels: tuple[str, ...] = ()


def send(tx: Tx, letter: Letter, now: datetime) -> bool:
    """Posts a letter to the recipient's mailbox; False if the recipient is gone, or is the sender itself.

    A message to a working subagent is a run of its own, whose end is reported to the parent too. A message sent in a
    rehearsal is handled in rehearsal mode.
    """
    run, to = traces.run(tx, letter.run_id), squad.agent(tx, letter.to_id)
    if run is None or to is None:
        return False
    child = offspring.one(tx, to.id)
    if child is not None and child.ended_at is not None:
        return False
    sender = squad.agent(tx, letter.sender_id)
    kind = sender.descriptor.get("kind") if sender is not None else None
    scheduled = to.descriptor.get("kind") in ("cron", "heartbeat")
    sort = offspring.KIND if child is not None else LETTER if scheduled else "chat"
    origin = "background" if kind in (offspring.KIND, "cron", "heartbeat") else "system"
    payload = {"text": letter.text, "from": letter.persona, "agent": letter.sender_id, "origin": origin}
    message = Post(
        project_id=run.project_id, agent_id=to.id, kind=sort, payload=payload,
        idempotency_key=f"letter:{letter.key}", cause_kind=CAUSE, cause_id=letter.sender_id, parent_run_id=run.id,
        by_agent=letter.sender_id, report_to=None if child is None else child.parent_id, labels=letter.labels,
        simulated=run.simulated, model=run.model if run.simulated else None,
        mission_id=run.mission_id if child is not None else None,
    )  # fmt: skip
    return posting.post(tx, message, now)[1]
