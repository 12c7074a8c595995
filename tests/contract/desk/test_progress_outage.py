"""Who follows a mission looks again where the database cannot be asked for a moment, and is told where it stays so."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from interlock import Interlock
from interlock.desk.reading.progress import LOOK_S, SAT_OUT_S, follow
from interlock.store.engine import Store
from interlock.store.errors import StoreClosed, StoreUnavailable
from interlock.testing.clock import FakeClock
from tests.contract.store.furniture import T0

SHUT = "LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE"


@pytest.fixture
async def box(tmp_path: Path, migrated_postgres_url: str) -> AsyncIterator[Interlock]:
    """A home on a server; a read waits for a table for a moment only."""
    async with Interlock.open(
        cwd=tmp_path, env={}, database_url=migrated_postgres_url, model="rehearsal/offline"
    ) as opened:
        opened.runtime.store.driver.patience_s = 0.0  # type: ignore[union-attr]
        yield opened


def context(store: Store, clock: FakeClock) -> Any:
    """As much of a context as following needs."""
    return SimpleNamespace(store=store, clock=clock)


async def test_an_outage_of_a_moment_is_sat_out(box: Interlock, migrated_postgres_url: str) -> None:
    mission_id = await box.submit("Compare A and B")
    looks: list[None] = []
    following = follow(box.runtime, mission_id, while_waiting=lambda: looks.append(None))
    async with contextlib.aclosing(following) as news:
        first = await anext(news)
        with psycopg.connect(migrated_postgres_url) as other:
            other.execute(SHUT)
            waiting = asyncio.ensure_future(anext(news))
            async with asyncio.timeout(60):
                while len(looks) < 4:
                    await asyncio.sleep(LOOK_S / 10)
            assert not waiting.done()
            other.rollback()
        found = await waiting
    assert (found.standing, found.seen) == (first.standing, first.seen)


async def test_one_that_lasts_is_told(box: Interlock, migrated_postgres_url: str) -> None:
    mission_id = await box.submit("Compare A and B")
    clock = FakeClock(T0)
    began = clock.monotonic()
    following = follow(
        context(box.runtime.store, clock), mission_id, while_waiting=lambda: clock.advance(SAT_OUT_S / 2 - 1)
    )
    with psycopg.connect(migrated_postgres_url) as other:
        other.execute(SHUT)
        with pytest.raises(StoreUnavailable, match="try again"):
            await anext(following)
        other.rollback()
    assert clock.monotonic() - began > SAT_OUT_S


async def test_nothing_is_sat_out_once_the_store_is_closed(migrated_sqlite_url: str) -> None:
    async with Store(migrated_sqlite_url) as store:
        following = follow(context(store, FakeClock(T0)), "mis_any")
    with pytest.raises(StoreClosed):
        await anext(following)
