"""Calls that change nothing: on record together with the reply that asked for them, or after it where they are slow."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.interruption import Interruption
from interlock.llm.messages import ToolResult, Usage
from interlock.store import audit, leases
from interlock.testing.scripted import Scripted, ScriptedModel, calls, reply_of
from interlock.tools.registry import Outcome, Tool, ToolContext, tool, write
from tests.contract.runner.stage import CountingStore, Stage, staged, told, until
from tests.contract.runner.test_cut_off import Gate, begun, interrupted, settled
from tests.contract.runner.test_effects import Effect
from tests.contract.runner.test_money import OUTPUT_MICROUSD, budget, prompt_cost

LOOKS: dict[str, Any] = {"risk": "GREEN", "read_only": True, "outside": False}


@tool(risk="GREEN", read_only=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    if what == "nothing":
        raise ValueError("there is nothing")
    return f"seen: {what}"


def tool_that(fn: Any, **fields: Any) -> Tool:
    """A tool of one function, which changes nothing unless it is said otherwise."""
    return Tool(name="look", description="Looks.", fn=fn, input_schema={"type": "object"}, **{**LOOKS, **fields})


class Counted:
    """A stage with one tool, on which two runs without calls were worked, so that a third has nothing to do first."""

    def __init__(self, stage: Stage, store: CountingStore) -> None:
        self.stage, self.store = stage, store
        self.run = ""
        self.usual = self.taken = 0

    @classmethod
    async def of(
        cls, store: CountingStore, home: Path, given: Tool | Callable[..., object], *turns: Scripted
    ) -> "Counted":  # fmt: skip
        """The third run is worked; it has taken so many transactions beyond a run of one model call."""
        counted = cls(await staged(store, home, ScriptedModel("done", "done", *turns, "done"), [given]), store)
        for name in ("first", "usual", "counted"):
            counted.usual, counted.taken = counted.taken, await counted._worked(name)
        assert await counted.stage.ended(counted.run) == ("completed", "end_turn")
        return counted

    async def _worked(self, name: str) -> int:
        self.run = await self.stage.think(name=name)
        before = self.store.writes
        await self.stage.work()
        return self.store.writes - before

    @property
    def more(self) -> int:
        """Than a run without calls."""
        return self.taken - self.usual


async def test_turn_that_only_looks_is_one_transaction_with_all_of_its_record(
    store: CountingStore, tmp_path: Path
) -> None:
    two = [calls("look", "1", what="b"), calls("look", "2", what="nothing")]
    counted = await Counted.of(store, tmp_path, look, calls("look", "0", what="a"), two)
    stage, run = counted.stage, counted.run
    assert counted.more == 2
    found = await stage.calls(run)
    assert [(call.step_number, call.status, call.is_error) for call in found] == [
        (1, "done", False), (2, "done", False), (2, "failed", True),
    ]  # fmt: skip
    assert [call.result for call in found[:2]] == ["seen: a", "seen: b"]
    assert "there is nothing" in found[2].result
    assert all(call.started_at and call.ended_at and call.effect == "allow" for call in found)
    said = [message.message_type for message in await stage.messages(run)]
    ask, tell = "tool_call_message", "tool_return_message"
    assert said[-7:] == [ask, tell, ask, ask, tell, tell, "assistant_message"]
    assert [line.kind for line in await stage.ledger(run)] == ["reserve", "settle"] * 3
    row = await stage.run(run)
    assert (row.step_count, row.cost_microusd) == (3, sum(paid for paid, _ in await settled(stage, run)))


@pytest.mark.parametrize("fields", [{"risk": "YELLOW"}, {"outside": True}, {"read_only": False, "idempotent": True}])
async def test_any_other_call_is_on_record_before_it_is_made(
    store: CountingStore, tmp_path: Path, fields: dict[str, Any]
) -> None:
    effect = Effect("did it", **{**LOOKS, **fields})
    assert (await Counted.of(store, tmp_path, effect.tool, calls("act"))).more == 2
    assert [status for status, _, _ in effect.seen] == ["ready"]


async def test_slow_look_up_is_on_record_while_it_goes_on(store: CountingStore, tmp_path: Path) -> None:
    gate = Gate(**LOOKS)
    stage = await staged(store, tmp_path, ScriptedModel(calls("wait"), "done"), [gate.tool])
    run = await stage.think()
    work, _ = await begun(stage)

    async def is_on_record() -> bool:
        return await stage.statuses(run) == ["ready"]

    await until(is_on_record)
    assert [estimated for _, estimated in await settled(stage, run)] == [False]
    gate.may_end.set()
    await work
    assert (await stage.ended(run), gate.count) == (("completed", "end_turn"), 1)
    assert await stage.statuses(run) == ["done"]


@pytest.mark.parametrize("reason", [Interruption.SHUTDOWN, Interruption.CONTROL])
async def test_step_of_a_look_up_that_is_cut_off_is_kept(
    store: CountingStore, tmp_path: Path, reason: Interruption
) -> None:
    gate = Gate(**LOOKS)
    stage = await staged(store, tmp_path, ScriptedModel(calls("wait"), "done"), [gate.tool])
    run = await stage.think()
    work, interrupt = await begun(stage)
    await gate.began.wait()
    stopping = interrupted(work, interrupt, reason)
    gate.may_end.set()
    await stopping
    ended = ("created", None) if reason is Interruption.SHUTDOWN else ("cancelled", "cancelled")
    assert await stage.ended(run) == ended
    ((paid, estimated),) = await settled(stage, run)
    assert (paid > 0, estimated) == (True, False)
    assert await stage.statuses(run) == ["done"], "what ended in time is kept"


async def test_look_up_while_a_person_stops_the_run_ends_it_at_its_true_cost(
    store: CountingStore, tmp_path: Path
) -> None:
    async def canceled(ctx: ToolContext, /) -> str:
        assert await ctx.store.write(leases.cancel, ctx.run_id, ctx.now, "not wanted") == "running"
        return "seen"

    model = ScriptedModel(calls("look"), "done")
    stage = await staged(store, tmp_path, model, [tool_that(canceled)])
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("cancelled", "cancelled")
    assert len(model.requests) == 1
    ((paid, _),) = await settled(stage, run)
    free = await staged(store, tmp_path, ScriptedModel(calls("look"), "done"), [tool_that(_seen)])
    other = await free.think(name="other")
    await free.work()
    assert paid == (await settled(free, other))[0][0]


async def _seen(ctx: ToolContext, /) -> str:
    return "seen"


async def test_answers_are_kept_where_no_money_is_left_to_go_on(store: CountingStore, tmp_path: Path) -> None:
    first = await prompt_cost(store, tmp_path) + 4096 * OUTPUT_MICROUSD
    dear = reply_of(calls("look", what="x"), usage=Usage(0, 4_000))
    stage = await staged(store, tmp_path, ScriptedModel(dear, "done"), [look])
    run = await stage.think(**budget(first + 500))
    await stage.work()
    assert (await stage.run(run)).status == "waiting"
    assert await stage.statuses(run) == ["done"]
    (question,) = await stage.pending()
    assert question.kind == "BUDGET"
    await stage.approve(question.id)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    (answer,) = told(stage.model)
    assert isinstance(answer, ToolResult)
    assert answer.content == "seen: x"


async def test_what_a_look_up_has_written_after_all_is_written_once(store: CountingStore, tmp_path: Path) -> None:
    async def noted(ctx: ToolContext, /) -> Outcome:
        note = write(audit.note, "LOOKED", ctx.actor, ctx.now, project_id=ctx.project_id, run_id=ctx.run_id)
        return Outcome("seen", writes=(note,))

    counted = await Counted.of(store, tmp_path, tool_that(noted), calls("look"))
    assert counted.more == 2
    rows = await store.read(audit.activities, run_id=counted.run)
    assert [row.action for row in rows].count("LOOKED") == 1


async def test_failing_look_ups_do_not_keep_the_reply_from_its_record(store: CountingStore, tmp_path: Path) -> None:
    async def broken(ctx: ToolContext, /) -> str:
        await asyncio.sleep(0)
        raise RuntimeError("no such index")

    counted = await Counted.of(store, tmp_path, tool_that(broken), calls("look"))
    assert counted.more == 1
    (call,) = await counted.stage.calls(counted.run)
    assert (call.status, call.is_error) == ("failed", True)
    assert "no such index" in call.result
