"""Tables of PostgreSQL are changed beside those who read them: neither keeps the other waiting for long."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from interlock.core.values import SYSTEM
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.tx import Tx
from interlock.store.upkeep import archive, migrate, partitions, restore, retention
from interlock.store.upkeep.epochs import Beginning

FAR = datetime(2031, 5, 17, tzinfo=UTC)
AFTER = datetime(2031, 7, 1, tzinfo=UTC)
STEPS: sa.Select[Any] = sa.select(sa.func.count().label("n")).select_from(sa.table("run_steps"))
RUNS: sa.Select[Any] = sa.select(sa.func.count().label("n")).select_from(sa.table("runs"))
TASKS: sa.Select[Any] = sa.select(sa.func.count().label("n")).select_from(sa.table("tasks"))
ASKED = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = '{}'::regclass AND NOT granted"


def tasks(tx: Tx) -> int:
    return int(tx.rows(TASKS)[0].n)


def steps(tx: Tx) -> int:
    return int(tx.rows(STEPS)[0].n)


def runs(tx: Tx) -> int:
    return int(tx.rows(RUNS)[0].n)


@pytest.fixture
async def url(postgres_url: str) -> str:
    """The URL of a migrated PostgreSQL database of its own, whose tables may be changed."""
    await migrate.upgrade(postgres_url)
    return postgres_url


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with Store(url) as opened:
        yield opened


@pytest.fixture
def beside(url: str) -> Iterator["psycopg.Connection[Any]"]:
    """Somebody whose transaction lasts: what it has looked at or locked is kept until its end."""
    with psycopg.connect(url) as connection:
        yield connection
        connection.rollback()


async def test_a_month_is_made_while_somebody_reads_runs(
    url: str, store: Store, beside: "psycopg.Connection[Any]"
) -> None:
    """To get at `runs` alone, it would have to wait for every reader, and all others behind it."""
    beside.execute("SELECT count(*) FROM runs")
    assert await store.write(partitions.ensure, FAR) == "run_steps_2031_05"
    with psycopg.connect(url) as look:
        found = look.execute(
            "SELECT count(*) FROM pg_constraint WHERE conrelid = 'run_steps_2031_05'::regclass AND contype = 'f'"
        ).fetchone()
    assert found == (1,)


@pytest.mark.parametrize("change", ["ensure", "drop"])
async def test_readers_go_on_while_a_change_waits_for_one_that_stays(
    url: str, store: Store, beside: "psycopg.Connection[Any]", change: str
) -> None:
    if change == "drop":
        assert await store.write(partitions.ensure, FAR, 0) == "run_steps_2031_05"
    beside.execute("SELECT count(*) FROM run_steps")
    unit, moment = (partitions.ensure, FAR) if change == "ensure" else (retention.drop_month, AFTER)
    async with Store(url) as other:
        changing = asyncio.create_task(store.write(unit, moment))
        with psycopg.connect(url, autocommit=True) as look:
            wanted = "run_steps_default" if change == "ensure" else "run_steps"
            async with asyncio.timeout(60):
                while look.execute(ASKED.format(wanted).encode()).fetchone() is None:
                    await asyncio.sleep(0)
        for _ in range(20):
            assert await other.read(steps) == 0
        assert not changing.done()
        beside.rollback()
        assert await changing is not None


async def test_a_read_waits_for_a_table_that_is_being_changed(store: Store, beside: "psycopg.Connection[Any]") -> None:
    again, tries = threading.Event(), []

    def counted(tx: Tx) -> int:
        tries.append(tx)
        if len(tries) > 3:
            again.set()
        return runs(tx)

    beside.execute("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE")
    reading = asyncio.create_task(store.read(counted))
    assert await asyncio.to_thread(again.wait, 60)
    assert not reading.done()
    beside.rollback()
    assert await reading == 0


async def test_a_read_gives_up_after_a_while_and_its_connection_is_as_good_as_before(
    store: Store, beside: "psycopg.Connection[Any]"
) -> None:
    store.driver.patience_s = 0.2  # type: ignore[union-attr]
    beside.execute("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE")
    with pytest.raises(StoreUnavailable, match="lock timeout"):
        await store.read(runs)
    beside.rollback()
    assert await store.read(runs) == 0


async def test_readers_go_on_while_a_migration_waits_for_one_that_stays(postgres_url: str) -> None:
    migrate.migrate_to(postgres_url, "0004")
    with psycopg.connect(postgres_url) as beside, psycopg.connect(postgres_url, autocommit=True) as look:
        beside.execute("SELECT count(*) FROM tasks")
        migrating = asyncio.create_task(asyncio.to_thread(migrate.migrate_to, postgres_url))
        async with asyncio.timeout(60):
            while look.execute(ASKED.format("tasks").encode()).fetchone() is None:
                await asyncio.sleep(0.01)
        async with Store(postgres_url) as store:
            assert await store.read(tasks) == 0
        assert not migrating.done()
        beside.rollback()
        await migrating
    assert migrate.revision(postgres_url) == migrate.HEAD


async def test_readers_go_on_while_a_restore_waits_for_one_that_stays_who_is_named_in_the_end(
    url: str, store: Store, beside: "psycopg.Connection[Any]", tmp_path: Path
) -> None:
    """It would have the tables it got to itself, for a minute, while it waits for the one it did not get."""
    await asyncio.to_thread(archive.back_up, url, tmp_path / "x.backup", "0", FAR)
    beside.execute("SELECT count(*) FROM tasks")

    def put(patience_s: float) -> object:
        return restore.restore(
            url, tmp_path / "x.backup", tmp_path, lambda manifest: Beginning(FAR, FAR, SYSTEM, "default", False),
            silent_s=None, patience_s=patience_s,
        )  # fmt: skip

    told = (
        rf"process {beside.info.backend_pid} of the server .*has its tables in use, in a transaction for \d+ s: end it"
    )
    with pytest.raises(StoreUnavailable, match=told):
        await asyncio.to_thread(put, 0)
    restoring = asyncio.create_task(asyncio.to_thread(put, 60))
    with psycopg.connect(url, autocommit=True) as look:
        async with asyncio.timeout(60):
            while look.execute(ASKED.format("tasks").encode()).fetchone() is None:
                await asyncio.sleep(0.01)
    assert [await each for each in (store.read(tasks), store.read(runs), store.read(steps))] == [0, 0, 0]
    assert not restoring.done()
    beside.rollback()
    await restoring
