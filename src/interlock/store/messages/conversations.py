"""Conversations in connectors: rooms that people have configured, mission threads in them, and places of replies.

Messages are in `outbox`; what a channel or a thread is depends on the surface.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlalchemy.dialects.postgresql import insert
from sqlmodel import UTCDateTime

from interlock.core.values import OPEN_RUNS
from interlock.store.schema import Conversation, Outgoing, Run, Task, table
from interlock.store.tx import Tx

CONVERSATIONS, TASKS = table(Conversation), table(Task)
_c, _t = CONVERSATIONS.c, TASKS.c
_TIME = UTCDateTime()
_NAMES = ("id", "surface", "role", "channel", "address", "project_id", "mission_id", "created_at")
_NEW = {name: b(f"new_{name}", type_=_c[name].type) for name in _NAMES}
_ADD = insert(CONVERSATIONS).values(_NEW).on_conflict_do_nothing()
_ADD_REPLIES = (
    insert(CONVERSATIONS)
    .values(_NEW)
    .on_conflict_do_update(index_elements=[_c.id], set_={"created_at": b("new_created_at", type_=_TIME)})
)
_ADD_CHAT = (
    insert(CONVERSATIONS)
    .values(_NEW)
    .on_conflict_do_update(
        index_elements=[_c.id],
        set_={"created_at": b("new_created_at", type_=_TIME), "address": b("new_address", type_=_c.address.type)},
    )
)
"""INVARIANT: reusing a place refreshes its age and locks it, so that it is not pruned before the reply is written."""
_NAME_ROOM = (
    insert(CONVERSATIONS)
    .values(_NEW)
    .on_conflict_do_update(index_elements=[_c.id], set_={"role": "room", "project_id": b("new_project_id")})
)
_CLOSE = (
    sa.update(CONVERSATIONS)
    .where(_c.surface == b("of"), _c.project_id == b("project"), _c.role == sa.text("'room'"), _c.id != b("but"))
    .values(role="closed")
)
_ROOM = sa.select(_c.role, _c.project_id).where(_c.id == b("conversation"))
_CONVERSATION = sa.select(CONVERSATIONS).where(_c.id == b("conversation"))
_other = CONVERSATIONS.alias("other")
_said = table(Outgoing)
_r = table(Run).c
_IN_USE = [
    sa.exists().where(_r.status == sa.text(f"'{status}'"), _r.dm_conversation_id == _c.id) for status in OPEN_RUNS
]
IS_UNUSED = sa.and_(
    _c.role.in_([sa.literal_column(f"'{role}'") for role in ("reply", "chat")]),
    _c.created_at < b("before", type_=_TIME),
    sa.not_(sa.exists().where(_said.c.conversation_id == _c.id)),
    *(sa.not_(used) for used in _IN_USE),
)
"""Condition: a place of replies or chats was last used before a given time, and is empty."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a mission was started: in a channel, or in an existing thread."""

    surface: str
    channel: str
    thread: str | None = None


def is_notified_of(project: Any) -> sa.ColumnElement[bool]:
    """Condition: a conversation is a room that is notified about a project: its own, or any if it has none."""
    own = sa.exists().where(_other.c.role == sa.text("'room'"), _other.c.project_id == project)
    return sa.and_(_c.role == sa.text("'room'"), sa.or_(_c.project_id == project, sa.not_(own)))


def _threads(mission: Any, project: Any) -> sa.Select[Any]:
    return sa.select(
        _c.id + "/" + mission, _c.surface, sa.text("'mission'"), _c.channel, sa.literal({}, _c.address.type),
        project, mission, b("now", type_=_TIME),
    )  # fmt: skip


_OF_MISSION, _PROJECT = b("mission", type_=sa.String()), b("project", type_=sa.String())
_THREADS = (
    insert(CONVERSATIONS)
    .from_select(_NAMES, _threads(_OF_MISSION, _PROJECT).where(is_notified_of(_PROJECT)), include_defaults=False)
    .on_conflict_do_nothing()
)
_CATCH_UP = (
    insert(CONVERSATIONS)
    .from_select(
        _NAMES,
        _threads(_t.id, _t.project_id)
        .join_from(CONVERSATIONS, TASKS, sa.true())
        .where(
            _c.id == b("conversation"),
            is_notified_of(_t.project_id),
            _t.parent_id.is_(None),
            _t.ended_at.is_(None),
        ),
        include_defaults=False,
    )
    .on_conflict_do_nothing()
)


def room(tx: Tx, surface: str, channel: str | None, project_id: str, now: datetime) -> bool:
    """Makes a channel the room of a project on a surface, replacing an earlier one; None removes it.

    Returns whether it is new: then it has a thread for every mission that has not ended, and the caller must fill
    them with `outbox.catch_up`.
    """
    ident = f"{surface}:{channel}"
    tx.run(_CLOSE, {"of": surface, "project": project_id, "but": ident})
    if channel is None:
        return False
    before = tx.one(_ROOM, {"conversation": ident})
    tx.run(_NAME_ROOM, _new(ident, surface, "room", channel, {}, project_id, None, now))
    if before is not None and before.role == "room" and before.project_id == project_id:
        return False
    tx.run(_CATCH_UP, {"conversation": ident, "now": now})
    return True


def of_mission(tx: Tx, mission_id: str, origin: Origin, project_id: str, now: datetime) -> str:
    """Creates the thread of a mission in the place where it was started; returns the conversation's id."""
    ident = f"{origin.surface}:{origin.channel}/{mission_id}"
    address = {} if origin.thread is None else {"thread": origin.thread}
    tx.run(_ADD, _new(ident, origin.surface, "mission", origin.channel, address, project_id, mission_id, now))
    return ident


def threads_in_rooms(tx: Tx, mission_id: str, project_id: str, now: datetime) -> None:
    """Creates a thread for a mission in each room of its project, except the one it was started in."""
    tx.run(_THREADS, {"mission": mission_id, "project": project_id, "now": now})


def reply_place(
    tx: Tx, surface: str, channel: str, user: str | None, thread: str | None, project_id: str, now: datetime
) -> str:
    """The conversation for replies to one person, delivered in order; returns its id."""
    ident = f"{surface}:{channel}/{thread or ''}@{user or ''}"
    address = {name: value for name, value in (("thread", thread), ("user", user)) if value is not None}
    tx.run(_ADD_REPLIES, _new(ident, surface, "reply", channel, address, project_id, None, now))
    return ident


def chat_place(
    tx: Tx, surface: str, channel: str, thread: str | None, persona: str, project_id: str, now: datetime
) -> str:
    """The conversation of a person with a persona's agent; returns its id."""
    ident = _chat(surface, channel, thread)
    address = {"persona": persona} if thread is None else {"persona": persona, "thread": thread}
    tx.run(_ADD_CHAT, _new(ident, surface, "chat", channel, address, project_id, None, now))
    return ident


def talked_with(tx: Tx, surface: str, channel: str, thread: str | None, since: datetime) -> str | None:
    """The persona of the last chat at a place, if that was after `since`."""
    row = tx.one(_CONVERSATION, {"conversation": _chat(surface, channel, thread)})
    return None if row is None or row.created_at < since else row.address.get("persona")


def _chat(surface: str, channel: str, thread: str | None) -> str:
    return f"{surface}:{channel}/{thread or ''}"


def of_letter(tx: Tx, token: str, project_id: str, now: datetime) -> str:
    """A conversation of its own for one e-mail, so that none waits for another; returns its id."""
    ident = f"email:{token}"
    tx.run(_ADD, _new(ident, "email", "letter", token, {}, project_id, None, now))
    return ident


def conversation(tx: Tx, ident: str) -> Any | None:
    """One conversation."""
    return tx.one(_CONVERSATION, {"conversation": ident})


def _new(*values: Any) -> dict[str, Any]:
    return {f"new_{name}": value for name, value in zip(_NAMES, values, strict=True)}
