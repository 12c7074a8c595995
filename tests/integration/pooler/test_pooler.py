"""Workers whose transactions each get another session of the database: everything works, with four connections."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest
from psycopg import sql

from interlock.app import fleet, maintenance
from interlock.app.box import Interlock
from interlock.desk.operations import emergency
from interlock.desk.reading.progress import Standing
from interlock.settings import load_settings
from interlock.store.drivers.postgres import Unreachable
from interlock.store.engine import Store
from interlock.store.upkeep import migrate
from interlock.testing.scripted import ScriptedModel, Stream
from interlock.worker.loop import Worker
from tests.contract.runner.stage import staged, until

EFFECTIVE_S = 20.0
"""Ten times what it takes at most on a machine that has nothing else to do, and less than the next sign of life."""
MOST_CONNECTIONS = 4


def clients(url: str) -> int:
    """How many connections to the pooler's database there are; the one that asks is to another."""
    place, _, name = url.rpartition("/")
    with psycopg.connect(f"{place}/pgbouncer", autocommit=True) as admin:
        admin.prepare_threshold = None
        rows = admin.execute(b"SHOW CLIENTS").fetchall()
    return sum(1 for row in rows if name in row)


async def test_two_workers_bring_a_mission_to_its_end_through_the_pooler(
    pooled_url: str, postgres_url: str, tmp_path: Path
) -> None:
    """One of them migrates and only looks for work, the other is told of it past the pooler."""
    direct: dict[str, Any] = {"database_direct_url": postgres_url}
    async with AsyncExitStack() as stack:
        boxes = [
            await stack.enter_async_context(
                Interlock.open(
                    cwd=tmp_path, env={}, home=tmp_path / name, database_url=pooled_url, database_pooler=True,
                    model="rehearsal/offline", **more,
                )
            )
            for name, more in (("one", {}), ("two", direct))
        ]  # fmt: skip
        mission = await boxes[0].submit("Write a haiku about queues")
        assert [await box.start() for box in boxes] == [True, True]
        found = await boxes[1].settled(mission)
        connections = clients(pooled_url)
    assert (found.standing, found.status) == (Standing.DONE, "DONE")
    assert connections <= MOST_CONNECTIONS * len(boxes)


async def test_stop_reaches_four_workers_through_the_pooler_soon(pooled_url: str, tmp_path: Path) -> None:
    await migrate.upgrade(pooled_url, pooled=True)
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(Store(pooled_url, pooled=True)) for _ in range(5)]
        model = ScriptedModel(otherwise=lambda _: Stream(asyncio.Event()))
        stages = [await staged(store, tmp_path / str(n), model) for n, store in enumerate(stores)]
        runs = [await stages[4].think(name=str(number)) for number in range(8)]
        workers = [Worker(stage.runtime, concurrency=2) for stage in stages[:4]]
        working = [asyncio.create_task(worker.run()) for worker in workers]
        await until(lambda: all(len(worker.in_hand) == 2 for worker in workers))
        await until(lambda: len(model.requests) == 8)
        began = monotonic()
        view = await emergency.stop(stages[4].runtime, stages[4].ada, wait_s=60)
        took_s = monotonic() - began
        assert sorted(each["id"] for each in view["runs"]) == sorted(runs)
        assert view["still_running"] == []
        assert took_s < EFFECTIVE_S
        for worker in workers:
            worker.stop()
        await asyncio.gather(*working)


async def test_database_is_created_backed_up_and_restored_through_the_pooler_without_a_direct_url(
    pooled_url: str, postgres_url: str, tmp_path: Path
) -> None:
    """The database is set to what sessions of its own would have to be told of: there are none here."""
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        for name, value in {"datestyle": "SQL, DMY", "timezone": "Asia/Kolkata"}.items():
            admin.execute(
                sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                    sql.Identifier(admin.info.dbname), sql.Identifier(name), sql.Literal(value)
                )
            )
    settings = load_settings(tmp_path, {}, {
        "home": tmp_path / "home", "database_url": pooled_url, "database_pooler": True, "model": "rehearsal/offline",
    })  # fmt: skip
    await maintenance.upgrade(settings)
    assert (await maintenance.revisions(settings)).found == migrate.HEAD
    options: dict[str, Any] = {"cwd": tmp_path, "env": {}, "home": settings.home, "database_url": pooled_url}
    async with Interlock.open(**options, database_pooler=True, model="rehearsal/offline") as box:
        done = await box.run("Write a haiku about queues")
    assert done.status == "DONE"
    made = await maintenance.back_up(settings, tmp_path / "one.backup")
    found = await maintenance.begin_anew(settings, tmp_path / "one.backup", force=True, paused=False, keep=True)
    assert (found.manifest, found.uncertain.epoch) == (made, 1)
    async with Interlock.open(**options, database_pooler=True, model="rehearsal/offline") as box:
        again = await box.settled(done.mission_id)
    assert (again.status, again.standing) == ("DONE", Standing.DONE)


async def test_pooler_that_is_not_known_to_be_one_is_told_of_and_not_waited_for(
    pooled_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unreachable, match="database_pooler: true"):
        async with fleet.opened(asyncio.Event(), print, home=tmp_path, database_url=pooled_url):
            raise AssertionError("it needs a session of its own")
