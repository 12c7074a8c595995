"""${message}."""

import sqlalchemy as sa
from sqlmodel.sql import sqltypes
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
