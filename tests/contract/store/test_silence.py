"""A server that answers no more while its connections stay open: nobody waits for it for ever, and it may come back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from interlock.store import squad
from interlock.store.drivers.postgres import PostgresDriver
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.squad import PROJECTS
from tests.chaos.wire import Wire
from tests.contract.store.furniture import PROJECT, T0

OLDEST = PROJECTS.select().order_by(PROJECTS.c.id)
SILENT_S, SOON_S = 0.5, 20.0


@pytest.fixture
async def wire(postgres_server: str) -> AsyncIterator[Wire]:
    """A line to the server that can be cut, both ways, without either end hearing of it."""
    async with Wire(postgres_server) as made:
        yield made


def store_over(wire: Wire, url: str) -> Store:
    """An impatient store over the line."""
    made = Store(url.replace("postgres@/", f"postgres@127.0.0.1:{wire.port}/").partition("?")[0])
    assert isinstance(made.driver, PostgresDriver)
    made.driver.silent_s = made.driver.closing_s = SILENT_S
    made.driver.connect_s = 2
    return made


async def found(store: Store) -> list[Any]:
    """What a reader sees."""
    return await store.read(lambda tx: tx.rows(OLDEST))


async def test_writes_and_reads_fail_in_time_and_work_again_once_the_server_answers(
    wire: Wire, migrated_postgres_url: str, tmp_path: Path
) -> None:
    async with store_over(wire, migrated_postgres_url) as store:
        assert await found(store) == []
        wire.cut()
        for waiting in (store.write(squad.ensure_project, PROJECT, "UTC", T0), found(store)):
            with pytest.raises(StoreUnavailable):
                await asyncio.wait_for(waiting, SOON_S)
        wire.mend()
        await asyncio.wait_for(store.write(squad.ensure_project, PROJECT, "UTC", T0), SOON_S)
        assert [row.id for row in await found(store)] == [PROJECT]


async def test_store_is_closed_though_the_server_answers_no_more(wire: Wire, migrated_postgres_url: str) -> None:
    store = await store_over(wire, migrated_postgres_url).open()
    assert isinstance(store.driver, PostgresDriver)
    store.driver.silent_s = 3600
    assert await found(store) == []
    wire.cut()
    waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(found(store))]
    waiting += [asyncio.ensure_future(store.write(squad.ensure_project, f"p{n}", "UTC", T0)) for n in range(3)]
    await asyncio.sleep(0)
    began = monotonic()
    await store.close()
    assert monotonic() - began < SOON_S
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(each, StoreUnavailable) for each in ended), ended
