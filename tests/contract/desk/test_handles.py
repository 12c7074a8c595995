"""Handles: awaiting what came of a message, whoever handles it, and hearing that nobody will."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from interlock import Handle, Interlock, QueueCleared, RunFailed
from interlock.core.errors import NotFound, UsageError
from interlock.desk.events.run_ends import RunWatcher
from interlock.desk.operations import queues
from interlock.desk.reading import listings
from interlock.desk.work import controls
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.mailboxes import leases, mailbox
from interlock.store.runs import traces
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import tool
from interlock.worker.loop import Worker
from tests.contract.runner.stage import Stage, staged


@asynccontextmanager
async def working(stage: Stage) -> AsyncIterator[None]:
    worker = Worker(stage.runtime, concurrency=4)
    running = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await running


async def test_handle_resolves_when_its_message_has_been_handled(box: Interlock) -> None:
    handle = await box.post("research", "What did you find?", idempotency_key="once")
    assert await handle.status() == "created"
    result = await asyncio.wait_for(handle, 30)
    assert (result.run_id, result.stop_reason, await handle.status()) == (handle.run_id, "end_turn", "completed")
    assert result.text
    assert await box.post("research", "What did you find?", idempotency_key="once", execute=False) is not handle
    again = await box.handle((await box.post("research", "again", idempotency_key="once")).run_id)
    assert again == result


async def test_handles_of_one_agent_resolve_in_the_order_of_their_messages(box: Interlock) -> None:
    order: list[int] = []

    async def note(number: int, handle: Handle) -> None:
        await handle
        order.append(number)

    handles = [await box.post("research", f"message {number}") for number in range(4)]
    await asyncio.wait_for(asyncio.gather(*(note(n, h) for n, h in reversed(list(enumerate(handles))))), 60)
    assert order == [0, 1, 2, 3]


async def test_handle_resolves_while_another_process_executes(
    box: Interlock, tmp_path: Path, database_url: str
) -> None:
    handle = await box.post("research", "Hello", execute=False)
    waits = asyncio.create_task(handle.result())
    other = Interlock.open(cwd=tmp_path, env={}, database_url=database_url, model="rehearsal/offline")
    async with other as executing:
        assert await executing.start()
        assert (await asyncio.wait_for(waits, 30)).stop_reason == "end_turn"
    assert not box.executes


async def rejected_by_clearing(box: Interlock, handle: Handle) -> None:
    run = await box.runtime.store.read(traces.run, handle.run_id)
    assert run is not None
    agent = run.agent_id
    await queues.clear(box.runtime, box.person, agent, reason="not today")


async def rejected_by_cancelling(box: Interlock, handle: Handle) -> None:
    await controls.cancel(box.runtime, box.person, handle.run_id)


async def rejected_by_death(box: Interlock, handle: Handle) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    for number in range(4):
        await store.write(mailbox.claim, f"w{number}", 1, now)
        await store.write(leases.take_back, f"w{number}", now, crash_limit=3)


@pytest.mark.parametrize(
    ("reject", "kind", "stop_reason", "told"),
    [
        (rejected_by_clearing, QueueCleared, "cleared", "was rejected (cleared): .* cleared the queue: not today"),
        (rejected_by_cancelling, RunFailed, "cancelled", "was cancelled (cancelled): canceled by an operator"),
        (rejected_by_death, RunFailed, "dead_letter", "failed (dead_letter): 4 workers in a row died"),
    ],
)
async def test_handle_rejects_when_its_message_is_not_handled(
    box: Interlock,
    reject: Callable[[Interlock, Handle], Awaitable[None]],
    kind: type[RunFailed],
    stop_reason: str,
    told: str,
) -> None:
    handle = await box.post("research", "Hello", execute=False)
    waits = [asyncio.create_task(handle.result()) for _ in range(3)]
    await asyncio.sleep(0)
    await reject(box, handle)
    for wait in waits:
        with pytest.raises(kind, match=told.replace("(", r"\(").replace(")", r"\)")) as failure:
            await asyncio.wait_for(wait, 30)
        assert (failure.value.run_id, failure.value.stop_reason) == (handle.run_id, stop_reason)
        assert type(failure.value) is kind


async def test_handle_of_nothing_and_of_a_closed_box_say_so(box: Interlock) -> None:
    with pytest.raises(NotFound, match="no run `run_nope`"):
        await box.handle("run_nope", execute=False)
    handle = await box.post("research", "Hello", execute=False)
    waits = asyncio.create_task(handle.result())
    while not box._ends._waiting:
        await asyncio.sleep(0.001)
    await box._ends.close()
    with pytest.raises(Exception, match="the box was closed while a handle was awaited"):
        await waits


async def test_handle_of_a_run_that_is_removed_meanwhile_says_so(box: Interlock) -> None:
    handle = await box.post("research", "Hello", execute=False)
    waits = asyncio.create_task(handle.result())
    while not box._ends._waiting:
        await asyncio.sleep(0.001)
    await box.runtime.store.write(lambda tx: tx.run(mailbox.RUNS.delete()))
    with pytest.raises(NotFound, match=f"no run `{handle.run_id}`"):
        await asyncio.wait_for(waits, 30)


async def test_handle_that_nobody_awaits_any_more_is_forgotten(box: Interlock) -> None:
    handle = await box.post("research", "Hello", execute=False)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(handle, 0.05)
    assert not box._ends._waiting


async def test_waiting_within_a_run_is_refused_at_once(store: Store, tmp_path: Path) -> None:
    waited: list[Any] = []
    ends = RunWatcher(store, lambda: None)

    @tool(risk="GREEN", idempotent=True, outside=False)
    async def wait_for_run(run: str) -> str:
        """Waits for another run."""
        waited.append(await Handle(run, ends, None))
        return "it ended"

    wish = [calls("wait_for_run", run="some run")]
    stage = await staged(store, tmp_path, ScriptedModel(wish, "I will not wait"), tools=[wait_for_run])
    run = await stage.think()
    async with working(stage):
        result = await asyncio.wait_for(Handle(run, ends, None), 30)
    await ends.close()
    [call] = await stage.calls(run)
    assert (result.text, call.is_error, waited) == ("I will not wait", True, [])
    assert "cannot wait for run `some run`: both could wait for ever" in call.result
    with pytest.raises(NotFound):
        await Handle("some run", ends, None)


class Flaky(Store):
    """A database that can be out of reach."""

    down = False

    async def read(self, *args: Any, **kwargs: Any) -> Any:
        """The same, while it is there."""
        if self.down:
            raise StoreUnavailable("gone for a moment")
        return await super().read(*args, **kwargs)


async def test_database_that_is_away_for_a_while_is_sat_out(migrated_url: str, tmp_path: Path) -> None:
    store = Flaky(migrated_url)
    async with store:
        stage = await staged(store, tmp_path, ScriptedModel("done"))
        run, ends = await stage.think(), RunWatcher(store, lambda: None)
        store.down = True
        waits = asyncio.create_task(Handle(run, ends, None).result())
        while not ends._waiting:
            await asyncio.sleep(0.001)
        store.down = False
        await stage.work()
        assert (await asyncio.wait_for(waits, 30)).text == "done"
        await ends.close()


async def test_end_of_the_worker_of_this_process_ends_the_wait(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())

    def check() -> None:
        raise StoreUnavailable("the worker ended")

    ends = RunWatcher(store, check)
    with pytest.raises(StoreUnavailable, match="the worker ended"):
        await asyncio.wait_for(Handle(await stage.think(), ends, None), 30)


async def test_message_for_which_no_model_is_named_is_refused_before_it_is_posted(
    tmp_path: Path, database_url: str
) -> None:
    async with Interlock.open(cwd=tmp_path, env={}, database_url=database_url) as box:
        with pytest.raises(UsageError, match=r"ANTHROPIC_API_KEY .* or try everything .*rehearsal/offline"):
            await box.chat("research", "hello")
        assert await listings.runs(box.runtime) == []
        assert (await box.chat("research", "hello", model="rehearsal/offline")).stop_reason == "end_turn"
