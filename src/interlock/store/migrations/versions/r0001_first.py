"""The first schema."""

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql import sqltypes

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "accounts",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("owner_id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("limit_microusd", sa.BigInteger(), nullable=False),
        sa.Column("settled_microusd", sa.BigInteger(), nullable=False),
        sa.Column("reserved_microusd", sa.BigInteger(), nullable=False),
        sa.Column("frozen", sa.Boolean(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.CheckConstraint("reserved_microusd >= 0", name=op.f("ck_accounts_reserved")),
        sa.CheckConstraint("settled_microusd >= 0", name=op.f("ck_accounts_settled")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
    )
    op.create_index(op.f("ix_accounts_owner_id"), "accounts", ["owner_id"], unique=False)
    op.create_table(
        "activities",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("action", sqltypes.AutoString(), nullable=False),
        sa.Column("actor_kind", sqltypes.AutoString(), nullable=False),
        sa.Column("actor_id", sqltypes.AutoString(), nullable=False),
        sa.Column("mission_id", sqltypes.AutoString(), nullable=True),
        sa.Column("task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("subject", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "data",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_activities")),
    )
    op.create_index(op.f("ix_activities_mission_id"), "activities", ["mission_id"], unique=False)
    op.create_table(
        "alerts",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("severity", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("subject", sqltypes.AutoString(), nullable=True),
        sa.Column("text", sqltypes.AutoString(), nullable=False),
        sa.Column("dedup_key", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("acked_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("acked_by", sqltypes.AutoString(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sa.UniqueConstraint("dedup_key", name=op.f("uq_alerts_dedup_key")),
    )
    op.create_table(
        "approvals",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("mission_id", sqltypes.AutoString(), nullable=True),
        sa.Column("task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("tool_call_id", sqltypes.AutoString(), nullable=True),
        sa.Column("subject", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "request",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("risk", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "rules",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column(
            "reasons",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("asked_by", sqltypes.AutoString(), nullable=False),
        sa.Column("on_behalf_of", sqltypes.AutoString(), nullable=True),
        sa.Column("people", sa.Integer(), nullable=False),
        sa.Column("not_requester", sa.Boolean(), nullable=False),
        sa.Column("decided_by", sqltypes.AutoString(), nullable=True),
        sa.Column("note", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "edited_args",
            sa.JSON(none_as_null=True),
            nullable=True,
        ),
        sa.Column("edited", sa.Boolean(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("expires_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("answered_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("used_at", sqltypes.UTCDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
    )
    op.create_index(op.f("ix_approvals_mission_id"), "approvals", ["mission_id"], unique=False)
    op.create_index(
        "ix_approvals_pending",
        "approvals",
        ["created_at"],
        unique=False,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index(op.f("ix_approvals_run_id"), "approvals", ["run_id"], unique=False)
    op.create_index(op.f("ix_approvals_task_id"), "approvals", ["task_id"], unique=False)
    op.create_table(
        "blobs",
        sa.Column("hash", sqltypes.AutoString(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_blobs")),
    )
    op.create_table(
        "checkpoint_writes",
        sa.Column("thread_id", sqltypes.AutoString(), nullable=False),
        sa.Column("namespace", sqltypes.AutoString(), nullable=False),
        sa.Column("checkpoint_id", sqltypes.AutoString(), nullable=False),
        sa.Column("task_id", sqltypes.AutoString(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("channel", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "value",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("task_path", sqltypes.AutoString(), nullable=False),
        sa.PrimaryKeyConstraint(
            "thread_id", "namespace", "checkpoint_id", "task_id", "idx", name=op.f("pk_checkpoint_writes")
        ),
    )
    op.create_table(
        "checkpoints",
        sa.Column("thread_id", sqltypes.AutoString(), nullable=False),
        sa.Column("namespace", sqltypes.AutoString(), nullable=False),
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("parent_id", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "data",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column(
            "details",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "namespace", "id", name=op.f("pk_checkpoints")),
    )
    op.create_table(
        "ledger",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("reservation_id", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("step_number", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("agent_id", sqltypes.AutoString(), nullable=True),
        sa.Column("task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("mission_id", sqltypes.AutoString(), nullable=True),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("model", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "accounts",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("amount_microusd", sa.BigInteger(), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.Column("note", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger")),
    )
    op.create_index(op.f("ix_ledger_run_id"), "ledger", ["run_id"], unique=False)
    op.create_index("uq_ledger_reservation_id", "ledger", ["reservation_id", "kind"], unique=True)
    op.create_table(
        "lessons",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=True),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("rule", sqltypes.AutoString(), nullable=False),
        sa.Column("rule_digest", sqltypes.AutoString(), nullable=False),
        sa.Column("task_type", sqltypes.AutoString(), nullable=True),
        sa.Column("persona", sqltypes.AutoString(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("applied_count", sa.Integer(), nullable=False),
        sa.Column("helped_count", sa.Integer(), nullable=False),
        sa.Column("hurt_count", sa.Integer(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "evidence",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column(
            "labels",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("updated_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lessons")),
        sa.UniqueConstraint("rule_digest", name=op.f("uq_lessons_rule_digest")),
    )
    op.create_table(
        "meta",
        sa.Column("key", sqltypes.AutoString(), nullable=False),
        sa.Column("value", sqltypes.AutoString(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_meta")),
    )
    op.create_table(
        "people",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("role", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
    )
    op.create_table(
        "projects",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("timezone", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("host", sqltypes.AutoString(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("process_started", sqltypes.AutoString(), nullable=False),
        sa.Column("state", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "capabilities",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("started_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("beat_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "approval_answers",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("approval_id", sqltypes.AutoString(), nullable=False),
        sa.Column("person_id", sqltypes.AutoString(), nullable=False),
        sa.Column("surface", sqltypes.AutoString(), nullable=False),
        sa.Column("verdict", sqltypes.AutoString(), nullable=False),
        sa.Column("note", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "args",
            sa.JSON(none_as_null=True),
            nullable=True,
        ),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["approval_id"], ["approvals.id"], name=op.f("fk_approval_answers_approval_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approval_answers")),
        sa.UniqueConstraint("approval_id", "person_id", name=op.f("uq_approval_answers_approval_id_person_id")),
    )
    op.create_table(
        "identities",
        sa.Column("key", sqltypes.AutoString(), nullable=False),
        sa.Column("person_id", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_identities_person_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_identities")),
    )
    op.create_index(op.f("ix_identities_person_id"), "identities", ["person_id"], unique=False)
    op.create_table(
        "members",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("persona", sqltypes.AutoString(), nullable=False),
        sa.Column("trust", sqltypes.AutoString(), nullable=False),
        sa.Column("state", sqltypes.AutoString(), nullable=False),
        sa.Column("state_reason", sqltypes.AutoString(), nullable=True),
        sa.Column("done_count", sa.Integer(), nullable=False),
        sa.Column("failed_count", sa.Integer(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_members_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_members")),
        sa.UniqueConstraint("project_id", "persona", name=op.f("uq_members_project_id_persona")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("mission_id", sqltypes.AutoString(), nullable=False),
        sa.Column("parent_id", sqltypes.AutoString(), nullable=True),
        sa.Column("key", sqltypes.AutoString(), nullable=False),
        sa.Column("title", sqltypes.AutoString(), nullable=False),
        sa.Column("description", sqltypes.AutoString(), nullable=False),
        sa.Column("persona", sqltypes.AutoString(), nullable=True),
        sa.Column("type", sqltypes.AutoString(), nullable=False),
        sa.Column("priority", sqltypes.AutoString(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("estimated_minutes", sa.Integer(), nullable=False),
        sa.Column(
            "capabilities",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("deliverable_spec", sqltypes.AutoString(), nullable=False),
        sa.Column("budget_microusd", sa.Integer(), nullable=False),
        sa.Column("reviews_task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("assignee_agent_id", sqltypes.AutoString(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("review_cycles", sa.Integer(), nullable=False),
        sa.Column("held_from", sqltypes.AutoString(), nullable=True),
        sa.Column("block_kind", sqltypes.AutoString(), nullable=True),
        sa.Column("block_reason", sqltypes.AutoString(), nullable=True),
        sa.Column("wait_for", sqltypes.AutoString(), nullable=True),
        sa.Column("escalate_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("feedback", sqltypes.AutoString(), nullable=True),
        sa.Column("deliverable_id", sqltypes.AutoString(), nullable=True),
        sa.Column("approval_id", sqltypes.AutoString(), nullable=True),
        sa.Column("superseded_by", sqltypes.AutoString(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("idempotency_key", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("updated_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("ended_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_tasks_project_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_tasks_idempotency_key")),
    )
    op.create_index(op.f("ix_tasks_mission_id"), "tasks", ["mission_id"], unique=False)
    op.create_index("ix_tasks_status_updated_at", "tasks", ["status", "updated_at"], unique=False)
    op.create_table(
        "workspace_files",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("path", sqltypes.AutoString(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("blob", sqltypes.AutoString(), nullable=True),
        sa.Column("base_version", sa.Integer(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "labels",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["blob"], ["blobs.hash"], name=op.f("fk_workspace_files_blob")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_workspace_files_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace_files")),
        sa.UniqueConstraint("project_id", "path", "version", name=op.f("uq_workspace_files_project_id_path_version")),
    )
    op.create_table(
        "agents",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("member_id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("persona", sqltypes.AutoString(), nullable=False),
        sa.Column("descriptor_key", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "descriptor",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("state", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "persona_json",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("history_from_seq", sa.Integer(), nullable=False),
        sa.Column("runtime_status", sqltypes.AutoString(), nullable=False),
        sa.Column("last_error", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("last_active_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["member_id"], ["members.id"], name=op.f("fk_agents_member_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_agents_project_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agents")),
        sa.UniqueConstraint("descriptor_key", name=op.f("uq_agents_descriptor_key")),
    )
    op.create_index(op.f("ix_agents_member_id"), "agents", ["member_id"], unique=False)
    op.create_table(
        "deliverables",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("task_id", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("title", sqltypes.AutoString(), nullable=False),
        sa.Column("summary", sqltypes.AutoString(), nullable=False),
        sa.Column("text", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "data",
            sa.JSON(none_as_null=True),
            nullable=True,
        ),
        sa.Column("path", sqltypes.AutoString(), nullable=True),
        sa.Column("blob", sqltypes.AutoString(), nullable=True),
        sa.Column("sha256", sqltypes.AutoString(), nullable=False),
        sa.Column("verdict", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "findings",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("risk", sqltypes.AutoString(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column(
            "labels",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_deliverables_task_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliverables")),
    )
    op.create_index(op.f("ix_deliverables_task_id"), "deliverables", ["task_id"], unique=False)
    op.create_table(
        "missions",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("goal", sqltypes.AutoString(), nullable=False),
        sa.Column("model", sqltypes.AutoString(), nullable=True),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("graph_version", sa.Integer(), nullable=False),
        sa.Column("coordinator_agent_id", sqltypes.AutoString(), nullable=False),
        sa.Column("thinker_agent_id", sqltypes.AutoString(), nullable=False),
        sa.Column("requested_by", sqltypes.AutoString(), nullable=False),
        sa.Column("summary", sqltypes.AutoString(), nullable=True),
        sa.Column("estimate_microusd", sa.Integer(), nullable=False),
        sa.Column("deadline_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("canceled_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["tasks.id"], name=op.f("fk_missions_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_missions")),
    )
    op.create_table(
        "task_dependencies",
        sa.Column("task_id", sqltypes.AutoString(), nullable=False),
        sa.Column("depends_on_id", sqltypes.AutoString(), nullable=False),
        sa.ForeignKeyConstraint(
            ["depends_on_id"], ["tasks.id"], name=op.f("fk_task_dependencies_depends_on_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_task_dependencies_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "depends_on_id", name=op.f("pk_task_dependencies")),
    )
    op.create_index(op.f("ix_task_dependencies_depends_on_id"), "task_dependencies", ["depends_on_id"], unique=False)
    op.create_table(
        "task_messages",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("task_id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("author_kind", sqltypes.AutoString(), nullable=False),
        sa.Column("author_id", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("text", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_task_messages_task_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_messages")),
    )
    op.create_index(op.f("ix_task_messages_task_id"), "task_messages", ["task_id"], unique=False)
    op.create_table(
        "task_transitions",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("task_id", sqltypes.AutoString(), nullable=False),
        sa.Column("from_status", sqltypes.AutoString(), nullable=False),
        sa.Column("to_status", sqltypes.AutoString(), nullable=False),
        sa.Column("actor_kind", sqltypes.AutoString(), nullable=False),
        sa.Column("actor_id", sqltypes.AutoString(), nullable=False),
        sa.Column("reason", sqltypes.AutoString(), nullable=False),
        sa.Column("idempotency_key", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_task_transitions_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_transitions")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_task_transitions_idempotency_key")),
    )
    op.create_index(op.f("ix_task_transitions_task_id"), "task_transitions", ["task_id"], unique=False)
    op.create_table(
        "lanes",
        sa.Column("agent_id", sqltypes.AutoString(), nullable=False),
        sa.Column("ready_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("due_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("holder", sqltypes.AutoString(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("next_seq", sa.Integer(), nullable=False),
        sa.Column("clock_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("parked_run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("exclusive", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name=op.f("fk_lanes_agent_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_lanes")),
    )
    op.create_index(
        "ix_lanes_holder",
        "lanes",
        ["holder"],
        unique=False,
        sqlite_where=sa.text("holder IS NOT NULL"),
        postgresql_where=sa.text("holder IS NOT NULL"),
    )
    op.create_index(
        "ix_lanes_ready",
        "lanes",
        ["ready_at"],
        unique=False,
        sqlite_where=sa.text("holder IS NULL AND ready_at IS NOT NULL"),
        postgresql_where=sa.text("holder IS NULL AND ready_at IS NOT NULL"),
    )
    op.create_table(
        "mission_events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("mission_id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "payload",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("consumed_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["mission_id"], ["missions.id"], name=op.f("fk_mission_events_mission_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mission_events")),
    )
    op.create_index(
        "ix_mission_events_open",
        "mission_events",
        ["mission_id", "id"],
        unique=False,
        sqlite_where=sa.text("consumed_at IS NULL"),
        postgresql_where=sa.text("consumed_at IS NULL"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("agent_id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("stop_reason", sqltypes.AutoString(), nullable=True),
        sa.Column("order_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("due_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column(
            "payload",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("idempotency_key", sqltypes.AutoString(), nullable=False),
        sa.Column("cause_kind", sqltypes.AutoString(), nullable=False),
        sa.Column("cause_id", sqltypes.AutoString(), nullable=True),
        sa.Column("parent_run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("mission_id", sqltypes.AutoString(), nullable=True),
        sa.Column("task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("trigger_message_id", sqltypes.AutoString(), nullable=True),
        sa.Column("channel_id", sqltypes.AutoString(), nullable=True),
        sa.Column("dm_conversation_id", sqltypes.AutoString(), nullable=True),
        sa.Column("worker_id", sqltypes.AutoString(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("control", sqltypes.AutoString(), nullable=True),
        sa.Column("model", sqltypes.AutoString(), nullable=True),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column(
            "labels",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("policy_hash", sqltypes.AutoString(), nullable=True),
        sa.Column("deadline_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("step_count", sa.Integer(), nullable=False),
        sa.Column("result", sqltypes.AutoString(), nullable=True),
        sa.Column("error", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "token_usage",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("cost_microusd", sa.Integer(), nullable=False),
        sa.Column("traceparent", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("started_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("completed_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name=op.f("fk_runs_agent_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_runs_idempotency_key")),
    )
    op.create_index("ix_runs_agent_id_status", "runs", ["agent_id", "status"], unique=False)
    op.create_index(op.f("ix_runs_mission_id"), "runs", ["mission_id"], unique=False)
    op.create_index(
        "ix_runs_queue",
        "runs",
        ["agent_id", "order_at", "seq"],
        unique=False,
        sqlite_where=sa.text("status = 'created'"),
        postgresql_where=sa.text("status = 'created'"),
    )
    op.create_index("ix_runs_status_created_at", "runs", ["status", "created_at"], unique=False)
    op.create_index(op.f("ix_runs_task_id"), "runs", ["task_id"], unique=False)
    op.create_index(
        "uq_runs_running",
        "runs",
        ["agent_id"],
        unique=True,
        sqlite_where=sa.text("status = 'running'"),
        postgresql_where=sa.text("status = 'running'"),
    )
    op.create_table(
        "run_messages",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=False),
        sa.Column("step_id", sqltypes.AutoString(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("message_type", sqltypes.AutoString(), nullable=False),
        sa.Column("content", sqltypes.AutoString(), nullable=False),
        sa.Column("tool_name", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "tool_input",
            sa.JSON(none_as_null=True),
            nullable=True,
        ),
        sa.Column(
            "blocks",
            sa.JSON(none_as_null=True),
            nullable=True,
        ),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_messages_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_messages")),
    )
    op.create_index("ix_run_messages_run_id_position", "run_messages", ["run_id", "position"], unique=False)
    op.create_index(op.f("ix_run_messages_step_id"), "run_messages", ["step_id"], unique=False)
    op.create_table(
        "run_steps",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("model_id", sqltypes.AutoString(), nullable=False),
        sa.Column("stop_reason", sqltypes.AutoString(), nullable=True),
        sa.Column(
            "token_usage",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("cost_microusd", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("request_id", sqltypes.AutoString(), nullable=True),
        sa.Column("error", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("completed_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_steps_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_steps")),
        sa.UniqueConstraint("run_id", "step_number", name=op.f("uq_run_steps_run_id_step_number")),
    )
    op.create_table(
        "tool_calls",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=False),
        sa.Column("task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("call_id", sqltypes.AutoString(), nullable=False),
        sa.Column("tool", sqltypes.AutoString(), nullable=False),
        sa.Column("tool_digest", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "args",
            sa.JSON(none_as_null=True),
            nullable=True,
        ),
        sa.Column("raw_args", sqltypes.AutoString(), nullable=True),
        sa.Column("risk", sqltypes.AutoString(), nullable=False),
        sa.Column("effect", sqltypes.AutoString(), nullable=False),
        sa.Column(
            "rules",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column(
            "reasons",
            sa.JSON(none_as_null=True),
            nullable=False,
        ),
        sa.Column("policy_hash", sqltypes.AutoString(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("approval_id", sqltypes.AutoString(), nullable=True),
        sa.Column("subject", sqltypes.AutoString(), nullable=True),
        sa.Column("idempotency_token", sqltypes.AutoString(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("result", sqltypes.AutoString(), nullable=True),
        sa.Column("is_error", sa.Boolean(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("started_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("ended_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_tool_calls_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_calls")),
        sa.UniqueConstraint(
            "run_id", "step_number", "position", name=op.f("uq_tool_calls_run_id_step_number_position")
        ),
    )
    op.create_index(op.f("ix_tool_calls_task_id"), "tool_calls", ["task_id"], unique=False)


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
