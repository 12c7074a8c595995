"""Real processes that fire jobs: stand by, are killed, are followed at once."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from interlock.core.clock import SystemClock
from interlock.scheduler.runner import Scheduler
from interlock.settings import load_settings
from interlock.store import leaders
from interlock.store.engine import Store
from interlock.store.firings import FIRINGS
from interlock.testing.runtime import runtime_over
from interlock.testing.scripted import ScriptedModel
from tests.contract.runner.stage import until


@asynccontextmanager
async def process(url: str, home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """`interlock scheduler` over a database."""
    env = {**os.environ, "INTERLOCK_DATABASE_URL": url, "INTERLOCK_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "interlock.cli", "scheduler", cwd=home, env=env, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def said(started: asyncio.subprocess.Process) -> str:
    """The next line that a process prints."""
    assert started.stdout is not None
    return (await started.stdout.readline()).decode()


async def leader(store: Store) -> Any:
    return await store.read(leaders.leader, "scheduler")


async def test_process_that_is_killed_is_followed_at_once(store: Store, migrated_url: str, tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {}, {"home": tmp_path, "database_url": store.url})
    follower = Scheduler(runtime_over(store, settings, ScriptedModel(), clock=SystemClock()))
    async with process(migrated_url, tmp_path) as first:
        assert "fires the jobs" in await said(first)
        assert (await leader(store)).pid == first.pid

        async def fired() -> bool:
            rows = await store.read(lambda tx: tx.rows(FIRINGS.select().where(FIRINGS.c.status == "done")))
            return {row.job for row in rows} >= {"heartbeat", "waits", "reminders"}

        await until(fired)
        assert not await follower.leadership.hold()
        first.send_signal(signal.SIGKILL)
        await first.wait()
        assert await follower.leadership.hold()
        assert (await leader(store)).pid == os.getpid()
        assert follower.leadership.fence == 2
    await follower.leadership.release()


async def test_process_that_is_stopped_gives_its_duty_to_the_one_that_stands_by(
    store: Store, migrated_url: str, tmp_path: Path
) -> None:
    async with process(migrated_url, tmp_path) as first:
        assert "fires the jobs" in await said(first)
        async with process(migrated_url, tmp_path) as second:
            told = await said(second)
            assert "stands by" in told
            assert f"process {first.pid} on" in told
            first.send_signal(signal.SIGTERM)
            assert "stopped" in await said(first)
            assert await first.wait() == 0
            assert "fires the jobs" in await said(second)
            assert (await leader(store)).pid == second.pid


async def test_list_says_who_fires_the_jobs_and_when_each_was_fired_last(
    store: Store, migrated_url: str, tmp_path: Path
) -> None:
    env = {**os.environ, "INTERLOCK_DATABASE_URL": migrated_url, "INTERLOCK_HOME": str(tmp_path)}
    settings = load_settings(tmp_path, {}, {"home": tmp_path, "database_url": store.url})
    scheduler = Scheduler(runtime_over(store, settings, ScriptedModel(), clock=SystemClock()))
    assert await scheduler.leadership.hold()
    assert await scheduler.fire(scheduler.jobs[0])
    listed = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "interlock.cli", "scheduler", "--json", cwd=tmp_path, env=env,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    found = json.loads((await listed.communicate())[0])
    assert found["leader"]["pid"] == os.getpid()
    assert [job["name"] for job in found["jobs"]] == [job.name for job in scheduler.jobs]
    first, *others = found["jobs"]
    assert (first["last_status"], {job["last_fired_at"] for job in others}) == ("done", {None})
    assert first["next_fire_at"] > first["last_fired_at"]
    await scheduler.leadership.release()
