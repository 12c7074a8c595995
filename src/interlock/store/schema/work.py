"""Tables of work: missions, tasks, transitions, threads, deliverables, files, coordinators' checkpoints, lessons."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Counter, Json, Row, of_some


class Mission(Row, table=True):
    """What a root task has beyond a task: the goal, the coordinator's plan and version, and how it is run."""

    __tablename__ = "missions"
    __table_args__ = (sa.Index("ix_missions_created_at", "created_at", "id"),)
    id: str = Field(primary_key=True, foreign_key="tasks.id", ondelete="CASCADE")
    project_id: str
    goal: str
    model: str | None = None
    simulated: bool = False
    graph_version: int
    coordinator_agent_id: str
    thinker_agent_id: str
    requested_by: str
    summary: str | None = None
    estimate_microusd: int = 0
    deadline_at: datetime | None = None
    canceled_at: datetime | None = None
    workflow: dict[str, Any] | None = Field(default=None, sa_type=Json)
    """The workflow that replaces a plan, as it was when the mission began. Source: row A14."""
    created_at: datetime


class Task(Row, table=True):
    """A node of a mission; the root has no parent. Only `tasks.advance()` changes `status`."""

    __tablename__ = "tasks"
    __table_args__ = (
        sa.Index("ix_tasks_status_updated_at", "status", "updated_at"),
        sa.Index("ix_tasks_created_at", "created_at", "id"),
        sa.Index("ix_tasks_roots", "status", sqlite_where=sa.text("parent_id IS NULL"),
                 postgresql_where=sa.text("parent_id IS NULL")),
        sa.Index("ix_tasks_open", "project_id", sqlite_where=sa.text("ended_at IS NULL"),
                 postgresql_where=sa.text("ended_at IS NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE")
    mission_id: str = Field(index=True)
    parent_id: str | None = None
    key: str
    """The task's key in the plan; the root's is `root`."""
    title: str
    description: str
    persona: str | None = None
    type: str
    priority: str = "medium"
    status: str = "INBOX"
    estimated_minutes: int = 0
    capabilities: list[str] = Field(default_factory=list, sa_type=Json)
    deliverable_spec: str = ""
    budget_microusd: int = 0
    reviews_task_id: str | None = None
    """For a review: the task whose work it reviews."""
    assignee_agent_id: str | None = None
    attempt: int = 0
    """Failed attempts of the current assignment."""
    generation: int = 0
    """Incremented when another agent takes over; the descriptor of a task agent is (task, generation)."""
    review_cycles: int = 0
    held_from: str | None = None
    """The state before NEEDS_APPROVAL or BLOCKED."""
    block_kind: str | None = None
    block_reason: str | None = None
    wait_for: str | None = None
    """`approval:ID`, `task:ID` or `owner:NAME`: what ends a wait. Source: row A18."""
    escalate_at: datetime | None = None
    feedback: str | None = None
    deliverable_id: str | None = None
    approval_id: str | None = None
    """The approval record that let it be DONE."""
    superseded_by: str | None = None
    checks: list[dict[str, Any]] | None = Field(default=None, sa_type=Json)
    """The checks that must pass before it is done. Source: row A20."""
    idle_calls: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """Model calls since its last progress. Source: row I7."""
    idle_microusd: int = Field(default=0, sa_type=sa.BigInteger, sa_column_kwargs={"server_default": "0"})
    """The cost of those calls."""
    version: int = 0
    idempotency_key: str = Field(unique=True)
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None = None


class TaskDependency(Row, table=True):
    """`task_id` cannot start before `depends_on_id` is DONE (a review: in REVIEW)."""

    __tablename__ = "task_dependencies"
    task_id: str = Field(primary_key=True, foreign_key="tasks.id", ondelete="CASCADE")
    depends_on_id: str = Field(primary_key=True, foreign_key="tasks.id", ondelete="CASCADE", index=True)


class TaskTransition(Row, table=True):
    """One change of a task's state.

    Source: row B3.
    """

    __tablename__ = "task_transitions"
    id: str = Field(primary_key=True)
    task_id: str = Field(foreign_key="tasks.id", ondelete="CASCADE", index=True)
    from_status: str
    to_status: str
    actor_kind: str
    actor_id: str
    reason: str
    idempotency_key: str = Field(unique=True)
    created_at: datetime


class TaskMessage(Row, table=True):
    """A message in a task's thread: COMMENT, PROGRESS or ARTIFACT."""

    __tablename__ = "task_messages"
    id: str = Field(primary_key=True)
    task_id: str = Field(foreign_key="tasks.id", ondelete="CASCADE", index=True)
    kind: str
    author_kind: str
    author_id: str
    run_id: str | None = None
    text: str
    created_at: datetime


class Deliverable(Row, table=True):
    """The result of a task: text, structured data or a workspace file, identified by its digest."""

    __tablename__ = "deliverables"
    id: str = Field(primary_key=True)
    task_id: str = Field(foreign_key="tasks.id", ondelete="CASCADE", index=True)
    run_id: str | None = None
    kind: str
    """text, data or file."""
    title: str
    summary: str = ""
    text: str | None = None
    data: Any | None = Field(default=None, sa_type=Json)
    path: str | None = None
    blob: str | None = Field(default=None, index=True)
    sha256: str
    verdict: str | None = None
    """For a review: pass or changes."""
    findings: list[str] = Field(default_factory=list, sa_type=Json)
    risk: str = "GREEN"
    simulated: bool = False
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    created_at: datetime


class Blob(Row, table=True):
    """Bytes by their SHA-256."""

    __tablename__ = "blobs"
    hash: str = Field(primary_key=True)
    size: int
    data: bytes
    created_at: datetime


class WorkspaceFile(Row, table=True):
    """One version of a file of a project's workspace; the highest version is current. A removed file has no blob."""

    __tablename__ = "workspace_files"
    __table_args__ = (
        sa.UniqueConstraint("project_id", "path", "version"),
        of_some("ix_workspace_files_run_id", "run_id"),
    )
    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id", ondelete="CASCADE")
    path: str
    version: int
    blob: str | None = Field(default=None, foreign_key="blobs.hash", index=True)
    base_version: int = 0
    """The version that its writer had read; lower than `version - 1` after concurrent writes."""
    run_id: str | None = None
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    created_at: datetime


class MissionEvent(Row, table=True):
    """An event for the coordinator of a mission, consumed in order."""

    __tablename__ = "mission_events"
    __table_args__ = (
        sa.Index("ix_mission_events_open", "mission_id", "id", sqlite_where=sa.text("consumed_at IS NULL"),
                 postgresql_where=sa.text("consumed_at IS NULL")),
    )  # fmt: skip
    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    mission_id: str = Field(foreign_key="missions.id", ondelete="CASCADE")
    kind: str
    payload: dict[str, Any] = Field(sa_type=Json)
    created_at: datetime
    consumed_at: datetime | None = None


class Checkpoint(Row, table=True):
    """A checkpoint of the coordinator's graph, JSON only."""

    __tablename__ = "checkpoints"
    thread_id: str = Field(primary_key=True)
    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    parent_id: str | None = None
    data: dict[str, Any] = Field(sa_type=Json)
    details: dict[str, Any] = Field(sa_type=Json)
    created_at: datetime


class CheckpointWrite(Row, table=True):
    """A pending write of a node between two checkpoints (an interrupt among them)."""

    __tablename__ = "checkpoint_writes"
    thread_id: str = Field(primary_key=True)
    namespace: str = Field(primary_key=True)
    checkpoint_id: str = Field(primary_key=True)
    task_id: str = Field(primary_key=True)
    idx: int = Field(primary_key=True)
    channel: str
    value: Any = Field(sa_type=Json)
    task_path: str = ""


class Lesson(Row, table=True):
    """A lesson by the Learner: a rule with its evidence."""

    __tablename__ = "lessons"
    id: str = Field(primary_key=True)
    project_id: str | None = None
    kind: str
    rule: str
    rule_digest: str = Field(unique=True)
    task_type: str | None = None
    persona: str | None = None
    confidence: float
    applied_count: int = 0
    helped_count: int = 0
    hurt_count: int = 0
    status: str = "probation"
    evidence: list[str] = Field(sa_type=Json)
    labels: list[str] = Field(default_factory=list, sa_type=Json)
    run_id: str | None = None
    version: int = Field(default=1, sa_column_kwargs={"server_default": "1"})
    """The version of text, confidence and status; earlier ones are in `lesson_versions`."""
    contradicts: list[str] | None = Field(default=None, sa_type=Json)
    """Ids of lessons that say the opposite. Source: row H9."""
    last_applied_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
