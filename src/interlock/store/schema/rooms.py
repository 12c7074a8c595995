"""Where agents and people of a project talk: channels, who is in them, what is said; what those who watch are told."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Counter, Json, Row


class Channel(Row, table=True):
    """A place of the workspace chat: open to the project, private to its members, or a direct conversation of two.

    Source: rows J4, E16.
    """

    __tablename__ = "channels"
    __table_args__ = (sa.UniqueConstraint("project_id", "key"),)
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE")
    kind: str
    """channel, private or dm."""
    key: str
    """Its name, or of a direct conversation the two who have it, sorted: two can have only one."""
    name: str
    topic: str = ""
    created_by: str
    """`person:ID` or `agent:PERSONA`."""
    created_at: datetime
    archived_at: datetime | None = None
    last_seq: int = Field(default=0, sa_type=sa.BigInteger)
    """Of the message that was said last; who says the next locks this row."""


class ChannelMember(Row, table=True):
    """Somebody who is in a channel: `kind` is person (`who` is their id) or agent (`who` is a persona)."""

    __tablename__ = "channel_members"
    channel_id: str = Field(primary_key=True, foreign_key="channels.id", ondelete="CASCADE")
    kind: str = Field(primary_key=True)
    who: str = Field(primary_key=True)
    joined_at: datetime


class ChatMessage(Row, table=True):
    """Something said in a channel, or in the thread of `parent_id`, which is itself no reply."""

    __tablename__ = "chat_messages"
    __table_args__ = (
        sa.Index("ix_chat_messages_place", "channel_id", "seq", unique=True),
        sa.Index("ix_chat_messages_thread", "parent_id", "seq", sqlite_where=sa.text("parent_id IS NOT NULL"),
                 postgresql_where=sa.text("parent_id IS NOT NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    seq: int = Field(sa_type=sa.BigInteger)
    """Its place among those of its channel, from 1."""
    channel_id: str = Field(foreign_key="channels.id", ondelete="CASCADE")
    parent_id: str | None = None
    author_kind: str
    """person, agent or system."""
    author: str
    """A person's id or a persona."""
    text: str
    run_id: str | None = None
    """Of an agent's: the run that said it."""
    depth: int = 0
    """How many agents stand between it and a person's words; a person's own have 0. Source: row E16."""
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    """Taint that comes with it."""
    idempotency_key: str = Field(unique=True)
    created_at: datetime
    edited_at: datetime | None = None


class ChatReaction(Row, table=True):
    """One sign of somebody on a message."""

    __tablename__ = "chat_reactions"
    message_id: str = Field(primary_key=True, foreign_key="chat_messages.id", ondelete="CASCADE")
    author_kind: str = Field(primary_key=True)
    author: str = Field(primary_key=True)
    emoji: str = Field(primary_key=True)
    created_at: datetime


class ChatRound(Row, table=True):
    """A message that agents are to see one after another, each after what those before have said; gone once all did.

    In one place, which is a channel or a thread of it, one round goes on at a time, in the order of the messages.
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
    """The root of the thread it is in."""
    seq: int = Field(sa_type=sa.BigInteger)
    """Of the message."""
    waiting: list[str] = Field(sa_type=Json)
    """Personas whose turn has still to come, in order."""
    run_id: str | None = None
    """Of whose turn it is now."""
    created_at: datetime


class FeedEvent(Row, table=True):
    """Something that those who watch are told of, in the transaction that made it so; kept for a day.

    What only matters while it happens (deltas, tools at work) is told without a row.
    """

    __tablename__ = "feed"
    __table_args__ = (sa.Index("ix_feed_created_at", "created_at"),)
    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    name: str
    """`message_created`, `task_changed` and so on. Source: interfaces, "HTTP"."""
    project_id: str
    channel_id: str | None = None
    """Of what only members of that channel may see."""
    payload: dict[str, Any] = Field(sa_type=Json)
    created_at: datetime


class ApiToken(Row, table=True):
    """What a program shows to act for a person; only a digest of it is kept. Source: row L4."""

    __tablename__ = "api_tokens"
    id: str = Field(primary_key=True)
    person_id: str = Field(foreign_key="people.id", ondelete="CASCADE", index=True)
    name: str
    digest: str = Field(unique=True)
    """SHA-256 of the token, in hex."""
    role: str
    """viewer, operator or admin; never more than the person's own."""
    project_id: str | None = None
    """The one project that it is good for; None: all."""
    created_at: datetime
    expires_at: datetime | None = None
    used_at: datetime | None = None
    """To the hour or so."""
    revoked_at: datetime | None = None
