"""Grants, votes of models, checks of deliverables, seals of the audit log; signs of progress of tasks."""

import re

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql import sqltypes

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "grants",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("tool", sqltypes.AutoString(), nullable=False),
        sa.Column("tool_digest", sqltypes.AutoString(), nullable=False),
        sa.Column("scope", sqltypes.AutoString(), nullable=False),
        sa.Column("persona", sqltypes.AutoString(), nullable=False),
        sa.Column("task_id", sqltypes.AutoString(), nullable=True),
        sa.Column("shape", sqltypes.AutoString(), nullable=True),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("reason", sqltypes.AutoString(), nullable=False),
        sa.Column("approval_id", sqltypes.AutoString(), nullable=False),
        sa.Column("given_by", sqltypes.AutoString(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("expires_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("used_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("revoked_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("revoked_by", sqltypes.AutoString(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grants")),
    )
    op.create_index(
        "ix_grants_live",
        "grants",
        ["project_id"],
        unique=False,
        sqlite_where=sa.text("revoked_at IS NULL"),
        postgresql_where=sa.text("revoked_at IS NULL"),
    )
    op.create_table(
        "known_tools",
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("tool", sqltypes.AutoString(), nullable=False),
        sa.Column("digest", sqltypes.AutoString(), nullable=False),
        sa.Column("status", sqltypes.AutoString(), nullable=False),
        sa.Column("definition", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("approval_id", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "tool", "digest", name=op.f("pk_known_tools")),
    )
    op.create_table(
        "votes",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("about", sqltypes.AutoString(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("model", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("verdict", sqltypes.AutoString(), nullable=True),
        sa.Column("reason", sqltypes.AutoString(), nullable=False),
        sa.Column("cost_microusd", sa.Integer(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("given_at", sqltypes.UTCDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_votes")),
        sa.UniqueConstraint("about", "seat", name=op.f("uq_votes_about_seat")),
    )
    op.create_index(op.f("ix_votes_about"), "votes", ["about"], unique=False)
    op.create_index(op.f("ix_votes_run_id"), "votes", ["run_id"], unique=False)
    op.create_index(
        "ix_votes_out",
        "votes",
        ["created_at"],
        unique=False,
        sqlite_where=sa.text("verdict IS NULL"),
        postgresql_where=sa.text("verdict IS NULL"),
    )
    op.create_table(
        "check_results",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("task_id", sqltypes.AutoString(), nullable=False),
        sa.Column("deliverable_id", sqltypes.AutoString(), nullable=False),
        sa.Column("sha256", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("detail", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_check_results_task_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_check_results")),
        sa.UniqueConstraint(
            "deliverable_id", "kind", "position", name=op.f("uq_check_results_deliverable_id_kind_position")
        ),
    )
    op.create_index(op.f("ix_check_results_task_id"), "check_results", ["task_id"], unique=False)
    op.create_table(
        "audit_seals",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("ranges", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("top", sa.BigInteger(), nullable=False),
        sa.Column("floor", sa.BigInteger(), nullable=False),
        sa.Column("digest", sqltypes.AutoString(), nullable=False),
        sa.Column("leaves", sa.LargeBinary(), nullable=True),
        sa.Column("previous", sqltypes.AutoString(), nullable=False),
        sa.Column("head", sqltypes.AutoString(), nullable=False),
        sa.Column("key_id", sqltypes.AutoString(), nullable=False),
        sa.Column("seal", sqltypes.AutoString(), nullable=False),
        sa.Column("horizon", sa.BigInteger(), nullable=True),
        sa.Column("pruned_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit_seals")),
    )
    op.create_index(
        "ix_audit_seals_live",
        "audit_seals",
        ["first"],
        unique=False,
        sqlite_where=sa.text("pruned_at IS NULL"),
        postgresql_where=sa.text("pruned_at IS NULL"),
    )
    op.add_column("approvals", sa.Column("alike", sqltypes.AutoString(), nullable=True))
    op.create_index(
        "ix_approvals_queue",
        "approvals",
        ["created_at", "id"],
        unique=False,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_approvals_alike",
        "approvals",
        ["alike"],
        unique=False,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_approvals_open",
        "approvals",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("status IN ('pending', 'consulting')"),
        postgresql_where=sa.text("status IN ('pending', 'consulting')"),
    )
    op.add_column("tasks", sa.Column("checks", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("tasks", sa.Column("idle_calls", sa.Integer(), server_default="0", nullable=False))
    op.add_column("accounts", sa.Column("pause_at_microusd", sa.BigInteger(), nullable=True))
    op.add_column("tasks", sa.Column("idle_microusd", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index("uq_ledger_run_id", "ledger", ["run_id", "reservation_id", "kind"], unique=True)
    op.drop_index("uq_ledger_reservation_id", table_name="ledger")
    op.drop_index("ix_ledger_run_id", table_name="ledger")

    _leave_room()
    _slim()


HOT = {"accounts": 50, "lanes": 50, "leaders": 50, "outbox": 80, "runs": 75, "workers": 50}
"""Tables whose rows are written again and again, and how full their pages are filled, in percent."""


def _leave_room() -> None:
    """On PostgreSQL a changed row finds room on its own page, and what it was before is cleared away soon.

    Pages that are there already stay as full as they are.
    """
    if op.get_bind().dialect.name != "postgresql":
        return
    for name, percent in HOT.items():
        op.execute(
            f"ALTER TABLE {name} SET (fillfactor = {percent}, autovacuum_vacuum_scale_factor = 0.02,"
            " autovacuum_vacuum_threshold = 500, autovacuum_analyze_scale_factor = 0.05,"
            " autovacuum_vacuum_cost_delay = 1)"
        )


SLIM = ("ledger", "run_messages", "run_steps")
"""Tables that each step of a run writes, and that are looked up by their run alone."""


def _slim() -> None:
    """On SQLite a step writes fewer pages: each index is one page more with every commit, also that of a key by which
    nobody ever looks. What is unique beside the key stays so."""
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    for name in SLIM:
        found = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).scalar_one()
        kept = connection.exec_driver_sql(
            "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", (name,)
        )
        indexes = kept.scalars().all()
        opening, _, columns = found.partition("(")
        slim, changed = re.subn(rf",\s*CONSTRAINT pk_{name} PRIMARY KEY \(id\)", "", columns)
        assert changed == 1
        connection.exec_driver_sql(f"{opening.replace(name, 'slim')}({slim}")
        connection.exec_driver_sql(f"INSERT INTO slim SELECT * FROM {name} ORDER BY rowid")
        connection.exec_driver_sql(f"DROP TABLE {name}")
        connection.exec_driver_sql(f"ALTER TABLE slim RENAME TO {name}")
        for index in indexes:
            connection.exec_driver_sql(index)


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
