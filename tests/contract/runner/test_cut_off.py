"""Runs that are cut off: shutdown, cancelling, a lost lease; what is booked, kept, and never written."""

import asyncio
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.llm.messages import Delta, ToolResult, Usage
from interlock.store.mailboxes import leases, mailbox
from interlock.store.runs import traces
from interlock.store.schema import RunMessage, table
from interlock.testing.scripted import ScriptedModel, Stream, calls, reply_of
from interlock.tools.registry import Tool, ToolContext, tool
from tests.contract.runner.stage import WORKER, CountingStore, Stage, staged, told, until


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what}"


class Gate:
    """A tool that says when it has begun, and ends when it is let."""

    def __init__(self, name: str = "wait", **fields: Any) -> None:
        self.began, self.may_end, self.ended, self.count = asyncio.Event(), asyncio.Event(), asyncio.Event(), 0
        given = {"risk": "GREEN", "idempotent": True, **fields}
        self.tool = Tool(name=name, description="Waits.", fn=self._wait, input_schema={"type": "object"}, **given)

    async def _wait(self, ctx: ToolContext, /) -> str:
        self.count += 1
        self.began.set()
        try:
            await self.may_end.wait()
            return "waited"
        finally:
            self.ended.set()


async def begun(stage: Stage) -> tuple[asyncio.Task[None], Interrupt]:
    """The one ready run at work."""
    (claim,) = await stage.claim()
    interrupt = Interrupt()
    return asyncio.create_task(runner.handle(stage.runtime, claim, interrupt)), interrupt


def interrupted(work: asyncio.Task[None], interrupt: Interrupt, reason: Interruption) -> asyncio.Task[None]:
    """The work, told to stop as a worker tells it."""
    interrupt.reason = reason
    work.cancel()
    return work


async def settled(stage: Stage, run: str) -> list[tuple[int, bool]]:
    """What each attempt was booked at, and whether that is an estimate."""
    return [(line.amount_microusd, line.estimated) for line in await stage.ledger(run) if line.kind == "settle"]


async def test_shutdown_in_a_model_call_books_it_and_the_run_goes_on(store: CountingStore, tmp_path: Path) -> None:
    hang = Stream(Delta("text", "x" * 300), asyncio.Event())
    model = ScriptedModel(calls("look", "1", what="a"), hang, "done")
    stage = await staged(store, tmp_path, model, [look])
    run = await stage.think()
    await stage.cut(await stage.take(run), at_request=2)
    row = await stage.run(run)
    assert (row.status, row.step_count, row.attempt) == ("created", 1, 0)
    _, (amount, estimated) = await settled(stage, run)
    reserved = [line.amount_microusd for line in await stage.ledger(run) if line.kind == "reserve"][1]
    assert estimated
    assert 100 * 10 < amount < reserved - 3_000 * 10, "the prompt, and the 100 tokens that came"
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await stage.statuses(run) == ["done"]
    assert len(model.requests) == 3
    assert [line.attempt for line in await stage.ledger(run) if line.kind == "reserve"] == [1, 1, 2]


async def test_shutdown_between_calls_costs_nothing(store: CountingStore, tmp_path: Path) -> None:
    gate = Gate()
    stage = await staged(store, tmp_path, ScriptedModel(calls("wait"), "done"), [gate.tool])
    run = await stage.think()
    work, interrupt = await begun(stage)
    await gate.began.wait()
    stopping = interrupted(work, interrupt, Interruption.SHUTDOWN)
    gate.may_end.set()
    await stopping
    assert [estimated for _, estimated in await settled(stage, run)] == [False]
    assert await stage.statuses(run) == ["done"], "what ended in time is kept"
    stage.restart()
    await stage.work()
    assert (await stage.ended(run), gate.count) == (("completed", "end_turn"), 1)


async def test_call_that_does_not_end_is_stopped_and_no_other_goes_on(store: CountingStore, tmp_path: Path) -> None:
    slow, other = Gate("slow"), Gate("other")
    stage = await staged(store, tmp_path, ScriptedModel([calls("slow"), calls("other")]), [slow.tool, other.tool])
    run = await stage.think()
    work, interrupt = await begun(stage)
    await asyncio.gather(slow.began.wait(), other.began.wait())
    await interrupted(work, interrupt, Interruption.CONTROL)
    assert slow.ended.is_set()
    assert other.ended.is_set()
    assert await stage.ended(run) == ("cancelled", "cancelled")
    assert await stage.statuses(run) == ["skipped", "skipped"]


async def test_effect_that_was_cut_off_by_a_cancel_is_uncertain(store: CountingStore, tmp_path: Path) -> None:
    gate = Gate(idempotent=False)
    stage = await staged(store, tmp_path, ScriptedModel(calls("wait")), [gate.tool])
    run = await stage.think()
    work, interrupt = await begun(stage)
    await gate.began.wait()
    await interrupted(work, interrupt, Interruption.CONTROL)
    (call,) = await stage.calls(run)
    assert call.status == "unknown"
    assert "uncertain" in call.result


async def test_cancel_in_a_model_call_ends_the_run_and_books_it(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event())))
    run = await stage.think()
    claim = await stage.take(run)
    await stage.cut(claim, Interruption.CONTROL)
    assert await stage.ended(run) == ("cancelled", "cancelled")
    ((amount, estimated),) = await settled(stage, run)
    assert (amount > 0, estimated) == (True, True)
    assert await stage.claim() == []


async def test_cancel_that_no_worker_has_heeded_yet_ends_the_run_all_the_same(
    store: CountingStore, tmp_path: Path
) -> None:
    async def canceled(request: Any) -> Any:
        assert await store.write(leases.cancel, run, stage.clock.now(), "not wanted") == "running"
        return reply_of(calls("look", what="a"), usage=Usage(0, 1_000))

    stage = await staged(store, tmp_path, ScriptedModel(canceled), [look])
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("cancelled", "cancelled")
    assert await settled(stage, run) == [(10_000, True)], "the reply has cost what it has cost"
    assert len(stage.model.requests) == 1
    assert await stage.calls(run) == []
    later = await stage.think()
    stage.model.replies.append("the lane is free")
    await stage.work()
    assert (await stage.run(later)).result == "the lane is free"


async def test_cancel_of_a_run_that_a_dead_worker_held_is_not_forgotten(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.think()
    await stage.take(run)
    await store.write(leases.cancel, run, stage.clock.now(), "not wanted")
    await store.write(leases.take_back, WORKER, stage.clock.now())
    await stage.work()
    assert await stage.ended(run) == ("cancelled", "cancelled")
    assert stage.model.requests == []


async def test_who_lost_the_lease_writes_nothing_more(store: CountingStore, tmp_path: Path) -> None:
    messages = table(RunMessage)

    async def rows() -> list[Any]:
        query = sa.select(messages.c.id).order_by(messages.c.id)
        return [await store.read(lambda tx: tx.rows(query)), await stage.run(run), await stage.ledger(run)]

    async def robbed(request: Any) -> Any:
        await store.write(leases.take_back, WORKER, stage.clock.now())
        found = await stage.claim("another")
        assert [claim.run.id for claim in found] == [run]
        before.extend(await rows())
        return calls("look", what="a")

    before: list[Any] = []
    stage = await staged(store, tmp_path, ScriptedModel(robbed, "done"), [look])
    run = await stage.think()
    (claim,) = await stage.claim()
    await runner.handle(stage.runtime, claim, Interrupt())
    assert await rows() == before
    assert (await stage.run(run)).worker_id == "another"
    assert await stage.calls(run) == []


async def test_lease_lost_before_an_effect_prevents_it(store: CountingStore, tmp_path: Path) -> None:
    gate = Gate(idempotent=False)

    @tool(risk="YELLOW", idempotent=True)
    async def rob() -> str:
        """Gives the run to somebody else."""
        await store.write(leases.take_back, WORKER, stage.clock.now())
        return "robbed"

    stage = await staged(store, tmp_path, ScriptedModel([calls("rob"), calls("wait")]), [gate.tool, rob])
    run = await stage.think()
    (claim,) = await stage.claim()
    await runner.handle(stage.runtime, claim, Interrupt())
    assert gate.count == 0
    assert await stage.statuses(run) == ["ready", "ready"]
    assert (await stage.run(run)).status == "created"


async def test_killed_worker_s_reservation_is_charged_in_full(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event()), "done"))
    run = await stage.think()
    work, _ = await begun(stage)
    await until(lambda: len(stage.model.requests) == 1)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await store.write(leases.take_back, WORKER, stage.clock.now())
    reserve, settle = await stage.ledger(run)
    assert (settle.kind, settle.amount_microusd, settle.estimated) == ("settle", reserve.amount_microusd, True)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert (await stage.run(run)).cost_microusd == sum(amount for amount, _ in await settled(stage, run))


async def test_run_is_handed_back_to_the_head_of_its_lane(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event()), "one", "two"))
    first, second = await stage.chat("first"), await stage.chat("second")
    await stage.cut(await stage.take(first))
    assert await stage.work() == [first, second]
    assert told(stage.model, 1) == told(stage.model, 0)


async def test_answers_that_came_while_nobody_worked_are_taken_up(store: CountingStore, tmp_path: Path) -> None:
    question = calls("ask_operator", "1", question="which?")
    stage = await staged(store, tmp_path, ScriptedModel([question, calls("look", "2", what="a")], "done"), [look])
    run = await stage.think()
    await stage.work()
    await stage.approve((await stage.the_question()).id, note="this")
    claim = await stage.take(run)
    await store.write(
        mailbox.requeue, claim, stage.clock.now(), due_at=None, error=None, failed=False
    )  # fmt: skip
    await stage.work()
    assert told(stage.model) == (ToolResult("1", "this"), ToolResult("2", "seen: a"))
    assert await stage.ended(run) == ("completed", "end_turn")


class Halting(CountingStore):
    """Stops at its next look at a run, where it is told to, until the one who looks is cancelled."""

    armed = False

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.reached = asyncio.Event()

    async def read(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """The same, but for that look."""
        if self.armed and fn is traces.run:
            self.armed = False
            self.reached.set()
            await asyncio.Event().wait()
        return await super().read(fn, *args, **kwargs)


async def test_interruption_before_the_run_has_begun_hands_it_back(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.think()
    (claim,) = await stage.claim()
    interrupt = Interrupt(reason=Interruption.STOP)
    await runner.handle(stage.runtime, claim, interrupt)
    assert (await stage.run(run)).status == "created"
    assert stage.model.requests == []


async def test_interruption_while_the_run_is_being_ended_leaves_it_to_nobody(migrated_url: str, tmp_path: Path) -> None:
    may_answer = asyncio.Event()
    store = Halting(migrated_url)
    async with store:
        stage = await staged(store, tmp_path, ScriptedModel(Stream(may_answer, calls("look", "1", what="a"))), [look])
        run = await stage.think()
        work, interrupt = await begun(stage)
        await until(lambda: len(stage.model.requests) == 1)
        await store.write(leases.ask_back, run, at_once=True)
        store.armed = True
        may_answer.set()
        await store.reached.wait()
        await interrupted(work, interrupt, Interruption.STOP)
        assert (await stage.run(run)).status == "created"
