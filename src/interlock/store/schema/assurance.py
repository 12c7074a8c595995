"""What assures that work may be trusted: grants, votes of models, checks of deliverables, seals of the audit log."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Json, Row


class Grant(Row, table=True):
    """A person's standing leave for calls like one that they approved; never for RED. Source: row C7."""

    __tablename__ = "grants"
    __table_args__ = (
        sa.Index("ix_grants_live", "project_id", sqlite_where=sa.text("revoked_at IS NULL"),
                 postgresql_where=sa.text("revoked_at IS NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    project_id: str
    tool: str
    tool_digest: str
    """Of the tool as it was; another schema or description ends the grant."""
    scope: str
    """agent (this persona in this project), task or hour."""
    persona: str
    task_id: str | None = None
    shape: str | None = None
    """Digest of what calls must have in common beside the tool; None: any arguments."""
    simulated: bool = False
    """Given in a rehearsal: it lets nothing run but in rehearsals."""
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
    """A tool as it was when a project first met it; one that changed is not used before a person has said so."""

    __tablename__ = "known_tools"
    project_id: str = Field(primary_key=True)
    tool: str = Field(primary_key=True)
    digest: str = Field(primary_key=True)
    status: str
    """known, changed (a person is asked) or refused."""
    definition: dict[str, Any] = Field(sa_type=Json)
    """Description and input_schema, for who is asked about a change."""
    approval_id: str | None = None
    created_at: datetime


class Vote(Row, table=True):
    """What one model said of a question, before a person is asked or in place of one. Source: rows A10, C8."""

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
    """yes or no; None as long as it is out; `lost` where its run failed."""
    reason: str = ""
    cost_microusd: int = 0
    created_at: datetime
    given_at: datetime | None = None


class CheckResult(Row, table=True):
    """How one check of a deliverable came out, pinned to the deliverable's digest. Source: rows A15, A20."""

    __tablename__ = "check_results"
    __table_args__ = (sa.UniqueConstraint("deliverable_id", "kind", "position"),)
    id: str = Field(primary_key=True)
    task_id: str = Field(foreign_key="tasks.id", ondelete="CASCADE", index=True)
    deliverable_id: str
    sha256: str
    kind: str
    """gate (of every deliverable) or evidence (what the task demands)."""
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
    """How many restores from backups the chain has been through."""
    kind: str
    """batch (activities as they were written), redact (as a person's erasure left them), prune (what retention took),
    restore (the database began anew from a backup) or anew (a key was lost, and people know)."""
    first: int = Field(sa_type=sa.BigInteger)
    last: int = Field(sa_type=sa.BigInteger)
    ranges: list[list[int]] = Field(sa_type=Json)
    """Ids of its activities, as [first, last] pairs."""
    count: int
    top: int = Field(sa_type=sa.BigInteger)
    """The highest id that the chain has up to here."""
    floor: int = Field(sa_type=sa.BigInteger)
    """Up to which id nothing could be committed late any more when it was made."""
    digest: str
    """Of `leaves`."""
    leaves: bytes | None = None
    """SHA-256 of each of its activities, in the order of ids; None if it is about none, or all of them are gone."""
    previous: str
    """The head of the link before."""
    head: str
    """Digest of all above but `leaves`, and of the key's name and the time: what is published."""
    key_id: str
    seal: str
    """HMAC of the head."""
    horizon: int | None = Field(default=None, sa_type=sa.BigInteger)
    """PostgreSQL's next transaction when it was made: once all before have ended, nothing more can come late."""
    pruned_at: datetime | None = None
    """When the last of its activities was let go; the link still chains."""
    created_at: datetime
