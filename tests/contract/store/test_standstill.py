"""A process that stands still in the middle of a transaction: PostgreSQL breaks it off, and it goes on afterwards."""

import asyncio
import threading
from collections.abc import Iterator
from time import monotonic
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from interlock.core.errors import Conflict
from interlock.settings.model import Times
from interlock.store import squad
from interlock.store.drivers.postgres import STANDSTILL_MS, PostgresDriver
from interlock.store.engine import Store
from interlock.store.squad import PROJECTS
from interlock.store.tx import Tx
from tests.contract.store.furniture import PROJECT, T0

STATE = "SELECT state FROM pg_stat_activity WHERE pid = %s"
CHANGING = "SELECT 1 FROM pg_locks WHERE relation = 'projects'::regclass AND mode = 'RowExclusiveLock' AND granted"
LOCK = PROJECTS.update().values(timezone=PROJECTS.c.timezone)
PREPARED: sa.Select[Any] = sa.select(sa.column("statement", sa.String())).select_from(
    sa.table("pg_prepared_statements")
)
OLDEST = PROJECTS.select().order_by(PROJECTS.c.id)


@pytest.fixture
def admin(migrated_postgres_url: str) -> Iterator["psycopg.Connection[Any]"]:
    """Somebody who looks at the server."""
    with psycopg.connect(migrated_postgres_url, autocommit=True) as connection:
        yield connection


async def until_idle(admin: "psycopg.Connection[Any]", pid: int) -> None:
    """Waits until the server knows that nothing follows for now in the transaction of a connection.

    Raises TimeoutError.
    """
    async with asyncio.timeout(60):
        while admin.execute(STATE, [pid]).fetchone() != ("idle in transaction",):
            await asyncio.sleep(0.01)


async def until_locked(admin: "psycopg.Connection[Any]") -> None:
    """Waits until somebody is changing projects.

    Raises TimeoutError.
    """
    async with asyncio.timeout(60):
        while admin.execute(CHANGING).fetchone() is None:
            await asyncio.sleep(0.01)


def until_gone(admin: "psycopg.Connection[Any]", pid: int) -> None:
    """Waits until the server has ended a connection, for a minute at most."""
    until = monotonic() + 60
    while admin.execute(STATE, [pid]).fetchone() is not None and monotonic() < until:
        pass


async def test_server_sees_that_a_transaction_stands_still_and_ends_it_before_a_takeover(
    migrated_postgres_url: str, admin: "psycopg.Connection[Any]"
) -> None:
    """A process that was frozen, or a machine that was cut off, must not keep its locks from the whole fleet."""
    inside, go_on, pids = threading.Event(), threading.Event(), list[int]()

    def frozen(tx: Tx) -> None:
        squad.ensure_project(tx, PROJECT, "UTC", T0)
        tx.one(OLDEST)
        pids.append(tx.connection.info.backend_pid)  # type: ignore[attr-defined]
        inside.set()
        go_on.wait(60)

    async with Store(migrated_postgres_url) as store:
        writing = asyncio.create_task(store.write(frozen))
        await asyncio.to_thread(inside.wait, 60)
        try:
            await until_idle(admin, pids[0])
        finally:
            go_on.set()
            await writing
    limit = PostgresDriver(migrated_postgres_url).connect()
    assert limit.execute("SHOW idle_in_transaction_session_timeout").fetchone() == (f"{STANDSTILL_MS // 1000}s",)
    limit.close()
    assert Times().leader_takeover_s > STANDSTILL_MS / 1000


async def test_unit_that_was_broken_off_while_it_stood_still_is_made_again_and_lands_once(
    migrated_postgres_url: str, admin: "psycopg.Connection[Any]"
) -> None:
    pids: list[int] = []

    def slow_at_first(tx: Tx) -> str:
        squad.ensure_project(tx, PROJECT, "UTC", T0)
        connection: Any = tx.connection  # type: ignore[attr-defined]
        if not pids:
            pids.append(connection.info.backend_pid)
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 50")
            tx.one(OLDEST)
            until_gone(admin, pids[0])
        found = tx.one(OLDEST)
        assert found is not None
        return str(found.id)

    async with Store(migrated_postgres_url) as store:
        assert await store.write(slow_at_first) == PROJECT
        assert len(await store.read(lambda tx: tx.rows(OLDEST))) == 1


async def test_read_that_was_broken_off_while_it_stood_still_is_made_again(
    migrated_postgres_url: str, admin: "psycopg.Connection[Any]"
) -> None:
    pids: list[int] = []

    def slow_at_first(tx: Tx) -> int:
        connection: Any = tx.connection  # type: ignore[attr-defined]
        if not pids:
            pids.append(connection.info.backend_pid)
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 50")
            until_gone(admin, pids[0])
        return len(tx.rows(OLDEST))

    async with Store(migrated_postgres_url) as store:
        await store.write(squad.ensure_project, PROJECT, "UTC", T0)
        assert await store.read(slow_at_first) == 1


async def test_who_is_kept_waiting_by_a_process_that_stands_still_ends_its_transaction(
    migrated_postgres_url: str, admin: "psycopg.Connection[Any]"
) -> None:
    """Also where it stood still with statements on their way, for the rest of which the server waits without end."""
    inside, go_on, tries = threading.Event(), threading.Event(), list[int]()

    def frozen_at_first(tx: Tx) -> None:
        tx.run(LOCK)
        tries.append(1)
        if len(tries) == 1:
            tx.connection.pgconn.flush()  # type: ignore[attr-defined]
            inside.set()
            go_on.wait(60)

    async with Store(migrated_postgres_url) as store, Store(migrated_postgres_url) as other:
        assert isinstance(other.driver, PostgresDriver)
        other.driver.patience_s, other.driver.standstill_ms = 0.3, 50
        await store.write(squad.ensure_project, PROJECT, "UTC", T0)
        writing = asyncio.create_task(store.write(frozen_at_first))
        await asyncio.to_thread(inside.wait, 60)
        await until_locked(admin)
        await other.write(lambda tx: tx.must(LOCK, {}, 1, Conflict("there is none")))
        go_on.set()
        await writing
    assert len(tries) == 2


def test_reads_keep_their_prepared_statements(migrated_postgres_url: str) -> None:
    """What is looked at many times a second costs several times as much where it is planned again each time."""
    driver = PostgresDriver(migrated_postgres_url)
    reader = driver.open_reader()

    def prepared(tx: Tx) -> int:
        tx.rows(OLDEST)
        return sum("FROM projects" in row.statement for row in tx.rows(PREPARED))

    assert driver.read(reader, prepared, (), {}) == 1
    assert reader.connection.execute("SELECT name FROM pg_prepared_statements", prepare=False).fetchall() != []
    reader.connection.close()
