"""What processes look for again and again while nothing happens is found by an index, however much has piled up."""

import sqlite3
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from interlock.store.engine import Store
from interlock.store.mailboxes import claiming, mailbox
from interlock.store.messages import dispatch, inbox
from interlock.store.schema import Alert, table
from interlock.store.signoff import reminders
from interlock.store.upkeep.migrate import upgrade
from tests.contract.store.furniture import T0

ALERTS = table(Alert)
OPEN_ALERTS = ALERTS.select().where(ALERTS.c.acked_at.is_(None)).order_by(ALERTS.c.created_at.desc()).limit(100)
LOOKS = [
    (OPEN_ALERTS, {}, {"alerts"}),
    (reminders._IDLE, {}, {"alerts"}),
    (inbox._WAITING, {}, {"inbox"}),
    (inbox._HEAD, {"who": "slack:U1"}, {"inbox"}),
    (dispatch._ANY_OPEN, {"of": "slack"}, {"outbox"}),
    (dispatch._NEXT, {"of": "slack", "now": T0, "most": 8}, {"outbox", "unsent", "busy", "held"}),
    (dispatch._OPEN, {"of": "slack", "now": T0}, {"outbox"}),
]


@pytest.mark.parametrize(("look", "params", "tables"), LOOKS)
async def test_look_that_is_repeated_scans_no_table(
    migrated_sqlite_url: str, look: Any, params: dict[str, Any], tables: set[str]
) -> None:
    async with Store(migrated_sqlite_url) as store:
        statement = store.driver.statements.of(look)
        with sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///")) as connection:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", statement.bind(params)).fetchall()
        connection.close()
    steps = [step[3] for step in plan]
    for name in tables:
        assert not [step for step in steps if step == f"SCAN {name}"], steps
        assert [step for step in steps if step.startswith((f"SEARCH {name} ", f"SCAN {name} USING"))], steps


CLAIMS = [
    (claiming._ANY_READY, {"now": T0, "lacks": 0}, "lanes USING INDEX ix_lanes_ready"),
    (claiming._READY_HERE, {"now": T0, "lacks": 0, "most": 9}, "lanes USING INDEX ix_lanes_ready"),
    (claiming._TAKE_HERE, {"place": 1, "worker": "w", "lease": 1}, "lanes USING INTEGER PRIMARY KEY"),
    (claiming._HEAD, {"agent": "a"}, "runs USING INDEX ix_runs_queue"),
    (
        claiming._START_HERE,
        {"run": "r", "agent": "a", "worker": "w", "lease": 1, "begun": T0},
        "runs USING INTEGER PRIMARY KEY",
    ),
    (mailbox.REFRESH, {"agent": "a", "now": T0}, "runs USING INDEX ix_runs_queue"),
]


@pytest.mark.parametrize(("statement", "params", "index"), CLAIMS)
async def test_claim_goes_by_the_partial_indexes_and_sorts_nothing(
    migrated_sqlite_url: str, statement: Any, params: dict[str, Any], index: str
) -> None:
    async with Store(migrated_sqlite_url) as store:
        made = store.driver.statements.of(statement)
        with sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///")) as connection:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {made.sql}", made.bind(params)).fetchall()
        connection.close()
    steps = [step[3] for step in plan]
    assert [step for step in steps if index in step], steps
    assert not [step for step in steps if "TEMP B-TREE" in step or step.startswith(("SCAN lanes", "SCAN runs"))], steps


PILED_UP = """
SET LOCAL session_replication_role = replica;
INSERT INTO lanes (agent_id, ready_at, fence, next_seq, clock_at, paused, exclusive)
    SELECT 'agent ' || n, now() - make_interval(secs => n), 0, 1, now(), false, false FROM generate_series(1, 3000) n;
INSERT INTO runs (id, project_id, agent_id, kind, status, order_at, seq, attempt, payload, idempotency_key, cause_kind,
    fence, simulated, labels, step_count, token_usage, cost_microusd, created_at)
    SELECT 'run ' || n, 'p', 'agent ' || 2990 + n % 11, 'chat', 'created', now(), n, 0, '{}', n, 'message',
        0, false, '[]', 0, '{}', 0, now() FROM generate_series(1, 5000) n;
ANALYZE lanes, runs
"""
PREPARED = sa.text(
    "SELECT generic_plans, custom_plans FROM pg_prepared_statements"
    " WHERE starts_with(statement, 'WITH ready') OR statement LIKE '%FROM runs%''created''%LIMIT 1'"
).columns(generic_plans=sa.Integer(), custom_plans=sa.Integer())
TRIED = 5
"""Plans for the values given that PostgreSQL makes before it compares what they cost with one for any."""


async def test_claim_is_planned_once_and_for_all_on_postgresql(postgres_url: str) -> None:
    await upgrade(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(PILED_UP)
    async with Store(postgres_url) as store:
        for number in range(TRIED + 3):
            assert len(await store.write(mailbox.claim, "w", 1, datetime.now(UTC))) == 1, number
        plans = [tuple(row) for row in await store.write(lambda tx: tx.rows(PREPARED))]
    assert plans == [(3, TRIED)] * 2
