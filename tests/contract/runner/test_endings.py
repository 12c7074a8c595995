"""How runs end: every stop reason, from the reply that leads to it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running.session import NUDGE
from interlock.core.values import SYSTEM
from interlock.llm.messages import Block, Delta, Reply, StopReason, Text, Thinking, ToolResult, ToolUse
from interlock.state_machine.table import TaskState
from interlock.store.work import tasks
from interlock.store.work.tasks import Move
from interlock.testing.scripted import ScriptedModel, Stream, calls, reply_of
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, hand_in, staged, told


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what}"


def stopped(said: str | ToolUse | Sequence[Block], reason: StopReason, detail: str | None = None) -> Reply:
    """A reply that stopped for that reason."""
    reply = reply_of(said, stop_reason=reason)
    return Reply(reply.message, reply.stop_reason, reply.usage, reply.model, detail=detail)


async def test_last_words_are_the_result(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel("it is done"))
    run = await stage.chat()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert (await stage.run(run)).result == "it is done"


async def test_agent_without_a_deliverable_is_told_once_and_then_failed(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel("finished", "really")
    stage = await staged(store, tmp_path, model)
    run = await stage.task()
    await stage.work()
    assert await stage.ended(run) == ("failed", "no_tool_call")
    assert told(model) == (Text(NUDGE),)
    assert (await stage.task_of(run)).status == "IN_PROGRESS"


async def test_calls_end_where_the_turns_are_used_up(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: calls("look", what="x")), [look])
    run = await stage.think(limits={"max_turns": 3})
    await stage.work()
    assert await stage.ended(run) == ("failed", "max_steps")
    assert (await stage.run(run)).step_count == len(stage.model.requests) == 3


async def test_work_that_was_handed_in_with_the_last_turn_is_done(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(hand_in(), hand_in()))
    run = await stage.task(limits={"max_turns": 2})
    await stage.work()
    assert await stage.ended(run) == ("completed", "max_steps")
    assert (await stage.task_of(run)).status == "REVIEW"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (stopped("so far", StopReason.MAX_TOKENS), "max_tokens_exceeded"),
        (stopped(calls("look", what="x"), StopReason.MAX_TOKENS), "max_tokens_exceeded"),
        (stopped("so far", StopReason.CONTEXT_WINDOW), "context_window_exceeded"),
        (stopped("no", StopReason.REFUSAL, "not this"), "refusal"),
        (stopped([], StopReason.REFUSAL), "refusal"),
    ],
)
async def test_cut_reply_fails_the_run_and_none_of_its_calls_is_made(
    store: CountingStore, tmp_path: Path, reply: Reply, reason: str
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(reply), [look])
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("failed", reason)
    assert await stage.calls(run) == []
    assert (await stage.run(run)).cost_microusd > 0


async def test_provider_s_words_of_a_refusal_are_the_reason(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(stopped("no", StopReason.REFUSAL, "not this")))
    run = await stage.think()
    await stage.work()
    assert (await stage.run(run)).error == "the model refused: not this"


async def test_paused_turn_goes_on_with_what_was_said(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(stopped("wait", StopReason.PAUSE_TURN), "done")
    stage = await staged(store, tmp_path, model)
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert model.requests[1].messages[-1].blocks == (Text("wait"),)


@pytest.mark.parametrize("restarts", [False, True])
async def test_three_turns_without_a_valid_call_are_enough(
    store: CountingStore, tmp_path: Path, restarts: bool
) -> None:
    wrong: list[Any] = [calls("fly"), calls("look", wat="x"), [ToolUse("id", "look", None, "{broken")]]
    stage = await staged(store, tmp_path, ScriptedModel(*wrong), [look])
    run = await stage.think()
    if restarts:
        hang = Stream(asyncio.Event())
        stage.model.replies = [wrong[0], hang, wrong[1], hang, wrong[2]]
        for seen in (2, 4):
            await stage.cut(await stage.take(run), at_request=seen)
    await stage.work()
    assert await stage.ended(run) == ("failed", "invalid_tool_call")
    assert await stage.statuses(run) == ["refused"] * 3


async def test_wrong_call_is_answered_with_what_is_wrong(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel([calls("fly", "1"), calls("look", "2", wat="x")], "sorry")
    stage = await staged(store, tmp_path, model, [look])
    run = await stage.think()
    await stage.work()
    unknown, invalid = [block for block in told(model) if isinstance(block, ToolResult)]
    assert unknown.is_error
    assert "no tool `fly`" in unknown.content
    assert "look" in unknown.content
    assert invalid.is_error
    assert "'what' is a required property" in invalid.content
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_valid_call_forgives_the_wrong_ones_before_it(store: CountingStore, tmp_path: Path) -> None:
    wrong, right = (lambda _: calls("fly")), calls("look", what="x")
    stage = await staged(store, tmp_path, ScriptedModel(wrong, wrong, right, wrong, wrong, "done"), [look])
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_run_past_its_deadline_fails_and_pays_for_what_was_asked(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(Stream(Delta("text", "x" * 3000), asyncio.Event()))
    stage = await staged(store, tmp_path, model, times={"task_run_s": 0.05})
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("failed", "deadline")
    reserve, settle = await stage.ledger(run)
    assert (reserve.kind, settle.kind, settle.estimated) == ("reserve", "settle", True)
    assert 10_000 <= settle.amount_microusd < reserve.amount_microusd, "1,000 tokens were written, at $10 a million"


async def test_time_out_of_something_else_is_not_the_deadline(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(TimeoutError("of a library")))
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("failed", "error")


async def test_reply_of_thinking_only_is_an_empty_answer(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel([Thinking("hm", "sig")]))
    run = await stage.chat()
    await stage.work()
    row = await stage.run(run)
    assert (row.status, row.stop_reason, row.result) == ("completed", "end_turn", "")


async def test_do_nothing_ends_the_run_without_another_word(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel([Text("nothing to do"), calls("do_nothing", reason="all is well")])
    stage = await staged(store, tmp_path, model)
    run = await stage.chat()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert len(model.requests) == 1
    assert await stage.statuses(run) == ["done"]
    assert (await stage.messages(run))[-1].message_type == "tool_return_message"


async def test_do_nothing_does_not_finish_a_task(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(calls("do_nothing", reason="no idea")))
    run = await stage.task()
    await stage.work()
    assert await stage.ended(run) == ("failed", "no_tool_call")


async def test_stream_without_a_reply_is_tried_again_and_booked(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(Delta("text", "half a wo")), "whole"))
    run = await stage.think()
    await stage.work()
    assert (await stage.run(run)).result == "whole"
    settled = [line for line in await stage.ledger(run) if line.kind == "settle"]
    assert [(line.attempt, line.estimated, line.amount_microusd > 0) for line in settled] == [
        (1, True, True), (2, False, True),
    ]  # fmt: skip


async def test_handed_in_task_goes_to_review_and_its_coordinator_hears(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel([Text("here"), hand_in()], "done"))
    run = await stage.task()
    await stage.work()
    task = await stage.task_of(run)
    assert (task.status, task.deliverable_id is not None) == ("REVIEW", True)
    (news,) = [event for event in await stage.news(run) if event.kind == "run_ended"]
    assert (news.payload["run_id"], news.payload["status"], news.payload["result"]) == (run, "completed", "done")


async def test_run_of_a_task_that_is_closed_does_nothing(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.task()
    task = await stage.task_of(run)
    back = Move(task_id=task.id, to=TaskState.INBOX, actor=SYSTEM, reason="taken away", key="back")
    await store.write(tasks.advance, back, stage.clock.now())
    await stage.work()
    assert await stage.ended(run) == ("cancelled", "cancelled")
    assert stage.model.requests == []
    assert await stage.ledger(run) == []


async def test_agent_that_fails_in_any_way_leaves_the_others_alone(store: CountingStore, tmp_path: Path) -> None:
    class Odd(Exception):
        pass

    stage = await staged(store, tmp_path, ScriptedModel(Odd("boom"), "fine"))
    first, second = await stage.think(name="one"), await stage.think(name="two")
    worked = await stage.work()
    assert sorted(worked) == sorted([first, second])
    rows = [await stage.run(run) for run in worked]
    assert [(row.status, row.stop_reason, row.error) for row in rows] == [
        ("failed", "error", "Odd: boom"), ("completed", "end_turn", None),
    ]  # fmt: skip
