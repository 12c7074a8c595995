"""What goes out to people and what comes in from them: conversations, the outbox, messages taken in."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Counter, Json, Row

_OPEN = "status IN ('pending', 'sending')"


class Conversation(Row, table=True):
    """Somewhere to speak: a room that a person has named, the thread of a mission in it, a reply to one command.

    What is said in one conversation is delivered in order.
    """

    __tablename__ = "conversations"
    __table_args__ = (
        sa.Index("ix_conversations_room", "project_id", sqlite_where=sa.text("role = 'room'"),
                 postgresql_where=sa.text("role = 'room'")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    """Its one spelling, such as `slack:C1`, `slack:C1/msn_…`, `telegram:-100`, `email:<token>`."""
    surface: str
    """slack, telegram or email."""
    role: str
    """room, mission, reply, chat, letter, or closed (a room before another was named)."""
    channel: str
    """Of the surface: a channel's or chat's id."""
    address: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    """What else the surface needs to speak there: `thread`, `user`, `response_url`."""
    project_id: str
    mission_id: str | None = Field(default=None, index=True)
    created_at: datetime


class Outgoing(Row, table=True):
    """A message of the outbox, written in the transaction of what it tells of.

    What it says is drawn up when it is delivered, from `subject` and the rows as they are then; a change of these
    raises `revision`, and the message is sent, or edited where it was sent, until `delivered` has come up to it.

    `status`: pending, sending (an attempt is on record), delivered, dead.
    """

    __tablename__ = "outbox"
    __table_args__ = (
        sa.Index("ix_outbox_open", "surface", "conversation_id", "id", sqlite_where=sa.text(_OPEN),
                 postgresql_where=sa.text(_OPEN)),
        sa.Index("ix_outbox_conversation_id", "conversation_id"),
    )  # fmt: skip
    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    key: str = Field(unique=True)
    """What makes it one: `<subject>@<conversation>`, or that of the command it answers."""
    surface: str
    conversation_id: str = Field(foreign_key="conversations.id", ondelete="CASCADE")
    kind: str
    """mission (the root of its thread), approval, ended, alert, text or letter."""
    subject: str | None = Field(default=None, index=True)
    """`approval:ID`, `mission:ID`, `alert:ID`; None if `payload` says it all."""
    payload: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    revision: int = 1
    delivered: int = 0
    status: str = "pending"
    attempts: int = 0
    due_at: datetime | None = None
    holder: str | None = None
    remote_ref: str | None = None
    """What the surface calls the message: what an edit needs, and the thread of those after it."""
    error: str | None = None
    created_at: datetime
    delivered_at: datetime | None = None


class Incoming(Row, table=True):
    """A command or a tap that a surface has verified, kept before it is acknowledged; the same key is taken in once.

    `status`: new, done.
    """

    __tablename__ = "inbox"
    __table_args__ = (
        sa.Index("ix_inbox_new", "identity", "created_at", sqlite_where=sa.text("status = 'new'"),
                 postgresql_where=sa.text("status = 'new'")),
    )  # fmt: skip
    key: str = Field(primary_key=True)
    """Of the surface: `slack:<trigger>`, `telegram:<update>`."""
    surface: str
    identity: str
    """Whose it is; what one person said is worked in order."""
    payload: dict[str, Any] = Field(sa_type=Json)
    status: str = "new"
    holder: str | None = None
    """The process that works it; empty if one gave it back, None if nobody had it yet."""
    taken_at: datetime | None = None
    created_at: datetime
    done_at: datetime | None = None
