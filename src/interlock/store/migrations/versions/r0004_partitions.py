"""Steps, messages and activities by month on PostgreSQL; SQLite is left as it is.

The tables of before become the first partitions as they are: no row is copied, whatever there is of them.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

RUN = "FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE"
TABLES: dict[str, dict[str, dict[str, str]]] = {
    "run_steps": {
        "keys": {
            "pk_run_steps": "PRIMARY KEY (id, created_at)",
            "uq_run_steps_run_id_step_number": "UNIQUE (run_id, step_number, created_at)",
        },
        "references": {"fk_run_steps_run_id": RUN},
        "indexes": {},
    },
    "run_messages": {
        "keys": {"pk_run_messages": "PRIMARY KEY (id, created_at)"},
        "references": {"fk_run_messages_run_id": RUN},
        "indexes": {"ix_run_messages_run_id_position": "(run_id, position)"},
    },
    "activities": {
        "keys": {"pk_activities": "PRIMARY KEY (id, created_at)"},
        "references": {},
        "indexes": {"ix_activities_mission_id": "(mission_id)"},
    },
}
MONTHS = 3


def upgrade() -> None:
    """Forward."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    op.execute(f"LOCK TABLE runs, {', '.join(TABLES)} IN ACCESS EXCLUSIVE MODE")
    for name, parts in TABLES.items():
        _split(name, **parts)
    op.execute("ALTER TABLE activities ALTER COLUMN id SET DEFAULT nextval('activities_id_seq')")
    op.execute("ALTER SEQUENCE activities_id_seq OWNED BY activities.id")


def _split(name: str, keys: dict[str, str], references: dict[str, str], indexes: dict[str, str]) -> None:
    """A partitioned table in the place of one, which becomes its part for all that is on record."""
    before = f"{name}_before"
    op.execute(f"ALTER TABLE {name} RENAME TO {before}")
    for key in keys:
        op.execute(f"ALTER TABLE {before} DROP CONSTRAINT {key}")
    for index in indexes:
        op.execute(f"ALTER INDEX {index} RENAME TO {index}_before")
    op.execute(f"CREATE TABLE {name} (LIKE {before}) PARTITION BY RANGE (created_at)")
    for key, definition in (keys | references).items():
        op.execute(f"ALTER TABLE {name} ADD CONSTRAINT {key} {definition}")
    for index, columns in indexes.items():
        op.execute(f"CREATE INDEX {index} ON {name} {columns}")
    op.execute(f"CREATE TABLE {name}_default PARTITION OF {name} DEFAULT")
    op.execute(_ATTACH.format(name=name, before=before, months=MONTHS))


_ATTACH = """
DO $$
DECLARE
    start timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
    stop timestamp;
BEGIN
    IF EXISTS (SELECT FROM {before}) THEN
        start := start + interval '1 month';
    END IF;
    WITH later AS (DELETE FROM {before} WHERE created_at >= start AT TIME ZONE 'UTC' RETURNING *)
    INSERT INTO {name}_default SELECT * FROM later;
    EXECUTE format('ALTER TABLE {name} ATTACH PARTITION {before} FOR VALUES FROM (MINVALUE) TO (%L)',
        start AT TIME ZONE 'UTC');
    FOR i IN 1..{months} LOOP
        stop := start + interval '1 month';
        EXECUTE format('CREATE TABLE {name}_%s (LIKE {name} INCLUDING ALL)', to_char(start, 'YYYY_MM'));
        EXECUTE format('WITH later AS (DELETE FROM {name}_default'
            ' WHERE created_at >= %L AND created_at < %L RETURNING *)'
            ' INSERT INTO {name}_%s SELECT * FROM later',
            start AT TIME ZONE 'UTC', stop AT TIME ZONE 'UTC', to_char(start, 'YYYY_MM'));
        EXECUTE format('ALTER TABLE {name} ATTACH PARTITION {name}_%s FOR VALUES FROM (%L) TO (%L)',
            to_char(start, 'YYYY_MM'), start AT TIME ZONE 'UTC', stop AT TIME ZONE 'UTC');
        start := stop;
    END LOOP;
END $$
"""


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
