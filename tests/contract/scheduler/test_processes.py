"""Real processes that fire jobs: stand by, are killed, are followed at once."""

import asyncio
import json
import os
import signal
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

from interlock.core.clock import SystemClock
from interlock.scheduler.runner import Scheduler
from interlock.settings import load_settings
from interlock.store.duties import leaders
from interlock.store.duties.firings import FIRINGS
from interlock.store.engine import Store
from interlock.testing.runtime import runtime_over
from interlock.testing.scripted import ScriptedModel
from tests import processes
from tests.contract.runner.stage import until
from tests.processes import Process


def process(url: str, home: Path) -> AbstractContextManager[Process]:
    """`interlock scheduler` over a database."""
    return processes.running(("-m", "interlock.cli", "scheduler"), folder=home, environment=environment(url, home))


def environment(url: str, home: Path) -> dict[str, str]:
    """What it sees."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "INTERLOCK_DATABASE_URL": url, "INTERLOCK_HOME": str(home), "PYTHONUNBUFFERED": "1"}


async def leader(store: Store) -> Any:
    return await store.read(leaders.leader, "scheduler")


async def test_process_that_is_killed_is_followed_at_once(store: Store, migrated_url: str, tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {}, {"home": tmp_path, "database_url": store.url})
    follower = Scheduler(runtime_over(store, settings, ScriptedModel(), clock=SystemClock()))
    with process(migrated_url, tmp_path) as first:
        assert "fires the jobs" in await first.line()
        assert (await leader(store)).pid == first.pid

        async def fired() -> bool:
            rows = await store.read(lambda tx: tx.rows(FIRINGS.select().where(FIRINGS.c.status == "done")))
            return {row.job for row in rows} >= {"heartbeat", "waits", "reminders"}

        await until(fired)
        assert not await follower.leadership.hold()
        first.send_signal(signal.SIGKILL)
        await first.ended()
        assert await follower.leadership.hold()
        assert (await leader(store)).pid == os.getpid()
        assert follower.leadership.fence == 2
    await follower.leadership.release()


async def test_process_that_is_stopped_gives_its_duty_to_the_one_that_stands_by(
    store: Store, migrated_url: str, tmp_path: Path
) -> None:
    with process(migrated_url, tmp_path) as first:
        assert "fires the jobs" in await first.line()
        with process(migrated_url, tmp_path) as second:
            told = await second.line()
            assert "stands by" in told
            assert f"process {first.pid} on" in told
            first.send_signal(signal.SIGTERM)
            assert "stopped" in await first.line()
            assert await first.ended() == 0
            assert "fires the jobs" in await second.line()
            assert (await leader(store)).pid == second.pid


async def test_list_says_who_fires_the_jobs_and_when_each_was_fired_last(
    store: Store, migrated_url: str, tmp_path: Path
) -> None:
    settings = load_settings(tmp_path, {}, {"home": tmp_path, "database_url": store.url})
    scheduler = Scheduler(runtime_over(store, settings, ScriptedModel(), clock=SystemClock()))
    assert await scheduler.leadership.hold()
    assert await scheduler.fire(scheduler.jobs[0])
    with processes.running(
        ("-m", "interlock.cli", "scheduler", "--json"), folder=tmp_path, environment=environment(migrated_url, tmp_path)
    ) as listing:
        assert listing.stdout is not None
        found = json.loads(await asyncio.to_thread(listing.stdout.read))
    assert found["leader"]["pid"] == os.getpid()
    assert [job["name"] for job in found["jobs"]] == [job.name for job in scheduler.jobs]
    first, *others = found["jobs"]
    assert (first["last_status"], {job["last_fired_at"] for job in others}) == ("done", {None})
    assert first["next_fire_at"] > first["last_fired_at"]
    yesterday = scheduler.runtime.clock.now() - timedelta(days=1)
    await store.write(lambda tx: tx.run(FIRINGS.update().values(fire_at=yesterday)))
    args, around = ("-m", "interlock.cli", "scheduler", "--list"), environment(migrated_url, tmp_path)
    _, listed, _ = await asyncio.to_thread(processes.run, args, folder=tmp_path, environment=around)
    assert [line.split()[0] for line in listed.splitlines() if "is due" in line] == [first["name"]]
    await scheduler.leadership.release()
