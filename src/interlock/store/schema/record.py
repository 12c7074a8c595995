"""Tables of records: steps, messages, tool calls, approvals, accounts, ledger, activities, alerts."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from interlock.store.schema.types import Counter, Json, Row, of_some


class RunStep(Row, table=True):
    """One model call with its tool calls.

    Source: S0 "Run Tracking".
    """

    __tablename__ = "run_steps"
    __table_args__ = (sa.UniqueConstraint("run_id", "step_number"),)
    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.id", ondelete="CASCADE")
    step_number: int
    status: str
    model_id: str
    stop_reason: str | None = None
    token_usage: dict[str, Any] = Field(sa_type=Json)
    cost_microusd: int
    attempts: int = 1
    request_id: str | None = None
    error: str | None = None
    created_at: datetime
    completed_at: datetime | None = None


class RunMessage(Row, table=True):
    """One message of a run's conversation. `blocks` is its exact form for the model; `content` is for people."""

    __tablename__ = "run_messages"
    __table_args__ = (sa.Index("ix_run_messages_run_id_position", "run_id", "position"),)
    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.id", ondelete="CASCADE")
    step_id: str | None = None
    position: int
    message_type: str
    """system_message, user_message, assistant_message, tool_call_message or tool_return_message."""
    content: str
    tool_name: str | None = None
    tool_input: Any | None = Field(default=None, sa_type=Json)
    blocks: list[Any] | None = Field(default=None, sa_type=Json)
    created_at: datetime


class ToolCall(Row, table=True):
    """A tool call from proposal to outcome: the effect journal.

    `status`: held, denied, refused (invalid or not offered), ready (its intent is recorded), started,
    done, failed, unknown (found between started and outcome after a crash), skipped.
    """

    __tablename__ = "tool_calls"
    __table_args__ = (
        sa.UniqueConstraint("run_id", "step_number", "position"),
        of_some("ix_tool_calls_task_id", "task_id"),
    )
    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.id", ondelete="CASCADE")
    task_id: str | None = None
    step_number: int
    position: int
    call_id: str
    """The provider's id of the call."""
    tool: str
    tool_digest: str
    args: Any | None = Field(default=None, sa_type=Json)
    raw_args: str | None = None
    risk: str
    effect: str
    rules: list[str] = Field(default_factory=list, sa_type=Json)
    reasons: list[str] = Field(default_factory=list, sa_type=Json)
    policy_hash: str
    status: str
    approval_id: str | None = None
    subject: str | None = None
    idempotency_token: str
    simulated: bool = False
    result: str | None = None
    is_error: bool = False
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None


class Approval(Row, table=True):
    """A question put to a person. `status`: pending, approved, denied, expired, used, void, or consulting.

    Consulting: models vote before people are asked (row C8); it cannot be answered yet.
    """

    __tablename__ = "approvals"
    __table_args__ = (
        sa.Index("ix_approvals_pending", "created_at", sqlite_where=sa.text("status = 'pending'"),
                 postgresql_where=sa.text("status = 'pending'")),
        sa.Index("ix_approvals_created_at", "created_at", "id"),
        sa.Index("ix_approvals_queue", "created_at", "id", sqlite_where=sa.text("status = 'pending'"),
                 postgresql_where=sa.text("status = 'pending'")),
        sa.Index("ix_approvals_alike", "alike", sqlite_where=sa.text("status = 'pending'"),
                 postgresql_where=sa.text("status = 'pending'")),
        sa.Index("ix_approvals_open", "expires_at", sqlite_where=sa.text("status IN ('pending', 'consulting')"),
                 postgresql_where=sa.text("status IN ('pending', 'consulting')")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    kind: str
    status: str = "pending"
    project_id: str
    mission_id: str | None = Field(default=None, index=True)
    task_id: str | None = Field(default=None, index=True)
    run_id: str | None = Field(default=None, index=True)
    tool_call_id: str | None = None
    subject: str
    """The digest of what is approved; the approval is valid for exactly that."""
    request: dict[str, Any] = Field(sa_type=Json)
    risk: str
    rules: list[str] = Field(default_factory=list, sa_type=Json)
    reasons: list[str] = Field(default_factory=list, sa_type=Json)
    asked_by: str
    """The agent, or `system:<part>`."""
    on_behalf_of: str | None = None
    """The person the run acts for; see `principals`."""
    people: int = 1
    not_requester: bool = False
    decided_by: str | None = None
    note: str | None = None
    edited_args: Any | None = Field(default=None, sa_type=Json)
    edited: bool = False
    created_at: datetime
    expires_at: datetime | None = None
    answered_at: datetime | None = None
    used_at: datetime | None = None
    reminded_at: datetime | None = None
    """The time of the last reminder."""
    alike: str | None = None
    """Equal for questions that may be answered together."""


class ApprovalAnswer(Row, table=True):
    """One person's answer."""

    __tablename__ = "approval_answers"
    __table_args__ = (sa.UniqueConstraint("approval_id", "person_id"),)
    id: str = Field(primary_key=True)
    approval_id: str = Field(foreign_key="approvals.id", ondelete="CASCADE")
    person_id: str
    surface: str
    verdict: str
    note: str | None = None
    args: Any | None = Field(default=None, sa_type=Json)
    created_at: datetime


class Account(Row, table=True):
    """A limit, with the amounts spent and reserved under it, in micro-dollars."""

    __tablename__ = "accounts"
    __table_args__ = (
        sa.CheckConstraint("reserved_microusd >= 0", name="reserved"),
        sa.CheckConstraint("settled_microusd >= 0", name="settled"),
        sa.Index("ix_accounts_shared", "created_at",
                 sqlite_where=sa.text("kind IN ('project_day', 'agent_day', 'mission')"),
                 postgresql_where=sa.text("kind IN ('project_day', 'agent_day', 'mission')")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    """`run:ID`, `task:ID`, `mission:ID`, `learn:MISSION`, `agent_day:MEMBER:DAY`, `project_day:PROJECT:DAY`."""
    kind: str
    owner_id: str = Field(index=True)
    project_id: str
    limit_microusd: int = Field(sa_type=sa.BigInteger)
    settled_microusd: int = Field(default=0, sa_type=sa.BigInteger)
    reserved_microusd: int = Field(default=0, sa_type=sa.BigInteger)
    frozen: bool = False
    pause_at_microusd: int | None = Field(default=None, sa_type=sa.BigInteger)
    """The threshold at which a person is asked whether to continue; below the limit. Source: row D5."""
    created_at: datetime


class LedgerEntry(Row, table=True):
    """One line of the ledger; never changed. `kind`: reserve, settle, raise (of a limit; negative if it was lowered) or
    go_on (past a threshold). In the last two, `note` is the person's id, a space and the reason.

    A reservation is open as long as no settle line has its id.
    """

    __tablename__ = "ledger"
    __table_args__ = (
        sa.Index("uq_ledger_run_id", "run_id", "reservation_id", "kind", unique=True),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    kind: str
    reservation_id: str
    """`RUN:STEP:ATTEMPT` of a model call."""
    run_id: str | None = None
    step_number: int | None = None
    attempt: int | None = None
    agent_id: str | None = None
    task_id: str | None = None
    mission_id: str | None = None
    project_id: str
    model: str | None = None
    accounts: list[str] = Field(sa_type=Json)
    amount_microusd: int = Field(sa_type=sa.BigInteger)
    estimated: bool = False
    note: str | None = None
    created_at: datetime


class Activity(Row, table=True):
    """One entry of the audit log; never changed."""

    __tablename__ = "activities"
    id: int | None = Field(default=None, primary_key=True, sa_type=Counter)
    project_id: str
    action: str
    actor_kind: str
    actor_id: str
    mission_id: str | None = Field(default=None, index=True)
    task_id: str | None = None
    run_id: str | None = None
    subject: str | None = None
    data: dict[str, Any] = Field(sa_type=Json)
    created_at: datetime


class Alert(Row, table=True):
    """A notification of operators; raised once per `dedup_key` until it is acknowledged."""

    __tablename__ = "alerts"
    __table_args__ = (
        sa.Index("ix_alerts_created_at", "created_at"),
        sa.Index("ix_alerts_subject", "subject"),
        sa.Index("ix_alerts_open", "created_at", sqlite_where=sa.text("acked_at IS NULL"),
                 postgresql_where=sa.text("acked_at IS NULL")),
    )  # fmt: skip
    id: str = Field(primary_key=True)
    project_id: str
    severity: str
    """info, warning or critical."""
    kind: str
    subject: str | None = None
    text: str
    dedup_key: str = Field(unique=True)
    created_at: datetime
    acked_at: datetime | None = None
    acked_by: str | None = None
