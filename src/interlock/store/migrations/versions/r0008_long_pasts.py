"""What people look at is found as fast after a year as on the first day; a run writes no more than before."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    _index("ix_accounts_shared", "accounts", ["created_at"], "kind IN ('project_day', 'agent_day', 'mission')")
    _index("ix_alerts_created_at", "alerts", ["created_at"])
    _index("ix_alerts_subject", "alerts", ["subject"])
    _index("ix_approvals_created_at", "approvals", ["created_at", "id"])
    _index("ix_missions_created_at", "missions", ["created_at", "id"])
    _index("ix_runs_cancelled", "runs", ["created_at"], "status = 'cancelled'")
    _index("ix_runs_dead", "runs", ["completed_at"], "status = 'failed' AND stop_reason = 'dead_letter'")
    _index("ix_tasks_created_at", "tasks", ["created_at", "id"])
    _index("ix_tasks_roots", "tasks", ["status"], "parent_id IS NULL")
    _index("ix_workspace_files_run_id", "workspace_files", ["run_id"], "run_id IS NOT NULL")


def _index(name: str, table: str, columns: list[str], where: str | None = None) -> None:
    which = None if where is None else sa.text(where)
    op.create_index(name, table, columns, unique=False, sqlite_where=which, postgresql_where=which)


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
