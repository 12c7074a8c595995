"""Tables of connectors: conversations, outbox, inbox."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Counter, Json, Row

_OPEN = "status IN ('pending', 'sending')"


class Conversation(Row, table=True):
    """A place for messages: a room that a person configured, a mission's thread in it, the place of a reply.

    Messages of one conversation are delivered in order.
    """

    __tablename__ = "conversations"
    __table_args__ = (
        sa.Index("ix_conversations_room", "project_id", sqlite_where=sa.text("role = 'room'"),
                 postgresql_where=sa.text("role = 'room'")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    """Its canonical spelling, such as `slack:C1`, `slack:C1/msn_…`, `telegram:-100`, `email:<token>`."""
    surface: str
    """slack, telegram or email."""
    role: str
    """room, mission, reply, chat, letter, or closed (a room that was replaced)."""
    channel: str
    """The surface's id of the channel or chat."""
    address: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    """What else the surface needs to post there: `thread`, `user`, `response_url`."""
    project_id: str
    mission_id: str | None = Field(default=None, index=True)
    created_at: datetime


class Outgoing(Row, table=True):
    """A message of the outbox, written in the transaction of the change that it reports.

    Its text is rendered at delivery, from `subject` and the current rows. A change of these increments `revision`, and
    the message is sent, or edited, until `delivered` equals it.

    `status`: pending, sending (an attempt was started), delivered, dead.
    """

    __tablename__ = "outbox"
    __table_args__ = (
        sa.Index("ix_outbox_open", "surface", "conversation_id", "id", sqlite_where=sa.text(_OPEN),
                 postgresql_where=sa.text(_OPEN)),
        sa.Index("ix_outbox_conversation_id", "conversation_id"),
    )  # fmt: skip
    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    key: str = Field(unique=True)
    """The idempotency key: `<subject>@<conversation>`, or the key of the command that it answers."""
    surface: str
    conversation_id: str = Field(foreign_key="conversations.id", ondelete="CASCADE")
    kind: str
    """mission (the root of its thread), approval, ended, alert, text or letter."""
    subject: str | None = Field(default=None, index=True)
    """`approval:ID`, `mission:ID`, `alert:ID`; None if `payload` contains the whole message."""
    payload: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    revision: int = 1
    delivered: int = 0
    status: str = "pending"
    attempts: int = 0
    due_at: datetime | None = None
    holder: str | None = None
    remote_ref: str | None = None
    """The surface's id of the message, for edits and for the thread of later messages."""
    error: str | None = None
    created_at: datetime
    delivered_at: datetime | None = None


class Incoming(Row, table=True):
    """A verified command or tap, stored before it is acknowledged; accepted once per key.

    `status`: new, done.
    """

    __tablename__ = "inbox"
    __table_args__ = (
        sa.Index("ix_inbox_new", "identity", "created_at", sqlite_where=sa.text("status = 'new'"),
                 postgresql_where=sa.text("status = 'new'")),
    )  # fmt: skip
    key: str = Field(primary_key=True)
    """The surface's idempotency key: `slack:<trigger>`, `telegram:<update>`."""
    surface: str
    identity: str
    """The sender; requests of one person are processed in order."""
    payload: dict[str, Any] = Field(sa_type=Json)
    status: str = "new"
    holder: str | None = None
    """The process that handles it; empty if one released it, None if it was never claimed."""
    taken_at: datetime | None = None
    created_at: datetime
    done_at: datetime | None = None
