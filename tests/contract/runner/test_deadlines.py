"""Calls and runs end at their deadlines, and at once when they are cancelled, over the real SDK and a slow server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.llm.anthropic import AnthropicModel
from interlock.llm.messages import ModelRequest
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, Ending, Refusal, Scripted, in_order, text
from interlock.testing.runtime import OneModel
from interlock.testing.scripted import ScriptedModel
from tests.contract.runner.stage import CountingStore, Stage, staged

TRICKLE = Answer([text("drop " * 200)], pause_s=0.02, piece_chars=1)
"""Never silent for long, and at it for many seconds."""


@asynccontextmanager
async def served(
    store: CountingStore, home: Path, *answers: Scripted, **settings: Any
) -> AsyncIterator[tuple[Stage, MessagesApi]]:
    """A stage whose model is behind a server."""
    async with MessagesApi(in_order(*answers)) as api:
        model = AnthropicModel("key", api.base_url)
        stage = await staged(store, home, ScriptedModel(), **settings)
        stage.runtime = replace(stage.runtime, models=OneModel(model))
        yield stage, api
        await model.close()


async def test_call_ends_at_its_deadline_though_its_server_is_never_silent(
    store: CountingStore, tmp_path: Path
) -> None:
    one = {"retry": {"max_attempts": 1}, "times": {"model_call_s": 0.3}}
    async with served(store, tmp_path, TRICKLE, **one) as (stage, api):
        run = await stage.think()
        await stage.work()
        await api.until(lambda seen: seen.abandoned == [1])
    row = await stage.run(run)
    assert (row.status, row.attempt) == ("created", 1)
    assert "no answer within 0.3 s" in row.error
    assert [(line.amount_microusd > 0, line.estimated) for line in await stage.ledger(run)][1:] == [(True, True)]


async def test_run_ends_at_its_deadline_in_the_midst_of_a_call(store: CountingStore, tmp_path: Path) -> None:
    async with served(store, tmp_path, TRICKLE, times={"task_run_s": 2.0}) as (stage, api):
        run = await stage.think()
        await stage.work()
        await api.until(lambda seen: seen.abandoned == [1])
    assert await stage.ended(run) == ("failed", "deadline")
    assert (await stage.run(run)).cost_microusd > 0
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0


async def test_cancelled_run_ends_its_call_at_once(store: CountingStore, tmp_path: Path) -> None:
    hang = Answer([text("so it begins")], ending=Ending.HANG, events_before_ending=3)
    async with served(store, tmp_path, hang) as (stage, api):
        run, interrupt = await stage.think(), Interrupt()
        work = asyncio.create_task(runner.handle(stage.runtime, await stage.take(run), interrupt))
        await api.until(lambda seen: seen.hanging == [1])
        interrupt.reason = Interruption.CONTROL
        work.cancel()
        await work
        await api.until(lambda seen: seen.abandoned == [1])
    assert await stage.ended(run) == ("cancelled", "cancelled")


async def test_each_attempt_is_one_request(store: CountingStore, tmp_path: Path) -> None:
    answers = [Refusal(529, "overloaded_error"), Refusal(500), Refusal(429, headers={"retry-after": "0"})]
    async with served(store, tmp_path, *answers, Answer([text("done")])) as (stage, api):
        run = await stage.think()
        await stage.work()
        assert await stage.ended(run) == ("completed", "end_turn")
    reserved = [line.attempt for line in await stage.ledger(run) if line.kind == "reserve"]
    assert (len(api.requests), reserved) == (4, [1, 2, 3, 4])


class Deaf(ScriptedModel):
    """An adapter that keeps to no deadline."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        """Nothing, for ever."""
        self.requests.append(request)
        await asyncio.Event().wait()
        yield


async def test_run_is_not_held_by_an_adapter_that_keeps_to_no_deadline(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, Deaf(), times={"task_run_s": 0.2, "model_call_s": 60.0})
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("failed", "deadline")
