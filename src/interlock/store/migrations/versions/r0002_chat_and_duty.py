"""Conversations, outbox and inbox; leaders, firings, controls, incidents; versions and uses of lessons."""

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql import sqltypes

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "controls",
        sa.Column("scope", sqltypes.AutoString(), nullable=False),
        sa.Column("mode", sqltypes.AutoString(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reason", sqltypes.AutoString(), nullable=True),
        sa.Column("set_by", sqltypes.AutoString(), nullable=True),
        sa.Column("set_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_controls")),
    )
    op.create_table(
        "conversations",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("surface", sqltypes.AutoString(), nullable=False),
        sa.Column("role", sqltypes.AutoString(), nullable=False),
        sa.Column("channel", sqltypes.AutoString(), nullable=False),
        sa.Column("address", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("mission_id", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversations")),
    )
    op.create_index(op.f("ix_conversations_mission_id"), "conversations", ["mission_id"], unique=False)
    op.create_index(
        "ix_conversations_room",
        "conversations",
        ["project_id"],
        unique=False,
        sqlite_where=sa.text("role = 'room'"),
        postgresql_where=sa.text("role = 'room'"),
    )
    op.create_table(
        "firings",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("job", sqltypes.AutoString(), nullable=False),
        sa.Column("fire_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("outcome", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("ended_at", sqltypes.UTCDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_firings")),
        sa.UniqueConstraint("job", "fire_at", name=op.f("uq_firings_job_fire_at")),
    )
    op.create_index("ix_firings_created_at", "firings", ["created_at"], unique=False)
    op.create_table(
        "inbox",
        sa.Column("key", sqltypes.AutoString(), nullable=False),
        sa.Column("surface", sqltypes.AutoString(), nullable=False),
        sa.Column("identity", sqltypes.AutoString(), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("holder", sqltypes.AutoString(), nullable=True),
        sa.Column("taken_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("done_at", sqltypes.UTCDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_inbox")),
    )
    op.create_index(
        "ix_inbox_new",
        "inbox",
        ["identity", "created_at"],
        unique=False,
        sqlite_where=sa.text("status = 'new'"),
        postgresql_where=sa.text("status = 'new'"),
    )
    op.create_table(
        "incidents",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("mission_id", sqltypes.AutoString(), nullable=True),
        sa.Column("task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("agent_id", sqltypes.AutoString(), nullable=True),
        sa.Column("text", sqltypes.AutoString(), nullable=False),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incidents")),
    )
    op.create_index(op.f("ix_incidents_mission_id"), "incidents", ["mission_id"], unique=False)
    op.create_index(op.f("ix_incidents_task_id"), "incidents", ["task_id"], unique=False)
    op.create_table(
        "leaders",
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("holder", sqltypes.AutoString(), nullable=True),
        sa.Column("host", sqltypes.AutoString(), nullable=True),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("process_started", sqltypes.AutoString(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("taken_at", sqltypes.UTCDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leaders")),
    )
    op.create_table(
        "lesson_uses",
        sa.Column("lesson_id", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=False),
        sa.Column("task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("outcome", sqltypes.AutoString(), nullable=True),
        sa.Column("shown_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("decided_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["lesson_id"], ["lessons.id"], name=op.f("fk_lesson_uses_lesson_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("lesson_id", "run_id", name=op.f("pk_lesson_uses")),
    )
    op.create_index(op.f("ix_lesson_uses_task_id"), "lesson_uses", ["task_id"], unique=False)
    op.create_table(
        "lesson_versions",
        sa.Column("lesson_id", sqltypes.AutoString(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("author_kind", sqltypes.AutoString(), nullable=False),
        sa.Column("author_id", sqltypes.AutoString(), nullable=False),
        sa.Column("reason", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["lesson_id"], ["lessons.id"], name=op.f("fk_lesson_versions_lesson_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("lesson_id", "version", name=op.f("pk_lesson_versions")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key", sqltypes.AutoString(), nullable=False),
        sa.Column("surface", sqltypes.AutoString(), nullable=False),
        sa.Column("conversation_id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("subject", sqltypes.AutoString(), nullable=True),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("delivered", sa.Integer(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("holder", sqltypes.AutoString(), nullable=True),
        sa.Column("remote_ref", sqltypes.AutoString(), nullable=True),
        sa.Column("error", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("delivered_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_outbox_conversation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("key", name=op.f("uq_outbox_key")),
    )
    op.create_index("ix_outbox_conversation_id", "outbox", ["conversation_id"], unique=False)
    op.create_index(
        "ix_outbox_open",
        "outbox",
        ["surface", "conversation_id", "id"],
        unique=False,
        sqlite_where=sa.text("status IN ('pending', 'sending')"),
        postgresql_where=sa.text("status IN ('pending', 'sending')"),
    )
    op.create_index(op.f("ix_outbox_subject"), "outbox", ["subject"], unique=False)
    op.create_index(
        "ix_alerts_open",
        "alerts",
        ["created_at"],
        unique=False,
        sqlite_where=sa.text("acked_at IS NULL"),
        postgresql_where=sa.text("acked_at IS NULL"),
    )
    op.add_column("approvals", sa.Column("reminded_at", sqltypes.UTCDateTime(), nullable=True))
    op.add_column("lessons", sa.Column("version", sa.Integer(), server_default="1", nullable=False))
    op.add_column("lessons", sa.Column("contradicts", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("lessons", sa.Column("last_applied_at", sqltypes.UTCDateTime(), nullable=True))


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
