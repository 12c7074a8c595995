"""What a claim and a step of a run write becomes less; no row says anything else than before."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    if op.get_bind().dialect.name == "postgresql":
        _postgresql()


def _postgresql() -> None:
    """Room for the rows that each step of a run changes."""
    op.execute("ALTER TABLE agents SET (fillfactor = 80)")


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
