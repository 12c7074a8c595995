"""Tables: grants, known tools, models' votes, results of checks, seals of the audit log."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Json, Row


class Grant(Row, table=True):
    """A person's standing approval of calls like one that they approved; never for RED. Source: row C7."""

    __tablename__ = "grants"
    __table_args__ = (
        sa.Index("ix_grants_live", "project_id", sqlite_where=sa.text("revoked_at IS NULL"),
                 postgresql_where=sa.text("revoked_at IS NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    project_id: str
    tool: str
    tool_digest: str
    """The tool's digest at the time; a changed schema or description ends the grant."""
    scope: str
    """agent (this persona in this project), task or hour."""
    persona: str
    task_id: str | None = None
    shape: str | None = None
    """Digest of the arguments that calls must share; None: any arguments."""
    simulated: bool = False
    """Given in a rehearsal: applies only in rehearsals."""
    reason: str = ""
    approval_id: str
    given_by: str
    uses: int = 0
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None


class KnownTool(Row, table=True):
    """A tool as first used in a project; a changed definition is barred until a person accepts it."""

    __tablename__ = "known_tools"
    project_id: str = Field(primary_key=True)
    tool: str = Field(primary_key=True)
    digest: str = Field(primary_key=True)
    status: str
    """known, changed (a person is asked) or refused."""
    definition: dict[str, Any] = Field(sa_type=Json)
    """Description and input_schema, to show changes to a person."""
    approval_id: str | None = None
    created_at: datetime


class Vote(Row, table=True):
    """One model's vote on a question, before a person is asked or in place of one. Source: rows A10, C8."""

    __tablename__ = "votes"
    __table_args__ = (
        sa.UniqueConstraint("about", "seat"),
        sa.Index("ix_votes_out", "created_at", sqlite_where=sa.text("verdict IS NULL"),
                 postgresql_where=sa.text("verdict IS NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    about: str = Field(index=True)
    """`approval:ID` or `task:ID:CYCLE`."""
    seat: int
    """1 to 3."""
    model: str
    run_id: str | None = Field(default=None, index=True)
    verdict: str | None = None
    """yes or no; None while open; `lost` if its run failed."""
    reason: str = ""
    cost_microusd: int = 0
    created_at: datetime
    given_at: datetime | None = None


class CheckResult(Row, table=True):
    """The result of one check of a deliverable, bound to the deliverable's digest. Source: rows A15, A20."""

    __tablename__ = "check_results"
    __table_args__ = (sa.UniqueConstraint("deliverable_id", "kind", "position"),)
    id: str = Field(primary_key=True)
    task_id: str = Field(foreign_key="tasks.id", ondelete="CASCADE", index=True)
    deliverable_id: str
    sha256: str
    kind: str
    """gate (for every deliverable) or evidence (the task's own checks)."""
    position: int
    name: str
    passed: bool
    detail: str = ""
    run_id: str | None = None
    created_at: datetime


class AuditSeal(Row, table=True):
    """One link of the audit log's chain: signed with a key that is not in the database. Source: row I4."""

    __tablename__ = "audit_seals"
    __table_args__ = (
        sa.Index("ix_audit_seals_live", "first", sqlite_where=sa.text("pruned_at IS NULL"),
                 postgresql_where=sa.text("pruned_at IS NULL")),
    )  # fmt: skip
    number: int = Field(primary_key=True, sa_type=sa.BigInteger, sa_column_kwargs={"autoincrement": False})
    """1, 2, 3 …; a gap is a removed link."""
    epoch: int
    """The number of restores from backups so far."""
    kind: str
    """batch (activities as written), redact (as changed by an erasure), prune (deleted by retention), restore (from a
    backup) or anew (continued with a new key).
    """
    first: int = Field(sa_type=sa.BigInteger)
    last: int = Field(sa_type=sa.BigInteger)
    ranges: list[list[int]] = Field(sa_type=Json)
    """Ids of its activities, as [first, last] pairs."""
    count: int
    top: int = Field(sa_type=sa.BigInteger)
    """The highest activity id in the chain up to this link."""
    floor: int = Field(sa_type=sa.BigInteger)
    """The id up to which no more activities could be committed when the link was made."""
    digest: str
    """Of `leaves`."""
    leaves: bytes | None = None
    """SHA-256 of each of its activities, in id order; None if there are none, or all were deleted."""
    previous: str
    """The head of the link before."""
    head: str
    """Digest of all fields above except `leaves`, of the key's id and the time. This is what is published."""
    key_id: str
    seal: str
    """HMAC of the head."""
    horizon: int | None = Field(default=None, sa_type=sa.BigInteger)
    """PostgreSQL's next transaction id at the time: once all earlier ones have ended, nothing is committed late."""
    pruned_at: datetime | None = None
    """When the last of its activities was deleted; the link stays part of the chain."""
    created_at: datetime
