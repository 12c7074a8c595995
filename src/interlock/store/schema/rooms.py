"""Tables of the workspace chat (channels, members, messages, reactions, rounds), the event feed and API tokens."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Counter, Json, Row


class Channel(Row, table=True):
    """A channel of the workspace chat: open to the project, private to its members, or a direct conversation of two.

    Source: rows J4, E16.
    """

    __tablename__ = "channels"
    __table_args__ = (sa.UniqueConstraint("project_id", "key"),)
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE")
    kind: str
    """channel, private or dm."""
    key: str
    """Its name; for a direct conversation, the two members, sorted, so that it is unique."""
    name: str
    topic: str = ""
    created_by: str
    """`person:ID` or `agent:PERSONA`."""
    created_at: datetime
    archived_at: datetime | None = None
    last_seq: int = Field(default=0, sa_type=sa.BigInteger)
    """The `seq` of the last message; posting locks this row."""


class ChannelMember(Row, table=True):
    """A member of a channel: `kind` is person (`who` is their id) or agent (`who` is a persona)."""

    __tablename__ = "channel_members"
    channel_id: str = Field(primary_key=True, foreign_key="channels.id", ondelete="CASCADE")
    kind: str = Field(primary_key=True)
    who: str = Field(primary_key=True)
    joined_at: datetime


class ChatMessage(Row, table=True):
    """A message in a channel, or in the thread of `parent_id`, which is not itself a reply."""

    __tablename__ = "chat_messages"
    __table_args__ = (
        sa.Index("ix_chat_messages_place", "channel_id", "seq", unique=True),
        sa.Index("ix_chat_messages_thread", "parent_id", "seq", sqlite_where=sa.text("parent_id IS NOT NULL"),
                 postgresql_where=sa.text("parent_id IS NOT NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    seq: int = Field(sa_type=sa.BigInteger)
    """Its position in the channel, from 1."""
    channel_id: str = Field(foreign_key="channels.id", ondelete="CASCADE")
    parent_id: str | None = None
    author_kind: str
    """person, agent or system."""
    author: str
    """A person's id or a persona."""
    text: str
    run_id: str | None = None
    """For an agent's message: the run that posted it."""
    depth: int = 0
    """The number of agents in the chain from a person's message; a person's own have 0. Source: row E16."""
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    """Its taint."""
    idempotency_key: str = Field(unique=True)
    created_at: datetime
    edited_at: datetime | None = None


class ChatReaction(Row, table=True):
    """A reaction to a message."""

    __tablename__ = "chat_reactions"
    message_id: str = Field(primary_key=True, foreign_key="chat_messages.id", ondelete="CASCADE")
    author_kind: str = Field(primary_key=True)
    author: str = Field(primary_key=True)
    emoji: str = Field(primary_key=True)
    created_at: datetime


class ChatRound(Row, table=True):
    """The pending turns of agents for a message, one after another; deleted once all have ended.

    In one place (a channel or a thread) one round is active at a time, in the order of the messages.
    """

    __tablename__ = "chat_rounds"
    __table_args__ = (
        sa.Index("ix_chat_rounds_place", "channel_id", "thread", "seq"),
        sa.Index("ix_chat_rounds_run_id", "run_id", sqlite_where=sa.text("run_id IS NOT NULL"),
                 postgresql_where=sa.text("run_id IS NOT NULL")),
    )  # fmt: skip
    message_id: str = Field(primary_key=True, foreign_key="chat_messages.id", ondelete="CASCADE")
    channel_id: str
    thread: str = ""
    """The root of its thread."""
    seq: int = Field(sa_type=sa.BigInteger)
    """The message's `seq`."""
    waiting: list[str] = Field(sa_type=Json)
    """Personas whose turns are pending, in order."""
    run_id: str | None = None
    """The run of the active turn."""
    created_at: datetime


class FeedEvent(Row, table=True):
    """An event for live readers, written in the transaction of the change; kept for a day.

    Transient events (deltas, tools in progress) have no rows.
    """

    __tablename__ = "feed"
    __table_args__ = (sa.Index("ix_feed_created_at", "created_at"),)
    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    name: str
    """`message_created`, `task_changed` and so on. Source: interfaces, "HTTP"."""
    project_id: str
    channel_id: str | None = None
    """The channel whose members alone may see it."""
    payload: dict[str, Any] = Field(sa_type=Json)
    created_at: datetime


class ApiToken(Row, table=True):
    """A token with which a program acts for a person; only a digest is stored. Source: row L4."""

    __tablename__ = "api_tokens"
    id: str = Field(primary_key=True)
    person_id: str = Field(foreign_key="people.id", ondelete="CASCADE", index=True)
    name: str
    digest: str = Field(unique=True)
    """SHA-256 of the token, in hex."""
    role: str
    """viewer, operator or admin; never more than the person's own."""
    project_id: str | None = None
    """The only project it is valid for; None: all."""
    created_at: datetime
    expires_at: datetime | None = None
    used_at: datetime | None = None
    """Accurate to about an hour."""
    revoked_at: datetime | None = None
