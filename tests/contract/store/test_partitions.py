"""Steps, messages and activities are kept by month on PostgreSQL, whatever clocks say; SQLite parts nothing."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from interlock.core.values import SYSTEM
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate, partitions
from tests.migration.released import build

FAR = datetime(2031, 5, 17, tzinfo=UTC)
LONG_AGO = datetime(1999, 1, 1, tzinfo=UTC)


def places(url: str) -> dict[str, int]:
    """In which part how many activities are."""
    with psycopg.connect(url) as connection:
        return dict(
            connection.execute("SELECT tableoid::regclass::text, count(*) FROM activities GROUP BY 1").fetchall()
        )


def note(tx: Tx, at: datetime) -> None:
    audit.note(tx, "x", SYSTEM, at, project_id="p")


async def made(store: Store, *given: Any) -> list[str]:
    """The parts that were missing, made one by one."""
    return [name async for name in _made(store, *given)]


async def _made(store: Store, *given: Any) -> AsyncIterator[str]:
    while (name := await store.write(partitions.ensure, *given)) is not None:
        yield name


@pytest.fixture
async def url(postgres_url: str) -> str:
    """The URL of a migrated PostgreSQL database of its own."""
    await migrate.upgrade(postgres_url)
    return postgres_url


async def test_rows_of_any_time_find_a_place_and_move_to_their_month_when_it_is_made(url: str) -> None:
    now = datetime.now(UTC)
    this_month = f"activities_{now:%Y_%m}"
    async with Store(url) as store:
        for at in (LONG_AGO, now, FAR, FAR):
            await store.write(note, at)
        assert places(url) == {"activities_before": 1, this_month: 1, "activities_default": 2}
        assert "activities_2031_05" in await made(store, FAR)
        assert places(url) == {"activities_before": 1, this_month: 1, "activities_2031_05": 2}
        assert len(await store.read(audit.activities)) == 4


async def test_months_ahead_are_made_once_without_gaps(url: str) -> None:
    now = datetime.now(UTC)
    async with Store(url) as store:
        assert await made(store, now, 14)
        assert await made(store, now, 14) == []
        for name in partitions.TABLES:
            there = await store.read(partitions.partitions, name)
            assert there[0].start is None
            assert all(one.stop == following.start for one, following in pairwise(there))
            assert len(there) >= 15


async def test_tables_of_before_become_the_first_part_as_they_are(postgres_url: str) -> None:
    build(postgres_url, "0002")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE activities SET created_at = %s WHERE id = 1", [FAR])
    await migrate.upgrade(postgres_url)
    found = places(postgres_url)
    assert found["activities_default"] == 1
    assert found["activities_before"] == sum(found.values()) - 1 > 0


async def test_sqlite_has_no_parts(migrated_sqlite_url: str) -> None:
    async with Store(migrated_sqlite_url) as store:
        assert await made(store, FAR) == []
        assert await store.read(partitions.partitions, "run_steps") == []
