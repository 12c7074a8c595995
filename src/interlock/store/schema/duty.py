"""Tables of background work: leaders, firings of jobs, squad controls, incidents, lesson history, schedules."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Counter, Json, Row


class Leader(Row, table=True):
    """The lease of a duty that one process at a time holds: the scheduler, the outbox of a surface, a poll.

    Like a worker, a holder is judged by whether `beat` grows, on the observer's monotonic clock.
    """

    __tablename__ = "leaders"
    name: str = Field(primary_key=True)
    holder: str | None = None
    host: str | None = None
    pid: int | None = None
    process_started: str | None = None
    fence: int = 0
    """The fencing token, incremented with each new holder; every write of the duty checks it."""
    beat: int = 0
    taken_at: datetime | None = None


class Firing(Row, table=True):
    """One firing of a job; the key ensures that there is no second one. `status`: started, done, failed."""

    __tablename__ = "firings"
    __table_args__ = (sa.UniqueConstraint("job", "fire_at"), sa.Index("ix_firings_created_at", "created_at"))
    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    job: str
    fire_at: datetime
    fence: int
    status: str = "started"
    outcome: str | None = None
    created_at: datetime
    ended_at: datetime | None = None


class Control(Row, table=True):
    """The mode of the whole squad: running, paused, draining or stopped. Source: row I2."""

    __tablename__ = "controls"
    scope: str = Field(primary_key=True)
    """`squad`."""
    mode: str = "running"
    version: int = 0
    reason: str | None = None
    set_by: str | None = None
    set_at: datetime


class Incident(Row, table=True):
    """A failure for the Learner to review.

    `kind`: AGENT_LOST, LOOP, BREAKER, DEADLINE, QUARANTINE.
    """

    __tablename__ = "incidents"
    id: str = Field(primary_key=True)
    kind: str
    project_id: str
    mission_id: str | None = Field(default=None, index=True)
    task_id: str | None = Field(default=None, index=True)
    run_id: str | None = None
    agent_id: str | None = None
    text: str
    data: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    created_at: datetime


class LessonVersion(Row, table=True):
    """A version of a lesson, with author and reason. Source: row H7."""

    __tablename__ = "lesson_versions"
    lesson_id: str = Field(primary_key=True, foreign_key="lessons.id", ondelete="CASCADE")
    version: int = Field(primary_key=True)
    content: dict[str, Any] = Field(sa_type=Json)
    author_kind: str
    author_id: str
    reason: str
    created_at: datetime


class LessonUse(Row, table=True):
    """The use of a lesson in a run, and its outcome: helped, hurt or nothing yet. Source: row H8."""

    __tablename__ = "lesson_uses"
    lesson_id: str = Field(primary_key=True, foreign_key="lessons.id", ondelete="CASCADE")
    run_id: str = Field(primary_key=True)
    task_id: str | None = Field(default=None, index=True)
    outcome: str | None = None
    shown_at: datetime
    decided_at: datetime | None = None


class Schedule(Row, table=True):
    """A user's schedule: starts a mission, or sends a message to an agent.

    Its firings are rows of `firings` under the job `schedule:ID`. Source: row I6.
    """

    __tablename__ = "schedules"
    __table_args__ = (
        sa.UniqueConstraint("project_id", "name"),
        sa.Index("ix_schedules_next_at", "next_at", sqlite_where=sa.text("next_at IS NOT NULL"),
                 postgresql_where=sa.text("next_at IS NOT NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    project_id: str
    name: str
    kind: str
    """goal, message or heartbeat."""
    persona: str | None = None
    """For a message: the persona whose agent receives it."""
    text: str
    cron: str | None = None
    """Five fields; else `every_s` is set."""
    every_s: float | None = None
    timezone: str
    """The time zone of `cron`."""
    anchor_at: datetime
    """The origin of the intervals of `every_s`."""
    options: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    """For a goal: model, budget_microusd; for any: where the answer goes."""
    state: str = "active"
    """active, paused or ended."""
    state_reason: str | None = None
    next_at: datetime | None = None
    """The next due time; None while it is not active."""
    last_at: datetime | None = None
    last_outcome: str | None = None
    version: int = 0
    created_by: str
    """The person it acts for."""
    created_at: datetime
    updated_at: datetime
