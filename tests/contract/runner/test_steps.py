"""Two transactions a step, complete records, and a conversation that an interruption leaves as it was."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import known_tools, runner
from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.llm.messages import Block, Message, StopReason, Text, Thinking, ToolResult, Usage
from interlock.testing.scripted import ScriptedModel, calls, reply_of
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what}"


@tool(risk="GREEN", outside=False)
async def touch(what: str) -> str:
    """Touches something."""
    return f"touched: {what}"


async def test_run_of_four_model_calls_commits_two_times_a_step(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(calls("look", what="a"), calls("look", what="b"), calls("look", what="c"), "done")
    stage = await staged(store, tmp_path, model, [look])
    run = await stage.think()
    claim = await stage.take(run)
    await known_tools.barred(stage.runtime, claim.run.project_id)
    store.writes = 0
    await runner.handle(stage.runtime, claim, Interrupt())
    assert await stage.ended(run) == ("completed", "end_turn")
    assert store.writes == 8, "the beginning, two for each of three steps with a call, and the end"


async def test_call_that_is_not_idempotent_costs_one_transaction_more(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel([calls("touch", what="a"), calls("touch", what="b")], "done")
    stage = await staged(store, tmp_path, model, [touch])
    claim = await stage.take(await stage.think())
    await known_tools.barred(stage.runtime, claim.run.project_id)
    store.writes = 0
    await runner.handle(stage.runtime, claim, Interrupt())
    assert store.writes == 1 + (2 + 2) + 1


async def test_everything_of_a_run_is_on_record(store: CountingStore, tmp_path: Path) -> None:
    both = calls("look", "toolu_a", what="a"), calls("look", "toolu_b", what="b")
    first: list[Block] = [Thinking("hm", "sig"), Text("I look"), *both]
    model = ScriptedModel(reply_of(first, usage=Usage(100, 20, cache_read_tokens=7)), hand_in(), "all done")
    stage = await staged(store, tmp_path, model, [look])
    run = await stage.task()
    await stage.work()
    row = await stage.run(run)
    assert (row.status, row.stop_reason, row.result, row.step_count) == ("completed", "end_turn", "all done", 3)
    assert row.token_usage == {"input_tokens": 300, "output_tokens": 60, "cache_read_tokens": 7}
    kinds = [(m.position, m.message_type, m.tool_name) for m in await stage.messages(run)]
    assert kinds == [
        (0, "system_message", None), (1, "user_message", None), (2, "assistant_message", None),
        (3, "tool_call_message", "look"), (4, "tool_call_message", "look"), (5, "tool_return_message", "look"),
        (6, "tool_return_message", "look"), (7, "tool_call_message", "submit_deliverable"),
        (8, "tool_return_message", "submit_deliverable"), (9, "assistant_message", None),
    ]  # fmt: skip
    found = [(c.step_number, c.position, c.tool, c.status, c.effect, c.risk) for c in await stage.calls(run)]
    assert found == [
        (1, 0, "look", "done", "allow", "GREEN"), (1, 1, "look", "done", "allow", "GREEN"),
        (2, 0, "submit_deliverable", "done", "allow", "GREEN"),
    ]  # fmt: skip
    lines = await stage.ledger(run)
    assert sorted((line.kind, line.reservation_id) for line in lines) == sorted(
        (kind, f"{run}:{step}:1") for step in (1, 2, 3) for kind in ("reserve", "settle")
    )
    spent = sum(line.amount_microusd for line in lines if line.kind == "settle")
    assert spent == row.cost_microusd > 0
    assert not any(line.estimated for line in lines)
    for name in (f"run:{run}", f"task:{row.task_id}", f"mission:{row.mission_id}"):
        account = await stage.account(name)
        assert (account.settled_microusd, account.reserved_microusd) == (spent, 0), name
    assert (await stage.task_of(run)).status == "REVIEW"


def _conversation() -> list[Any]:
    """Replies with everything that must come back as it was."""
    return [
        [Thinking("one", "sig-1"), Text("word"), calls("look", "same", what="ü\u2028"), calls("touch", "2", what="b")],
        [Thinking("", "sig-2", redacted="enc"), calls("look", "same", what="again")],
        reply_of([Thinking("pause", "sig-3"), Text("wait")], stop_reason=StopReason.PAUSE_TURN),
        [Text("on"), calls("look", "three", what="z"), Text("after")],
        "no deliverable yet",
        hand_in(),
        "done",
    ]


async def _played(stage: Stage, *, interrupted: bool) -> list[tuple[Message, ...]]:
    run = await stage.task()
    for _ in range(30):
        if not (claims := await stage.claim()):
            break
        interrupt = Interrupt()
        work = asyncio.create_task(runner.handle(stage.runtime, claims[0], interrupt))
        if interrupted:
            before = len(stage.model.requests)
            while len(stage.model.requests) == before and not work.done():
                await asyncio.sleep(0)
            interrupt.reason = Interruption.SHUTDOWN
            work.cancel()
        await work
        stage.restart()
    assert await stage.ended(run) == ("completed", "end_turn")
    return [request.messages for request in stage.model.requests]


async def test_conversation_after_a_restart_is_the_one_without_it(store: CountingStore, tmp_path: Path) -> None:
    script = _conversation()
    plain = await staged(store, tmp_path, ScriptedModel(*script), [look, touch])
    expected = await _played(plain, interrupted=False)

    async def again(request: Any) -> Any:
        """Hangs the first time that a conversation comes, so that the run is cut off there; then answers."""
        if request.messages in seen:
            return script[len(seen) - 1]
        seen.append(request.messages)
        return await asyncio.Event().wait()

    seen: list[Any] = []
    cut = await staged(store, tmp_path, ScriptedModel(otherwise=again), [look, touch])
    found = await _played(cut, interrupted=True)
    assert _same(seen) == _same(expected)
    assert _same(found) == _same([conversation for conversation in expected for _ in (1, 2)])


def _same(conversations: list[Any]) -> list[str]:
    """Exactly, but for the random id of a deliverable."""
    return [re.sub(r"dlv_\w+", "dlv", repr(each)) for each in conversations]


@pytest.mark.parametrize("blocks", [(), (Thinking("only", "sig"),)])
async def test_reply_without_words_leaves_a_conversation_that_can_go_on(
    store: CountingStore, tmp_path: Path, blocks: tuple[Any, ...]
) -> None:
    model = ScriptedModel(reply_of(blocks), hand_in(), "done")
    stage = await staged(store, tmp_path, model)
    run = await stage.task()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert all(message.blocks for request in model.requests for message in request.messages)


async def test_results_come_back_in_the_order_of_the_calls(store: CountingStore, tmp_path: Path) -> None:
    later = asyncio.Event()

    @tool(risk="GREEN", idempotent=True, outside=False)
    async def slow() -> str:
        """Ends after the other one."""
        await later.wait()
        return "slow"

    @tool(risk="GREEN", idempotent=True, outside=False)
    async def fast() -> str:
        """Ends first."""
        later.set()
        return "fast"

    model = ScriptedModel([calls("slow", "1"), calls("fast", "2"), calls("slow", "3")], "done")
    stage = await staged(store, tmp_path, model, [slow, fast])
    await stage.think()
    await stage.work()
    blocks = model.requests[1].messages[-1].blocks
    assert blocks == (ToolResult("1", "slow"), ToolResult("2", "fast"), ToolResult("3", "slow"))


async def test_signs_that_no_database_holds_do_not_fail_a_run(store: CountingStore, tmp_path: Path) -> None:
    odd = "a\x00b\ud800c"
    model = ScriptedModel([Thinking(odd, "sig"), Text(odd), calls("look", what=odd)], odd)
    stage = await staged(store, tmp_path, model, [look])
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert model.requests[1].messages[1].blocks[0] == Thinking(odd, "sig")
    assert (await stage.calls(run))[0].args == {"what": "a\ufffdb\ufffdc"}
