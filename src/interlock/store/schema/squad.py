"""Who works: projects, members, agents, their lanes and runs, workers and people."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Json, Row, of_some


class Meta(Row, table=True):
    """Facts about this database itself: the schema's minimum reader, its epoch."""

    __tablename__ = "meta"
    key: str = Field(primary_key=True)
    value: str


class Project(Row, table=True):
    """A scope of tasks, members, policy and money. A day of money begins at midnight in `timezone`."""

    __tablename__ = "projects"
    id: str = Field(primary_key=True)
    name: str
    timezone: str = "UTC"
    created_at: datetime


class Person(Row, table=True):
    """A human being; `role` is viewer, operator or admin. `identities` are `surface:id`, such as `local:1000`."""

    __tablename__ = "people"
    id: str = Field(primary_key=True)
    name: str
    role: str
    """viewer, operator or admin."""
    created_at: datetime


class Identity(Row, table=True):
    """How a surface knows a person: `local:1000`, `slack:U123`."""

    __tablename__ = "identities"
    key: str = Field(primary_key=True)
    person_id: str = Field(foreign_key="people.id", ondelete="CASCADE", index=True)
    created_at: datetime


class Member(Row, table=True):
    """A persona in a project: its state, track record and money are kept here."""

    __tablename__ = "members"
    __table_args__ = (sa.UniqueConstraint("project_id", "persona"),)
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE")
    persona: str
    trust: str
    state: str = "ACTIVE"
    state_reason: str | None = None
    done_count: int = 0
    failed_count: int = 0
    created_at: datetime


class Agent(Row, table=True):
    """A member at work for one descriptor, with one mailbox. The same descriptor finds the same agent."""

    __tablename__ = "agents"
    id: str = Field(primary_key=True)
    member_id: str = Field(foreign_key="members.id", ondelete="CASCADE", index=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE")
    persona: str
    descriptor_key: str = Field(unique=True)
    descriptor: dict[str, Any] = Field(sa_type=Json)
    state: str = "ACTIVE"
    persona_json: dict[str, Any] = Field(sa_type=Json)
    """The persona as it was when the agent was spawned; an edit applies at the next spawn."""
    history_from_seq: int = 0
    runtime_status: str = "idle"
    last_error: str | None = None
    created_at: datetime
    last_active_at: datetime | None = None


class Lane(Row, table=True):
    """An agent's mailbox as the claim sees it: when something is ready, who holds it, how often it was given out."""

    __tablename__ = "lanes"
    __table_args__ = (
        sa.Index(
            "ix_lanes_ready",
            "ready_at",
            sqlite_where=sa.text("holder IS NULL AND ready_at IS NOT NULL"),
            postgresql_where=sa.text("holder IS NULL AND ready_at IS NOT NULL"),
        ),
        sa.Index("ix_lanes_holder", "holder", sqlite_where=sa.text("holder IS NOT NULL"),
                 postgresql_where=sa.text("holder IS NOT NULL")),
    )  # fmt: skip
    agent_id: str = Field(primary_key=True, foreign_key="agents.id", ondelete="CASCADE")
    ready_at: datetime | None = None
    """Since when its head waits, or when it is due; the lane that waited longest is served first."""
    due_at: datetime | None = None
    """Of a lane whose head is delayed: not before this. The others are ready whatever the clocks say."""
    holder: str | None = None
    fence: int = 0
    next_seq: int = 1
    clock_at: datetime
    """The latest time any message of this lane was posted at."""
    paused: bool = False
    parked_run_id: str | None = None
    """A task agent's waiting run closes its lane; a conversation's does not."""
    exclusive: bool = False
    """Whether a waiting run closes this lane (task agents)."""
    needs: int = Field(default=0, sa_type=sa.BigInteger, sa_column_kwargs={"server_default": "0"})
    """Bits of the capabilities without which a worker cannot serve it; see `Capability`."""


class Run(Row, table=True):
    """One claimed message of a mailbox.

    Source: S0 "Run Tracking", row E3.
    """

    __tablename__ = "runs"
    __table_args__ = (
        sa.Index("ix_runs_agent_id_seq", "agent_id", "seq"),
        sa.Index("ix_runs_waiting", "agent_id", "seq", sqlite_where=sa.text("status = 'waiting'"),
                 postgresql_where=sa.text("status = 'waiting'")),
        sa.Index("ix_runs_created_at", "created_at"),
        sa.Index("ix_runs_failed", "created_at", sqlite_where=sa.text("status = 'failed'"),
                 postgresql_where=sa.text("status = 'failed'")),
        sa.Index("ix_runs_cancelled", "created_at", sqlite_where=sa.text("status = 'cancelled'"),
                 postgresql_where=sa.text("status = 'cancelled'")),
        sa.Index("ix_runs_dead", "completed_at",
                 sqlite_where=sa.text("status = 'failed' AND stop_reason = 'dead_letter'"),
                 postgresql_where=sa.text("status = 'failed' AND stop_reason = 'dead_letter'")),
        of_some("ix_runs_mission_id", "mission_id"),
        of_some("ix_runs_task_id", "task_id"),
        sa.Index("ix_runs_queue", "agent_id", "order_at", "seq", sqlite_where=sa.text("status = 'created'"),
                 postgresql_where=sa.text("status = 'created'")),
        sa.Index("uq_runs_running", "agent_id", unique=True, sqlite_where=sa.text("status = 'running'"),
                 postgresql_where=sa.text("status = 'running'")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    project_id: str
    agent_id: str = Field(foreign_key="agents.id", ondelete="CASCADE")
    kind: str
    status: str = "created"
    stop_reason: str | None = None
    order_at: datetime
    """Its place in the queue; never runs backwards within a lane, whatever the clocks do."""
    seq: int
    due_at: datetime | None = None
    """Of a delayed or retrying run: not before this."""
    attempt: int = 0
    crashes: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """How often a worker died with this run in hand."""
    payload: dict[str, Any] = Field(sa_type=Json)
    idempotency_key: str = Field(unique=True)
    cause_kind: str
    cause_id: str | None = None
    parent_run_id: str | None = None
    report_to: str | None = None
    """The agent whose mailbox is told of this run's end. Source: row A19."""
    mission_id: str | None = None
    task_id: str | None = None
    trigger_message_id: str | None = None
    channel_id: str | None = None
    dm_conversation_id: str | None = None
    worker_id: str | None = None
    fence: int = 0
    control: str | None = None
    """cancel, stop or pause: looked at by every write of the run."""
    model: str | None = None
    simulated: bool = False
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    """Taint: `untrusted`, `private`."""
    policy_hash: str | None = None
    deadline_at: datetime | None = None
    step_count: int = 0
    result: str | None = None
    error: str | None = None
    token_usage: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    cost_microusd: int = 0
    traceparent: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None


class Worker(Row, table=True):
    """A process that executes runs. `beat` only grows; observers judge it by their own monotonic clocks."""

    __tablename__ = "workers"
    id: str = Field(primary_key=True)
    host: str
    pid: int
    process_started: str
    """What tells a process from a later one with the same pid."""
    state: str = "running"
    capabilities: list[str] = Field(default_factory=list, sa_type=Json)
    concurrency: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    version: str | None = None
    """Of Interlock, as the process runs it."""
    beat: int = 0
    started_at: datetime
    beat_at: datetime


class Capability(Row, table=True):
    """Something that not every worker can do (`sandbox`, `browser`), and its bit in `Lane.needs`."""

    __tablename__ = "capabilities"
    name: str = Field(primary_key=True)
    bit: int = Field(unique=True)
    """0 to 62."""
