"""Mentions with `@`: people are notified by an alert, agents by a message in their mailbox.

In channels, agents get turns instead, in `rounds`. Source: row A8.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import Actor, ActorKind
from interlock.policy.audience import PERSON, Participant, handles, mentions
from interlock.policy.secrets import scrub
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities import people
from interlock.store.mailboxes import posting
from interlock.store.mailboxes.posting import Post
from interlock.store.schema import Mission, Task, table
from interlock.store.squad import AGENTS, MEMBERS, Descriptor
from interlock.store.tx import Tx

ALERT = "MENTION"
EVERYBODY = frozenset({"operator", "operators", "admin", "admins"})
"""Names that address all people of the squad."""
SHOWN = 300
KIND, RUN_KIND, CAUSE = "room", "chat", "comment"
_t, _mi, _a = table(Task).c, table(Mission).c, AGENTS.c
_TASK = (
    sa.select(_t.id, _t.title, _t.project_id, _t.mission_id, _t.assignee_agent_id, _mi.simulated, _mi.model)
    .join_from(table(Task), table(Mission), _mi.id == _t.mission_id, isouter=True)
    .where(_t.id == b("task"))
)
_AT_WORK = (
    sa.select(_a.id, _a.persona)
    .join_from(table(Task), AGENTS, _t.assignee_agent_id == _a.id)
    .where(_t.mission_id == b("mission"), _t.status.not_in(("DONE", "CANCELED")))
    .order_by((_t.id == b("task")).desc(), _t.updated_at.desc(), _a.id)
)
_LIKE_IT = (
    sa.select(_a.persona_json, _a.persona, MEMBERS.c.trust)
    .join_from(AGENTS, MEMBERS, _a.member_id == MEMBERS.c.id)
    .where(_a.project_id == b("project"), sa.func.lower(_a.persona) == b("name"))
    .order_by(_a.created_at.desc(), _a.id)
    .limit(1)
)


def in_channel(tx: Tx, channel: Any, message: Any, members: Sequence[Participant], now: datetime) -> None:
    """Alerts the people whom a message mentions, if they may read it; without its text if not everybody may."""
    author = Participant(message.author_kind, message.author)
    is_open = channel.kind == "channel"
    there = None if is_open else {who.name for who in members if who.kind == PERSON}
    where = f"#{channel.name}" if is_open else "a private channel" if channel.kind == "private" else "a conversation"
    said = f": {_excerpt(message.text)}" if is_open else ""
    for who in _people(tx, mentions(message.text), among=there):
        if Participant(PERSON, who.id) != author:
            _alert(tx, channel.project_id, message.id, who, f"{message.name} in {where}{said}", message.id, now)


def in_thread(
    tx: Tx, task_id: str, message_id: str, actor: Actor, text: str, run_id: str | None, now: datetime
) -> None:
    """Notifies whoever a text in a task's thread mentions: people by an alert, agents by a message in their mailbox
    (preferably the persona's agent on this mission).

    Nobody is notified of their own messages.
    """
    task, names = tx.one(_TASK, {"task": task_id}), mentions(text)
    if task is None or not names:
        return
    author, said = _name_of(tx, actor), posting.spoken_by(tx, run_id)
    if task.simulated:
        said = said._replace(simulated=True, model=said.model or task.model)
    for who in _people(tx, names):
        if who.id != actor.id:
            about = f"{author} in the thread of `{task.title}`: {_excerpt(text)}"
            _alert(tx, task.project_id, message_id, who, about, task.id, now)
    for agent_id in _agents(tx, task, names, actor.id, now):
        payload = {
            "text": text, "from": author, "by": "person" if actor.kind is ActorKind.HUMAN else "agent",
            "thread_of": task.id, "title": task.title, "message": message_id,
        }  # fmt: skip
        message = Post(
            project_id=task.project_id, agent_id=agent_id, kind=RUN_KIND, payload=payload,
            idempotency_key=f"mention:{message_id}:{agent_id}", cause_kind=CAUSE, cause_id=actor.id,
            parent_run_id=run_id, by_agent=actor.id if actor.kind is ActorKind.AGENT else None,
            labels=said.labels, simulated=said.simulated, model=said.model,
        )  # fmt: skip
        posting.post(tx, message, now)


def _people(tx: Tx, names: Sequence[str], among: Collection[str] | None = None) -> list[Any]:
    """The people with these names, in order; a placeholder for all operators if they are addressed together."""
    wanted = set(names)
    found = [
        row
        for row in people.people(tx)
        if (among is None or row.id in among) and (handles(row.name) | {row.id.lower()}) & wanted
    ]
    if wanted & EVERYBODY and among is None:
        found.append(_Everybody())
    return found


class _Everybody:
    id, name = "operators", "the operators"


def _alert(tx: Tx, project_id: str, message_id: str, who: Any, about: str, subject: str, now: datetime) -> None:
    audit.alert(
        tx, now, project_id=project_id, severity="info", kind=ALERT, subject=subject,
        text=f"mention of {who.name} by {about}", key=f"mention:{message_id}:{who.id}",
    )  # fmt: skip


def _agents(tx: Tx, task: Any, names: Sequence[str], author: str, now: datetime) -> list[str]:
    """One agent for each name that is an agent's id or a persona: on this mission, or else in the workspace chat."""
    at_work = tx.rows(_AT_WORK, {"mission": task.mission_id, "task": task.id})
    ids = sa.select(_a.id).where(_a.id.in_(names), _a.project_id == task.project_id)
    by_id, found = {row.id: row.id for row in tx.rows(ids)}, []
    for name in names:
        fits = [by_id[name]] if name in by_id else [row.id for row in at_work if row.persona.lower() == name]
        fits = [ident for ident in fits or _of_chat(tx, task.project_id, name, now) if ident != author]
        found += fits[:1]
    return list(dict.fromkeys(found))


def _of_chat(tx: Tx, project_id: str, name: str, now: datetime) -> list[str]:
    """The workspace-chat agent of a persona that has worked in the project; it is spawned if there is none."""
    like_it = tx.one(_LIKE_IT, {"project": project_id, "name": name})
    if like_it is None or not like_it.persona_json:
        return []
    who = Descriptor(KIND, project_id, like_it.persona, {"project": project_id})
    return [squad.ensure_agent(tx, who, like_it.persona_json, like_it.trust, now).id]


def _name_of(tx: Tx, actor: Actor) -> str:
    if actor.kind is ActorKind.HUMAN:
        return people.names(tx, [actor.id]).get(actor.id, actor.id)
    return actor.persona or squad.names(tx, [actor.id]).get(actor.id, actor.id)


def _excerpt(text: str) -> str:
    line = " ".join(scrub(text).split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
