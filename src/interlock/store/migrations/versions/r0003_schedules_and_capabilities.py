"""Schedules of users; capabilities of workers and what lanes need; crashes of runs and who is told of their end."""

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql import sqltypes

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "capabilities",
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("bit", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_capabilities")),
        sa.UniqueConstraint("bit", name=op.f("uq_capabilities_bit")),
    )
    op.create_table(
        "schedules",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("persona", sqltypes.AutoString(), nullable=True),
        sa.Column("text", sqltypes.AutoString(), nullable=False),
        sa.Column("cron", sqltypes.AutoString(), nullable=True),
        sa.Column("every_s", sa.Float(), nullable=True),
        sa.Column("timezone", sqltypes.AutoString(), nullable=False),
        sa.Column("anchor_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("options", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("state", sqltypes.AutoString(), nullable=False),
        sa.Column("state_reason", sqltypes.AutoString(), nullable=True),
        sa.Column("next_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("last_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("last_outcome", sqltypes.AutoString(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("updated_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_schedules_project_id_name")),
    )
    op.create_index(
        "ix_schedules_next_at",
        "schedules",
        ["next_at"],
        unique=False,
        sqlite_where=sa.text("next_at IS NOT NULL"),
        postgresql_where=sa.text("next_at IS NOT NULL"),
    )
    op.drop_index("ix_runs_agent_id_status", table_name="runs")
    op.drop_index("ix_runs_status_created_at", table_name="runs")
    op.drop_index("ix_run_messages_step_id", table_name="run_messages")
    op.create_index("ix_runs_created_at", "runs", ["created_at"], unique=False)
    op.create_index(
        "ix_runs_failed",
        "runs",
        ["created_at"],
        unique=False,
        sqlite_where=sa.text("status = 'failed'"),
        postgresql_where=sa.text("status = 'failed'"),
    )
    for table, column in (("runs", "mission_id"), ("runs", "task_id"), ("tool_calls", "task_id")):
        op.drop_index(f"ix_{table}_{column}", table_name=table)
        op.create_index(
            f"ix_{table}_{column}",
            table,
            [column],
            unique=False,
            sqlite_where=sa.text(f"{column} IS NOT NULL"),
            postgresql_where=sa.text(f"{column} IS NOT NULL"),
        )
    op.create_index("ix_runs_agent_id_seq", "runs", ["agent_id", "seq"], unique=False)
    op.create_index(
        "ix_runs_waiting",
        "runs",
        ["agent_id", "seq"],
        unique=False,
        sqlite_where=sa.text("status = 'waiting'"),
        postgresql_where=sa.text("status = 'waiting'"),
    )
    op.create_index(op.f("ix_deliverables_blob"), "deliverables", ["blob"], unique=False)
    op.create_index(op.f("ix_workspace_files_blob"), "workspace_files", ["blob"], unique=False)
    op.add_column("lanes", sa.Column("needs", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("runs", sa.Column("crashes", sa.Integer(), server_default="0", nullable=False))
    op.add_column("runs", sa.Column("report_to", sqltypes.AutoString(), nullable=True))
    op.add_column("workers", sa.Column("concurrency", sa.Integer(), server_default="0", nullable=False))
    op.add_column("workers", sa.Column("version", sqltypes.AutoString(), nullable=True))


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
