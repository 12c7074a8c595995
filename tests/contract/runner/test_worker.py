"""The worker: how many runs at once, whose runs are taken back when, and what never ends it."""

import asyncio
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.mailboxes import leases, processes
from interlock.testing.scripted import ScriptedModel, Stream, calls
from interlock.tools.registry import tool
from interlock.worker.watchkeeping import Watchkeeper, WorkerCallbacks
from tests.contract.runner.stage import CountingStore, Stage, staged, until
from tests.contract.runner.workers import working


async def over(stage: Stage, *runs: str) -> None:
    """Waits until runs have ended."""

    async def ended() -> bool:
        return all([(await stage.run(run)).completed_at is not None for run in runs])

    await until(ended)


async def test_no_more_runs_at_once_than_allowed(store: CountingStore, tmp_path: Path) -> None:
    at_once, most, goes_on = 0, 0, asyncio.Event()

    async def reply(request: Any) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await goes_on.wait()
        at_once -= 1
        return "done"

    stage = await staged(store, tmp_path, ScriptedModel(otherwise=reply))
    runs = [await stage.think(name=str(number)) for number in range(7)]
    async with working(stage, concurrency=3):
        await until(lambda: at_once == 3)
        goes_on.set()
        await over(stage, *runs)
    assert most == 3
    assert len(stage.model.requests) == 7


async def test_stopping_hands_back_and_the_next_worker_goes_on(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event()), "done"))
    run = await stage.think()
    async with working(stage):
        await until(lambda: len(stage.model.requests) == 1)
    assert (await stage.run(run)).status == "created"
    assert await store.read(leases.live) == []
    async with working(stage):
        await over(stage, run)
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_cancel_reaches_a_run_at_work(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event())))
    run = await stage.think()
    async with working(stage):
        await until(lambda: len(stage.model.requests) == 1)
        await store.write(leases.cancel, run, stage.clock.now(), "not wanted")
        await over(stage, run)
    assert await stage.ended(run) == ("cancelled", "cancelled")


async def test_failing_runs_leave_the_worker_at_work(store: CountingStore, tmp_path: Path) -> None:
    @tool(risk="GREEN", idempotent=True)
    async def explode() -> str:
        """Fails badly."""
        raise RecursionError("deep")

    script: list[Any] = [RuntimeError("odd"), MemoryError(), calls("explode"), "survived", "fine"]
    stage = await staged(store, tmp_path, ScriptedModel(*script), [explode])
    runs = [await stage.think(name=str(number)) for number in range(4)]
    async with working(stage, concurrency=1):
        await over(stage, *runs)
    assert sorted([(await stage.run(run)).status for run in runs]) == ["completed", "completed", "failed", "failed"]


async def test_runs_whose_persona_was_deleted_go_on_with_the_one_that_their_agents_have(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise="done"))
    runs = [await stage.think(), await stage.chat()]
    stage.runtime = replace(stage.runtime, personas=replace(stage.runtime.personas, personas={}))
    async with working(stage):
        await over(stage, *runs)
    assert [await stage.ended(run) for run in runs] == [("completed", "end_turn")] * len(runs)


class Flaky(Store):
    """A store that cannot be written to for a while."""

    down = False

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        """Refuses while it is down."""
        if self.down:
            raise StoreUnavailable("the disk is full")
        return await super().write(unit, *args, **kwargs)


async def test_run_whose_end_could_not_be_recorded_comes_back(migrated_url: str, tmp_path: Path) -> None:
    async def outage(request: Any) -> str:
        store.down = True
        return "lost"

    async with Flaky(migrated_url) as opened:
        store: Any = opened
        stage = await staged(store, tmp_path, ScriptedModel(outage, "found"))
        run = await stage.think()
        async with working(stage):
            await until(lambda: bool(store.down))
            store.down = False

            async def back() -> bool:
                stage.clock.advance(0.01)
                store.wake()
                return (await stage.run(run)).completed_at is not None

            await until(back)
        row = await stage.run(run)
        assert (row.status, row.result, row.attempt) == ("completed", "found", 1)


async def held_by(stage: Stage, worker_id: str, *, host: str, pid: int, started: str) -> str:
    """A run that another worker holds."""
    await stage.store.write(leases.register, worker_id, host, pid, started, stage.clock.now())
    run = await stage.think(name=worker_id)
    assert [claim.run.id for claim in await stage.claim(worker_id)] == [run]
    return run


async def nobody() -> str:
    """What is called where a worker was taken for dead."""
    raise AssertionError("this worker is alive")


@pytest.mark.parametrize(
    ("pid", "started", "taken"),
    [
        (2**22 + 1, "1", True),
        (os.getpid(), "another start", True),
        (os.getpid(), processes.started(os.getpid()) or "", False),
    ],
)
async def test_process_of_this_machine_is_known_to_be_dead(
    store: CountingStore, tmp_path: Path, pid: int, started: str, taken: bool
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await held_by(stage, "other", host=processes.host(), pid=pid, started=started)
    gone = await Watchkeeper(stage.runtime, "me", WorkerCallbacks(nobody)).take_back_from_the_dead()
    assert (gone, (await stage.run(run)).status) == ((["other"], "created") if taken else ([], "running"))


async def test_clocks_that_jump_do_not_stop_the_work(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    runs = []
    for days in (0, 30, -60, 1):
        stage.clock.jump_to(stage.clock.now() + timedelta(days=days))
        runs += [await stage.think(name="same"), await stage.think(name=f"at {days}")]
    async with working(stage):
        await over(stage, *runs)
    assert {(await stage.run(run)).status for run in runs} == {"completed"}


async def test_worker_presumed_dead_continues_under_a_new_name(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    names = iter(["second", "third"])

    async def lost() -> str:
        fresh = next(names)
        await store.write(leases.register, fresh, "here", 1, "1", stage.clock.now())
        return fresh

    await store.write(leases.register, "first", "here", 1, "1", stage.clock.now())
    keeper = Watchkeeper(stage.runtime, "first", WorkerCallbacks(lost))
    await store.write(leases.take_back, "first", stage.clock.now())
    for _ in range(3):
        stage.clock.advance(31)
        await keeper.look()
    assert keeper.worker_id == "second"
    assert [(worker.id, worker.beat) for worker in await store.read(leases.live)] == [("second", 2)]


async def test_worker_beats_again_as_soon_as_the_database_takes_it(migrated_url: str, tmp_path: Path) -> None:
    async with Flaky(migrated_url) as opened:
        store: Any = opened
        stage = await staged(store, tmp_path, ScriptedModel())
        await store.write(leases.register, "me", "here", 1, "1", stage.clock.now())
        keeper = Watchkeeper(stage.runtime, "me", WorkerCallbacks(nobody))
        stage.clock.advance(31)
        store.down = True
        await keeper.look()
        store.down = False
        await keeper.look()
        assert [worker.beat for worker in await store.read(leases.live)] == [1]
