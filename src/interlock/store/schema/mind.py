"""What agents keep in mind: markers in their histories, subagents they have, blocks and memories of their own."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Json, Row


class SessionMarker(Row, table=True):
    """A place in an agent's history from which on it counts: what was before is left out, or summed up.

    `kind` is start, reset, compaction, emergency or import. Source: rows E13, E14.
    """

    __tablename__ = "session_markers"
    __table_args__ = (sa.Index("ix_session_markers_agent_id", "agent_id", "id"),)
    id: str = Field(primary_key=True)
    """Sorts by time."""
    agent_id: str = Field(foreign_key="agents.id", ondelete="CASCADE")
    kind: str
    from_seq: int
    """Runs of the mailbox from this one on are its history."""
    run_id: str | None = None
    """Of a compaction within a run: which, and up to what `position` its rows are summed up."""
    position: int | None = None
    summary: str | None = None
    """What the model is told in place of what is left out."""
    tokens_before: int | None = None
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    """Taint of what was summed up."""
    made_by: str
    """`person:ID`, or the run that made it."""
    created_at: datetime


class Subagent(Row, table=True):
    """An agent that another has started. `kind` is background (nameless) or session (by a label). Source: row E11."""

    __tablename__ = "subagents"
    __table_args__ = (
        sa.Index("uq_subagents_live", "key", unique=True, sqlite_where=sa.text("ended_at IS NULL"),
                 postgresql_where=sa.text("ended_at IS NULL")),
        sa.Index("ix_subagents_parent", "parent_id", sqlite_where=sa.text("ended_at IS NULL"),
                 postgresql_where=sa.text("ended_at IS NULL")),
    )  # fmt: skip
    agent_id: str = Field(primary_key=True, foreign_key="agents.id", ondelete="CASCADE")
    parent_id: str
    """The agent that started it, and is told of its end."""
    parent_run_id: str
    kind: str
    label: str | None = None
    key: str
    """`<parent>:subagent:<label>`; of a background agent its own id."""
    purpose: str
    """What it was started for, as its parent put it."""
    run_id: str
    """Its first run, whose end is its own."""
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None
    outcome: str | None = None
    """completed, failed, cancelled or expired."""


class MemoryBlock(Row, table=True):
    """A part of an agent's core memory, shown in each of its prompts as `### label`. Source: row H2."""

    __tablename__ = "memory_blocks"
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE", index=True)
    label: str
    content: str
    version: int = 1
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    """Taint of what was written into it."""
    created_at: datetime
    updated_at: datetime


class BlockHolder(Row, table=True):
    """A persona of the project that has a block in its prompts."""

    __tablename__ = "block_holders"
    __table_args__ = (sa.UniqueConstraint("project_id", "persona", "label"),)
    block_id: str = Field(primary_key=True, foreign_key="memory_blocks.id", ondelete="CASCADE")
    persona: str = Field(primary_key=True)
    project_id: str
    label: str
    """The block's, so that a persona has one of that name."""
    can_write: bool = True


class Memory(Row, table=True):
    """Something that was kept to be recalled. Source: row H3."""

    __tablename__ = "memories"
    __table_args__ = (
        sa.UniqueConstraint("project_id", "scope", "digest"),
        sa.Index("ix_memories_weight", "project_id", "scope", "importance", "id",
                 sqlite_where=sa.text("archived_at IS NULL"), postgresql_where=sa.text("archived_at IS NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE")
    persona: str
    """Whose it is."""
    scope: str
    """Who is shown it: its persona in all it does, or with one person only, or in rehearsals only."""
    person_id: str | None = None
    """Whom it was heard from, where that is a person."""
    type: str
    """fact, conversation, decision, observation or learning."""
    text: str
    length: int
    """Of the text in words."""
    importance: float
    """0 to 1."""
    decay: float = 1.0
    """1 when it was last used; less with each day since."""
    digest: str
    """Of the text, so that the same is kept once."""
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    run_id: str | None = None
    version: int = 1
    uses: int = 0
    created_at: datetime
    used_at: datetime
    decayed_at: datetime
    archived_at: datetime | None = None


class MemoryWord(Row, table=True):
    """A word of a memory that is not archived, so that both databases find it alike."""

    __tablename__ = "memory_words"
    __table_args__ = (sa.Index("ix_memory_words_memory_id", "memory_id"), {"sqlite_with_rowid": False})
    project_id: str = Field(primary_key=True)
    scope: str = Field(primary_key=True)
    word: str = Field(primary_key=True)
    memory_id: str = Field(primary_key=True, foreign_key="memories.id", ondelete="CASCADE")
    times: int


class MemoryVersion(Row, table=True):
    """A block or a memory as it was written: what, by whom and why. Source: row H7."""

    __tablename__ = "memory_versions"
    subject_id: str = Field(primary_key=True)
    """Of a block or a memory."""
    version: int = Field(primary_key=True)
    content: dict[str, Any] = Field(sa_type=Json)
    author_kind: str
    author_id: str
    reason: str
    created_at: datetime
