"""Tables of the squad: projects, people, members, agents, their lanes and runs, workers."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Json, Row, of_some


class Meta(Row, table=True):
    """Properties of this database: the schema's minimum reader, its epoch."""

    __tablename__ = "meta"
    key: str = Field(primary_key=True)
    value: str


class Project(Row, table=True):
    """A scope of tasks, members, policy and money. Daily budgets start at midnight in `timezone`."""

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
    """A person's identity on a surface: `local:1000`, `slack:U123`."""

    __tablename__ = "identities"
    key: str = Field(primary_key=True)
    person_id: str = Field(foreign_key="people.id", ondelete="CASCADE", index=True)
    created_at: datetime


class Member(Row, table=True):
    """A persona in a project, with its state and track record."""

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
    """The persona at the time the agent was spawned; edits apply at the next spawn."""
    history_from_seq: int = 0
    runtime_status: str = "idle"
    last_error: str | None = None
    created_at: datetime
    last_active_at: datetime | None = None


class Lane(Row, table=True):
    """The claimable side of an agent's mailbox: when a run is ready, who holds it, its fencing token."""

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
    """Since when its head has been waiting, or when it is due; the longest-waiting lane is served first."""
    due_at: datetime | None = None
    """If the head is delayed: not before this time. Other lanes are ready regardless of clocks."""
    holder: str | None = None
    fence: int = 0
    next_seq: int = 1
    clock_at: datetime
    """The latest time at which a message of this lane was posted."""
    paused: bool = False
    parked_run_id: str | None = None
    """The waiting run that closes the lane, if it is exclusive."""
    exclusive: bool = False
    """Whether a waiting run closes this lane (task agents)."""
    needs: int = Field(default=0, sa_type=sa.BigInteger, sa_column_kwargs={"server_default": "0"})
    """Bit mask of the capabilities that a worker must have to serve it; see `Capability`."""


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
    """Its position in the queue; never decreases within a lane, regardless of clocks."""
    seq: int
    due_at: datetime | None = None
    """If it is delayed or retried: not before this time."""
    attempt: int = 0
    crashes: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """How many workers in a row died while executing it."""
    payload: dict[str, Any] = Field(sa_type=Json)
    idempotency_key: str = Field(unique=True)
    cause_kind: str
    cause_id: str | None = None
    parent_run_id: str | None = None
    report_to: str | None = None
    """The agent to whose mailbox this run's end is reported. Source: row A19."""
    mission_id: str | None = None
    task_id: str | None = None
    trigger_message_id: str | None = None
    channel_id: str | None = None
    dm_conversation_id: str | None = None
    worker_id: str | None = None
    fence: int = 0
    control: str | None = None
    """cancel, stop or pause: checked by every write of the run."""
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
    """A process that executes runs. `beat` only grows; observers time it with their own monotonic clocks."""

    __tablename__ = "workers"
    id: str = Field(primary_key=True)
    host: str
    pid: int
    process_started: str
    """Distinguishes the process from a later one with the same PID."""
    state: str = "running"
    capabilities: list[str] = Field(default_factory=list, sa_type=Json)
    concurrency: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    version: str | None = None
    """The process's version of Interlock."""
    beat: int = 0
    started_at: datetime
    beat_at: datetime


class Capability(Row, table=True):
    """Something that not every worker can do (`sandbox`, `browser`), and its bit in `Lane.needs`."""

    __tablename__ = "capabilities"
    name: str = Field(primary_key=True)
    bit: int = Field(unique=True)
    """0 to 62."""
