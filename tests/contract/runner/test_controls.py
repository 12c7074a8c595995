"""Runs under the squad's controls: what ends at once, what ends its step, what starts, and where each goes on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.desk.operations import emergency
from interlock.llm.messages import Delta, ModelError, ModelFault, ModelRequest, ToolResult, Usage
from interlock.store import squad
from interlock.store.mailboxes import controls, leases, mailbox
from interlock.store.mailboxes.controls import Mode
from interlock.store.tx import Tx
from interlock.testing.scripted import Scripted, ScriptedModel, Stream, calls, reply_of
from interlock.tools.registry import Tool, ToolContext, tool
from tests.contract.runner.stage import WORKER, CountingStore, Stage, staged, told, until
from tests.contract.runner.workers import becomes, working


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what}"


class Gate:
    """A tool that says when it has begun, and ends when it is let."""

    def __init__(self, *, idempotent: bool) -> None:
        self.began, self.may_end, self.count = asyncio.Event(), asyncio.Event(), 0
        self.tool = Tool(
            name="wait", description="Waits.", fn=self._wait, input_schema={"type": "object"}, risk="GREEN",
            idempotent=idempotent,
        )  # fmt: skip

    async def _wait(self, ctx: ToolContext, /) -> str:
        self.count += 1
        self.began.set()
        await self.may_end.wait()
        return "waited"


async def settled(stage: Stage, run: str) -> list[tuple[int, bool]]:
    """What each attempt was booked at, and whether that is an estimate."""
    return [(line.amount_microusd, line.estimated) for line in await stage.ledger(run) if line.kind == "settle"]


async def set_mode(stage: Stage, mode: Mode) -> None:
    """Changes what the squad may do, unheard by any worker."""
    await stage.store.write(controls.set_mode, mode, stage.ada.id, None, stage.clock.now())


async def test_pause_lets_the_step_end_and_the_run_goes_on_after_it(store: CountingStore, tmp_path: Path) -> None:
    goes_on, is_resumed = asyncio.Event(), asyncio.Event()

    def later(_: ModelRequest) -> Scripted:
        """Comes to an end only after the pause, however late its worker has heard of that."""
        return "done" if is_resumed.is_set() else calls("look", str(len(model.requests)), what="a")

    model = ScriptedModel(Stream(goes_on, calls("look", "1", what="a")), otherwise=later)
    stage = await staged(store, tmp_path, model, [look])
    run = await stage.think()
    async with working(stage):
        await until(lambda: len(model.requests) == 1)
        view = await emergency.pause(stage.runtime, stage.ada)
        assert [shown["id"] for shown in view["runs"]] == [run]
        goes_on.set()
        await becomes(stage, run, "created")
        row, steps = await stage.run(run), len(model.requests)
        assert (row.step_count, row.attempt, row.control, row.worker_id) == (steps, 0, None, None)
        assert await stage.statuses(run) == ["done"] * steps, "the calls of its step have been answered"
        assert (await stage.account(f"run:{run}")).reserved_microusd == 0
        is_resumed.set()
        assert len(model.requests) == steps
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, run, "completed")
    assert told(model) == (ToolResult(str(steps), "seen: a"),)


@pytest.mark.parametrize("mode", [Mode.PAUSED, Mode.DRAINING, Mode.STOPPED])
async def test_nothing_starts_under_a_control(store: CountingStore, tmp_path: Path, mode: Mode) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    await set_mode(stage, mode)
    run = await stage.think()
    assert not await store.read(mailbox.has_ready, stage.clock.now())
    assert await stage.claim() == []
    async with working(stage):
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, run, "completed")


async def test_drain_lets_what_runs_finish(store: CountingStore, tmp_path: Path) -> None:
    goes_on = asyncio.Event()
    model = ScriptedModel(Stream(goes_on, calls("look", what="a")), otherwise=lambda _: "done")
    stage = await staged(store, tmp_path, model, [look])
    first = await stage.think()
    async with working(stage):
        await until(lambda: len(model.requests) == 1)
        await emergency.drain(stage.runtime, stage.ada)
        second = await stage.think(name="second")
        goes_on.set()
        await becomes(stage, first, "completed")
        assert (await stage.run(second)).status == "created"
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, second, "completed")
    assert len(model.requests) == 3


async def test_stop_aborts_a_model_call_books_it_and_the_run_goes_on(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(Stream(Delta("text", "x" * 300), asyncio.Event()), "done")
    stage = await staged(store, tmp_path, model)
    run = await stage.think()
    async with working(stage):
        await until(lambda: len(model.requests) == 1)
        view = await emergency.stop(stage.runtime, stage.ada, wait_s=60)
        assert ([shown["id"] for shown in view["runs"]], view["still_running"], view["uncertain"]) == ([run], [], [])
        row = await stage.run(run)
        assert (row.status, row.attempt, row.worker_id) == ("created", 0, None)
        ((amount, estimated),) = await settled(stage, run)
        assert (amount > 0, estimated) == (True, True)
        assert (await stage.account(f"run:{run}")).reserved_microusd == 0
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, run, "completed")
    assert len(model.requests) == 2


@pytest.mark.parametrize("is_repeated", [True, False])
async def test_effect_that_had_begun_at_a_stop_is_asked_about_when_its_run_goes_on(
    store: CountingStore, tmp_path: Path, is_repeated: bool
) -> None:
    gate = Gate(idempotent=False)
    stage = await staged(store, tmp_path, ScriptedModel(calls("wait", "1"), "done"), [gate.tool])
    run = await stage.think()
    async with working(stage):
        await gate.began.wait()
        view = await emergency.stop(stage.runtime, stage.ada, wait_s=60)
        assert [(call["run_id"], call["tool"]) for call in view["uncertain"]] == [(run, "wait")]
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, run, "waiting")
        question = await stage.the_question()
        assert (question.kind, gate.count) == ("UNKNOWN_OUTCOME", 1)
        gate.may_end.set()
        await (stage.approve(question.id) if is_repeated else stage.deny(question.id, "it has arrived"))
        await becomes(stage, run, "completed")
    assert gate.count == (2 if is_repeated else 1)


async def test_call_that_can_be_repeated_is_made_again_after_a_stop(store: CountingStore, tmp_path: Path) -> None:
    gate = Gate(idempotent=True)
    stage = await staged(store, tmp_path, ScriptedModel(calls("wait", "1"), "done"), [gate.tool])
    run = await stage.think()
    async with working(stage):
        await gate.began.wait()
        assert (await emergency.stop(stage.runtime, stage.ada, wait_s=60))["uncertain"] == []
        gate.may_end.set()
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, run, "completed")
    assert (gate.count, told(stage.model)) == (2, (ToolResult("1", "waited"),))


@pytest.mark.parametrize("is_named_by_id", [True, False])
async def test_restart_cuts_off_a_call_and_the_run_goes_on_by_itself(
    store: CountingStore, tmp_path: Path, is_named_by_id: bool
) -> None:
    gate = Gate(idempotent=True)
    stage = await staged(store, tmp_path, ScriptedModel(calls("wait", "1"), "done"), [gate.tool])
    run = await stage.think()
    agent = (await stage.run(run)).agent_id
    persona = next(row for row in await store.read(squad.agents) if row.id == agent).persona
    async with working(stage):
        await gate.began.wait()
        gate.began.clear()
        view = await emergency.restart_agent(stage.runtime, stage.ada, agent if is_named_by_id else persona)
        assert ([shown["id"] for shown in view["runs"]], view["changed"], view["state"]) == ([run], True, "ACTIVE")
        await gate.began.wait()
        gate.may_end.set()
        await becomes(stage, run, "completed")
    assert (gate.count, told(stage.model)) == (2, (ToolResult("1", "waited"),))
    again = await emergency.restart_agent(stage.runtime, stage.ada, persona)
    assert (again["runs"], again["changed"]) == ([], False)


async def test_restart_reaches_one_agent_or_all_of_its_member(store: CountingStore, tmp_path: Path) -> None:
    """Another project has the same persona, so that its name alone does not say which member is meant."""
    stage = await staged(store, tmp_path, ScriptedModel(), project="another")
    runs = [await stage.think(name=name) for name in ("one", "two")]
    assert len(await stage.claim()) == 2
    agent = (await stage.run(runs[0])).agent_id
    one = await emergency.restart_agent(stage.runtime, stage.ada, agent)
    assert [shown["id"] for shown in one["runs"]] == runs[:1]
    both = await emergency.restart_agent(stage.runtime, stage.ada, agent, everywhere=True)
    assert {shown["id"] for shown in both["runs"]} == set(runs)


async def test_no_effect_begins_once_a_stop_is_on_record(store: CountingStore, tmp_path: Path) -> None:
    async def stopped(request: Any) -> Any:
        await set_mode(stage, Mode.STOPPED)
        return reply_of(calls("wait"), usage=Usage(0, 1_000))

    gate = Gate(idempotent=False)
    stage = await staged(store, tmp_path, ScriptedModel(stopped, "done"), [gate.tool])
    run = await stage.think()
    (claim,) = await stage.claim()
    await runner.handle(stage.runtime, claim, Interrupt())
    assert (gate.count, await stage.calls(run), (await stage.run(run)).status) == (0, [], "created")
    assert await settled(stage, run) == [(10_000, True)], "the reply has cost what it has cost"
    await set_mode(stage, Mode.RUNNING)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_stop_between_two_calls_keeps_the_first_and_prevents_the_second(
    store: CountingStore, tmp_path: Path
) -> None:
    @tool(risk="YELLOW", idempotent=True)
    async def halt() -> str:
        """Stops the squad."""
        await set_mode(stage, Mode.STOPPED)
        return "stopped"

    gate = Gate(idempotent=False)
    stage = await staged(store, tmp_path, ScriptedModel([calls("halt", "1"), calls("wait", "2")]), [halt, gate.tool])
    run = await stage.think()
    (claim,) = await stage.claim()
    await runner.handle(stage.runtime, claim, Interrupt())
    assert (gate.count, (await stage.run(run)).status) == (0, "created")
    gate.may_end.set()
    stage.model.replies.append("done")
    await set_mode(stage, Mode.RUNNING)
    await stage.work()
    assert gate.count == 1
    assert told(stage.model) == (ToolResult("1", "stopped"), ToolResult("2", "waited"))


async def test_pause_ends_the_wait_for_another_try(store: CountingStore, tmp_path: Path) -> None:
    busy = ModelError(ModelFault.OVERLOADED, "busy", provider="anthropic")
    retry = {"base_s": 900.0, "cap_s": 900.0}
    stage = await staged(store, tmp_path, ScriptedModel(busy, "done"), retry=retry)
    run = await stage.think()
    async with working(stage):
        await until(lambda: len(stage.model.requests) == 1)
        await emergency.pause(stage.runtime, stage.ada)
        await becomes(stage, run, "created")
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, run, "completed")
    assert len(stage.model.requests) == 2
    assert (await settled(stage, run))[0] == (0, False)


async def test_squad_stays_stopped_when_its_worker_is_killed(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel("done"))
    run = await stage.think()
    await stage.take(run)
    view = await emergency.stop(stage.runtime, stage.ada, wait_s=0)
    assert view["still_running"] == [run]
    await store.write(leases.take_back, WORKER, stage.clock.now())
    stage.restart()
    async with working(stage) as worker:

        async def has_entered() -> bool:
            return worker.id in [found.id for found in await store.read(leases.live)]

        await until(has_entered)
        assert await store.write(mailbox.claim, worker.id, 4, stage.clock.now()) == []
        assert (await stage.run(run)).status == "created"
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, run, "completed")


async def test_run_whose_worker_has_not_heard_of_a_stop_is_stopped_although_the_squad_was_resumed(
    store: CountingStore, tmp_path: Path
) -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def late(_: ModelRequest) -> Scripted:
        asked.set()
        await may_answer.wait()
        return calls("wait", "1")

    gate = Gate(idempotent=False)
    stage = await staged(store, tmp_path, ScriptedModel(late, "done"), [gate.tool])
    run = await stage.think()
    working_on = asyncio.create_task(runner.handle(stage.runtime, await stage.take(run), Interrupt()))
    await asked.wait()
    assert (await emergency.stop(stage.runtime, stage.ada, wait_s=0))["still_running"] == [run]
    assert [each["id"] for each in (await emergency.resume(stage.runtime, stage.ada, wait_s=0))["runs"]] == [run]
    may_answer.set()
    gate.may_end.set()
    await working_on
    assert (gate.count, (await stage.run(run)).status) == (0, "created")
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_answer_given_under_a_pause_is_taken_up_afterwards(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(calls("ask_operator", "1", question="which?"), "done"))
    run = await stage.think()
    async with working(stage):
        await becomes(stage, run, "waiting")
        await emergency.pause(stage.runtime, stage.ada)
        await stage.approve((await stage.the_question()).id, note="this")
        assert (await stage.run(run)).status == "created"
        assert not await store.read(mailbox.has_ready, stage.clock.now())
        await emergency.resume(stage.runtime, stage.ada)
        await becomes(stage, run, "completed")
    assert told(stage.model) == (ToolResult("1", "this"),)


async def test_run_that_parks_while_the_squad_stops_loses_neither_question_nor_answer(
    store: CountingStore, tmp_path: Path
) -> None:
    @tool(risk="GREEN", idempotent=True, outside=False)
    async def halt() -> str:
        """Stops the squad."""
        await set_mode(stage, Mode.STOPPED)
        return "stopped"

    asked = [calls("halt", "1"), calls("ask_operator", "2", question="which?")]
    stage = await staged(store, tmp_path, ScriptedModel(asked, "done"), [halt])
    run = await stage.think()
    (claim,) = await stage.claim()
    await runner.handle(stage.runtime, claim, Interrupt())
    assert (await stage.run(run)).status == "waiting"
    await stage.approve((await stage.the_question()).id, note="this")
    assert await stage.claim() == []
    await set_mode(stage, Mode.RUNNING)
    await stage.work()
    assert told(stage.model) == (ToolResult("1", "stopped"), ToolResult("2", "this"))


async def test_cancel_is_heeded_although_the_squad_is_stopped(store: CountingStore, tmp_path: Path) -> None:
    def both(tx: Tx) -> None:
        leases.cancel(tx, run, stage.clock.now(), "not wanted")
        controls.set_mode(tx, Mode.STOPPED, stage.ada.id, None, stage.clock.now())

    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event())))
    run = await stage.think()
    async with working(stage):
        await until(lambda: len(stage.model.requests) == 1)
        await store.write(both)
        await becomes(stage, run, "cancelled")
    assert (await stage.run(run)).error == "not wanted"


async def test_run_that_is_asked_back_after_its_step_keeps_its_place(store: CountingStore, tmp_path: Path) -> None:
    async def asked(request: Any) -> Any:
        await store.write(leases.ask_back, run, at_once=False)
        heard.set()
        await goes_on.wait()
        return calls("look", "1", what="a")

    heard, goes_on = asyncio.Event(), asyncio.Event()
    stage = await staged(store, tmp_path, ScriptedModel(asked, "done"), [look])
    run = await stage.think()
    (claim,) = await stage.claim()
    interrupt = Interrupt()
    work = asyncio.create_task(runner.handle(stage.runtime, claim, interrupt))
    await heard.wait()
    interrupt.pause(wanted=True)
    goes_on.set()
    await work
    row = await stage.run(run)
    assert (row.status, row.step_count, row.control) == ("created", 1, None)
    await stage.work()
    assert told(stage.model) == (ToolResult("1", "seen: a"),)
