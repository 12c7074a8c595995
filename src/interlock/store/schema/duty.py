"""Who keeps watch and what came of it: leaders, firings of jobs, squad controls, incidents, versions of lessons."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Counter, Json, Row


class Leader(Row, table=True):
    """The lease of a duty that one process at a time has: the scheduler, the outbox of a surface, a poll.

    Judged, as workers are, by a beat that stops growing on the observer's monotonic clock.
    """

    __tablename__ = "leaders"
    name: str = Field(primary_key=True)
    holder: str | None = None
    host: str | None = None
    pid: int | None = None
    process_started: str | None = None
    fence: int = 0
    """Raised with each new holder; every write of the duty shows it."""
    beat: int = 0
    taken_at: datetime | None = None


class Firing(Row, table=True):
    """One firing of a job; the key makes sure that there is no second one. `status`: started, done, failed."""

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
    """What the whole squad may do: `mode` is running, paused, draining or stopped. Source: row I2."""

    __tablename__ = "controls"
    scope: str = Field(primary_key=True)
    """`squad`."""
    mode: str = "running"
    version: int = 0
    reason: str | None = None
    set_by: str | None = None
    set_at: datetime


class Incident(Row, table=True):
    """Something that went wrong and that the Learner should look at.

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
    """A lesson as it was written: what, by whom and why. Source: row H7."""

    __tablename__ = "lesson_versions"
    lesson_id: str = Field(primary_key=True, foreign_key="lessons.id", ondelete="CASCADE")
    version: int = Field(primary_key=True)
    content: dict[str, Any] = Field(sa_type=Json)
    author_kind: str
    author_id: str
    reason: str
    created_at: datetime


class LessonUse(Row, table=True):
    """A lesson that was shown to a run, and what came of the task: helped, hurt or nothing yet. Source: row H8."""

    __tablename__ = "lesson_uses"
    lesson_id: str = Field(primary_key=True, foreign_key="lessons.id", ondelete="CASCADE")
    run_id: str = Field(primary_key=True)
    task_id: str | None = Field(default=None, index=True)
    outcome: str | None = None
    shown_at: datetime
    decided_at: datetime | None = None


class Schedule(Row, table=True):
    """What is started at times that a person chose: a mission, or a message to an agent.

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
    """Of a message: whose agent gets it."""
    text: str
    cron: str | None = None
    """Five fields; else `every_s` is set."""
    every_s: float | None = None
    timezone: str
    """In which the fields of `cron` are read."""
    anchor_at: datetime
    """What the intervals of `every_s` are counted from."""
    options: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    """Of a goal: model, budget_microusd; of any: where its answer goes."""
    state: str = "active"
    """active, paused or ended."""
    state_reason: str | None = None
    next_at: datetime | None = None
    """When it is due next; None while it is not active."""
    last_at: datetime | None = None
    last_outcome: str | None = None
    version: int = 0
    created_by: str
    """The person in whose name it acts."""
    created_at: datetime
    updated_at: datetime
