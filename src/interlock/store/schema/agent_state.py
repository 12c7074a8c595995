"""Tables of agents' state: session markers, subagents, memory blocks, memories."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Json, Row


class SessionMarker(Row, table=True):
    """A position in an agent's history before which everything is omitted or summarised.

    `kind` is start, reset, compaction, emergency or import. Source: rows E13, E14.
    """

    __tablename__ = "session_markers"
    __table_args__ = (sa.Index("ix_session_markers_agent_id", "agent_id", "id"),)
    id: str = Field(primary_key=True)
    """Sorts by time."""
    agent_id: str = Field(foreign_key="agents.id", ondelete="CASCADE")
    kind: str
    from_seq: int
    """The history consists of the mailbox's runs from this one on."""
    run_id: str | None = None
    """For a compaction within a run: the run, whose rows up to `position` are summarised."""
    position: int | None = None
    summary: str | None = None
    """The summary that replaces what is omitted."""
    tokens_before: int | None = None
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    """Taint of what was summarised."""
    made_by: str
    """`person:ID`, or the run that made it."""
    created_at: datetime


class Subagent(Row, table=True):
    """An agent started by another. `kind` is background (unnamed) or session (labelled). Source: row E11."""

    __tablename__ = "subagents"
    __table_args__ = (
        sa.Index("uq_subagents_live", "key", unique=True, sqlite_where=sa.text("ended_at IS NULL"),
                 postgresql_where=sa.text("ended_at IS NULL")),
        sa.Index("ix_subagents_parent", "parent_id", sqlite_where=sa.text("ended_at IS NULL"),
                 postgresql_where=sa.text("ended_at IS NULL")),
    )  # fmt: skip
    agent_id: str = Field(primary_key=True, foreign_key="agents.id", ondelete="CASCADE")
    parent_id: str
    """The agent that started it, and is notified of its end."""
    parent_run_id: str
    kind: str
    label: str | None = None
    key: str
    """`<parent>:subagent:<label>`; for a background agent, its own id."""
    purpose: str
    """Its purpose, in its parent's words."""
    run_id: str
    """Its first run, which also ends the subagent."""
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None
    outcome: str | None = None
    """completed, failed, cancelled or expired."""


class MemoryBlock(Row, table=True):
    """A block of core memory, included in each prompt as `### label`. Source: row H2."""

    __tablename__ = "memory_blocks"
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE", index=True)
    label: str
    content: str
    version: int = 1
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    """Taint of its content."""
    created_at: datetime
    updated_at: datetime


class BlockHolder(Row, table=True):
    """A persona of the project with a block in its prompts."""

    __tablename__ = "block_holders"
    __table_args__ = (sa.UniqueConstraint("project_id", "persona", "label"),)
    block_id: str = Field(primary_key=True, foreign_key="memory_blocks.id", ondelete="CASCADE")
    persona: str = Field(primary_key=True)
    project_id: str
    label: str
    """A copy of the block's label, so that it is unique for a persona."""
    can_write: bool = True


class Memory(Row, table=True):
    """A memory that can be recalled. Source: row H3."""

    __tablename__ = "memories"
    __table_args__ = (
        sa.UniqueConstraint("project_id", "scope", "digest"),
        sa.Index("ix_memories_weight", "project_id", "scope", "importance", "id",
                 sqlite_where=sa.text("archived_at IS NULL"), postgresql_where=sa.text("archived_at IS NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE")
    persona: str
    """The persona that owns it."""
    scope: str
    """Where it may be recalled: in all of its persona's runs, with one person only, or in rehearsals only."""
    person_id: str | None = None
    """The person it came from, if any."""
    type: str
    """fact, conversation, decision, observation or learning."""
    text: str
    length: int
    """Length of the text in words."""
    importance: float
    """0 to 1."""
    decay: float = 1.0
    """1 when last used; decreases with each day since."""
    digest: str
    """Digest of the text, for deduplication."""
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    run_id: str | None = None
    version: int = 1
    uses: int = 0
    created_at: datetime
    used_at: datetime
    decayed_at: datetime
    archived_at: datetime | None = None


class MemoryWord(Row, table=True):
    """The word index of memories that are not archived, so that search works the same on both databases."""

    __tablename__ = "memory_words"
    __table_args__ = (sa.Index("ix_memory_words_memory_id", "memory_id"), {"sqlite_with_rowid": False})
    project_id: str = Field(primary_key=True)
    scope: str = Field(primary_key=True)
    word: str = Field(primary_key=True)
    memory_id: str = Field(primary_key=True, foreign_key="memories.id", ondelete="CASCADE")
    times: int


class MemoryVersion(Row, table=True):
    """A version of a block or a memory, with author and reason. Source: row H7."""

    __tablename__ = "memory_versions"
    subject_id: str = Field(primary_key=True)
    """The id of a block or a memory."""
    version: int = Field(primary_key=True)
    content: dict[str, Any] = Field(sa_type=Json)
    author_kind: str
    author_id: str
    reason: str
    created_at: datetime
