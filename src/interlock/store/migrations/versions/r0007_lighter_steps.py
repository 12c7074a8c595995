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


ROOM = {"tool_calls": 40}
"""Tables whose rows are each written once more, then longer, and how full their pages are filled, in percent."""


def _postgresql() -> None:
    """The outcome of a call finds room on the page of its intent, and touches no index; nobody is kept out meanwhile.

    Pages that are there already stay as full as they are.
    """
    for name, percent in ROOM.items():
        op.execute(f"ALTER TABLE {name} SET (fillfactor = {percent})")


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
