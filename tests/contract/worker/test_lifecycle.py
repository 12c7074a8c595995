"""A worker from its entry to its end: what it may claim, how it drains, what it lets go of, what it proves."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.app import fleet
from interlock.core.telemetry import Silent
from interlock.desk.chats import replies
from interlock.desk.operations import emergency, queues
from interlock.desk.work import controls
from interlock.oversight.capacity import Capacity
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases, mailbox, processes
from interlock.store.mailboxes.mailbox import Claim
from interlock.testing.scripted import ScriptedModel, Stream, calls
from interlock.tools.registry import ToolContext, tool
from interlock.worker.loop import TRIES
from interlock.worker.watchkeeping import Watchkeeper, WorkerCallbacks
from tests.contract.runner.stage import CountingStore, Stage, staged, until
from tests.contract.runner.workers import becomes, working


@tool(risk="GREEN", idempotent=True, outside=False, needs=["gpu"])
async def render(what: str) -> str:
    """Renders something."""
    return f"rendered: {what}"


@tool(risk="GREEN", idempotent=True, outside=False)
async def rest(ctx: ToolContext) -> str:
    """Sleeps in a process of its own."""
    return (await ctx.child(["sh", "-c", "sleep 60"])).output


async def nobody() -> str:
    """What is called where a worker was taken for dead."""
    raise AssertionError("this worker is alive")


async def needy(stage: Stage) -> str:
    """A run of an agent whose tools need a `gpu`."""
    return await stage.think(name="needy", needs=["gpu"])


async def test_agent_is_served_only_by_a_worker_that_has_what_its_tools_need(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"), [render])
    run, other = await needy(stage), await stage.think(name="other")
    async with working(stage):
        await becomes(stage, other, "completed")
        assert (await stage.run(run)).status == "created"
    able = await staged(store, tmp_path, stage.model, [render], capabilities=("gpu",))
    async with working(able) as worker:
        await becomes(stage, run, "completed")
        [row] = [each for each in await store.read(leases.live) if each.id == worker.id]
    assert "gpu" in row.capabilities


async def test_sandbox_is_a_capability_only_where_it_works(
    store: CountingStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def able() -> list[str]:
        stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
        run = await stage.think()
        async with working(stage) as worker:
            await becomes(stage, run, "completed")
            (row,) = [each for each in await store.read(leases.live) if each.id == worker.id]
            return row.capabilities

    assert "sandbox" in await able()
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    assert "sandbox" not in await able()


async def test_work_without_a_capable_worker_is_reported_once_and_no_longer_when_there_is_one(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await needy(stage)
    capacity = Capacity()
    said = []
    for _ in range(4):
        said.append(await capacity.sweep(stage.runtime))
        stage.clock.advance(31)
    assert said == [None, None, "nobody can do what needs gpu", "nobody can do what needs gpu"]
    [alert] = await store.read(audit.alerts)
    assert alert.text.startswith("1 agent waits for a worker with `gpu`, and none that runs has it: start one")
    await store.write(leases.register, "able", "here", 1, "1", stage.clock.now(), able=["gpu"])
    assert await capacity.sweep(stage.runtime) is None
    assert await store.read(audit.alerts) == []


async def test_queue_says_that_nobody_can_do_what_is_next(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await needy(stage)

    async def because() -> str:
        found = await queues.of_run(stage.runtime, run)
        assert found is not None
        return str(found["because"])

    await store.write(leases.register, "other", "here", 1, "1", stage.clock.now(), able=["browser"])
    assert await because() == "no worker that runs has `gpu`"
    await store.write(leases.register, "able", "here", 2, "2", stage.clock.now(), able=["gpu"])
    assert await because() == "next"


async def test_draining_worker_begins_nothing_and_lets_the_step_end(store: CountingStore, tmp_path: Path) -> None:
    goes_on = asyncio.Event()
    model = ScriptedModel(Stream(goes_on, calls("recall", "1", query="a")), otherwise=lambda _: "done")
    stage = await staged(store, tmp_path, model)
    run = await stage.think()
    async with working(stage) as worker:
        await until(lambda: len(model.requests) == 1)
        draining = asyncio.create_task(worker.drain())
        late = await stage.think(name="late")
        await asyncio.sleep(0)
        assert not draining.done()
        goes_on.set()
        await draining
        row = await stage.run(run)
        assert (row.status, row.step_count, row.worker_id) == ("created", 1, None)
    assert [each.id for each in worker.handed_back] == [run]
    assert (await stage.run(late)).step_count == 0
    async with working(stage):
        await becomes(stage, run, "completed")
        await becomes(stage, late, "completed")


async def test_run_that_waits_for_its_model_is_handed_back_at_once_on_request_and_charged(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event())))
    run = await stage.think()
    async with working(stage) as worker:
        await until(lambda: len(stage.model.requests) == 1)
        worker.stop(at_once=True)
    assert [each.id for each in worker.handed_back] == [run]
    account = await stage.account(f"run:{run}")
    assert (account.reserved_microusd, account.settled_microusd > 0) == (0, True)


async def test_run_that_nobody_works_on_is_put_back_at_the_second_look(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    run, held = await stage.think(), await stage.think(name="held")
    await store.write(leases.register, "me", processes.host(), 1, "1", stage.clock.now())
    claims: list[Claim] = await stage.claim("me")
    keeper = Watchkeeper(stage.runtime, "me", WorkerCallbacks(nobody, in_hand=lambda: [held]))
    assert await keeper.put_back_what_is_lost() == []
    assert await keeper.put_back_what_is_lost() == [run]
    assert [(await stage.run(each)).status for each in (run, held)] == ["created", "running"]
    assert [again.run.id for again in await stage.claim("other")] == [run]
    assert {claim.run.id for claim in claims} == {run, held}


async def test_partitioned_worker_releases_its_runs_before_others_take_them(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(
        store, tmp_path, ScriptedModel(Stream(asyncio.Event()), "done"), times={"reassign_s": 2, "heartbeat_s": 30}
    )
    run = await stage.think()
    async with working(stage):
        await until(lambda: len(stage.model.requests) == 1)
        stage.clock.advance(1.9)
        await becomes(stage, run, "created")
        assert await store.read(leases.running_runs) == [], "it takes nothing before it was heard"
        stage.clock.advance(30)
        await becomes(stage, run, "completed")


@pytest.mark.parametrize("told", ["stop", "cancel"])
async def test_who_ends_a_run_is_shown_what_was_in_flight_and_that_child_processes_ended(
    store: CountingStore, tmp_path: Path, told: str
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(calls("rest", "1")), [rest])
    run = await stage.think()
    records = stage.runtime.settings.home / "children"
    async with working(stage):
        await until(lambda: records.is_dir() and '"pid": ' in "".join(p.read_text() for p in records.glob("kid_*")))
        if told == "stop":
            view: dict[str, Any] = await emergency.stop(stage.runtime, stage.ada, wait_s=60)
            in_flight = view["runs"]
        else:
            view = await controls.cancel(stage.runtime, stage.ada, run, wait_s=60)
            in_flight = view["in_flight"]
    assert [(each["id"], each["doing"]) for each in in_flight] == [(run, ["rest"])]
    [child] = view["children"]
    assert (child["run_id"], child["program"], view["still_running"]) == (run, "sh", [])
    assert processes.started(child["pid"]) is None
    shown = replies.canceled_card(view) if told == "cancel" else replies.mode_card("slack", view)
    assert [p.heading for p in shown.passages] == ["Was in flight", "Child processes that were ended"]


async def test_second_claimer_sees_nothing_of_what_it_lacks(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await needy(stage)
    lacks = await store.write(leases.register, "plain", "here", 1, "1", stage.clock.now())
    assert not await store.read(mailbox.has_ready, stage.clock.now(), lacks)
    assert await store.write(mailbox.claim, "plain", 9, stage.clock.now(), lacks) == []
    assert await store.read(mailbox.has_ready, stage.clock.now())


async def test_workers_of_a_server_are_listed_with_what_they_can_do(migrated_postgres_url: str, tmp_path: Path) -> None:
    async with CountingStore(migrated_postgres_url) as store:
        stage = await staged(store, tmp_path, ScriptedModel(), capabilities=("gpu",))
        async with working(stage) as worker:

            async def has_entered() -> bool:
                return bool(await store.read(leases.live))

            await until(has_entered)
            [row] = await fleet.workers(stage.runtime.settings) or []
            assert (row["id"], row["concurrency"], "gpu" in row["capabilities"]) == (worker.id, 4, True)
            assert row["version"]


class Broken(Silent):
    """Who is told of runs and fails at it, against what is asked of it; the first thing of each run."""

    def run(self, row: Any, /) -> Any:
        """Fails."""
        raise RuntimeError("no room in the watcher")


async def test_run_that_keeps_failing_without_an_outcome_is_a_dead_letter_and_the_next_one_continues(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    usual, store.telemetry = store.telemetry, Broken()
    run, behind = await stage.think(), await stage.think()
    async with working(stage):
        for tried in range(1, TRIES):

            async def is_put_back(tried: int = tried) -> bool:
                row = await stage.run(run)
                return (row.status, row.crashes) == ("created", tried)

            await until(is_put_back)
            stage.clock.advance(2.0**tried)
            store.wake()
        await becomes(stage, run, "failed")
    row = await stage.run(run)
    assert (row.stop_reason, row.crashes) == ("dead_letter", TRIES)
    assert row.error == f"{TRIES} tries in a row came to nothing, the last by RuntimeError: no room in the watcher"
    assert [alert.kind for alert in await stage.alerts()] == ["DEAD_LETTER"]
    store.telemetry = usual
    stage.clock.advance(2.0**TRIES)
    async with working(stage):
        await becomes(stage, behind, "completed")
