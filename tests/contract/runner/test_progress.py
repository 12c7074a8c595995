"""Runs that get nowhere are stopped and told apart from those that read for long; people let them go on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.llm.messages import ModelRequest, ToolUse, Usage
from interlock.store.knowledge import incidents
from interlock.store.work import tasks
from interlock.testing.scripted import Scripted, ScriptedModel, calls, reply_of
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged

CHEAP = Usage(10, 10)


@tool(risk="GREEN", idempotent=True, outside=False)
async def read_page(number: int) -> str:
    """Reads a page of a long book."""
    return f"page {number}: " + " ".join(f"{word}{number * 7919}" for word in ("what", "it", "says"))


@tool(risk="GREEN", idempotent=True, outside=False)
async def poll(job: str) -> str:
    """Asks how a job gets on."""
    seconds.append(seconds[-1] + 1)
    return f"{job} is still running after {seconds[-1]} s"


@tool(risk="GREEN", idempotent=True, outside=False)
async def find(words: str) -> str:
    """Searches."""
    return f"nothing was found for {words!r}"


seconds = [0]
TOOLS: list[Any] = [read_page, poll, find]


async def stage_of(store: CountingStore, home: Path, *script: ToolUse) -> Stage:
    """Every call of the script, again and again from its start, at next to no cost."""
    at = iter(range(10_000))

    async def reply(request: ModelRequest) -> Scripted:
        return reply_of(script[next(at) % len(script)], usage=CHEAP)

    return await staged(store, home, ScriptedModel(otherwise=reply), TOOLS)


LONG: dict[str, Any] = {"limits": {"max_turns": 30}}


@pytest.mark.parametrize(
    "script",
    [
        [calls("poll", job="a")],
        [calls("find", words="a"), calls("find", words="b"), calls("find", words="c")],
        [calls("post_comment", message="working"), calls("post_progress", message="on it")],
        [calls("file_write", path="a.md", content="A"), calls("file_write", path="b.md", content="A")],
        [calls("no_such_tool"), calls("find", words="x")],
    ],
    ids=["polling", "searching", "talking", "writing the same", "mistakes"],
)
async def test_run_that_gets_nowhere_is_stopped_after_eight_calls(
    store: CountingStore, tmp_path: Path, script: list[Any]
) -> None:
    stage = await stage_of(store, tmp_path, *script)
    run = await stage.task(**LONG)
    await stage.work()
    assert (await stage.run(run)).error.startswith("it got nowhere")
    assert await stage.ended(run) == ("failed", "no_progress")
    assert len(stage.model.requests) <= 10
    task = await stage.task_of(run)
    assert (task.status, task.block_kind) == ("BLOCKED", "BREAKER")
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.subject) == ("NO_PROGRESS", task.id)
    (incident,) = await store.read(incidents.of_task, task.id)
    assert (incident.kind, incident.data["calls"]) == ("BREAKER", 8)
    comment = (await store.read(tasks.thread, task.id))[-1]
    assert "8 model calls" in comment.text
    assert script[0].name in comment.text


async def test_honest_reading_goes_on_for_as_long_as_there_is_something_new(
    store: CountingStore, tmp_path: Path
) -> None:
    pages = [calls("read_page", number=number) for number in range(20)]
    stage = await staged(store, tmp_path, ScriptedModel(*pages, hand_in(), "done"), TOOLS)
    run = await stage.task(budget_microusd=20_000_000, **LONG)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_person_lets_it_go_on_and_it_is_counted_from_there(store: CountingStore, tmp_path: Path) -> None:
    stage = await stage_of(store, tmp_path, calls("poll", job="a"))
    run = await stage.task(**LONG)
    await stage.work()
    question = await stage.the_question()
    assert question.kind == "ESCALATION"
    assert "poll" in question.request["did"][0]
    await stage.approve(question.id, "the job takes long")
    task = await stage.task_of(run)
    assert (task.status, task.idle_calls, task.idle_microusd) == ("IN_PROGRESS", 0, 0)
    (news,) = [event for event in await stage.news(run) if event.kind == "run_ended"]
    assert news.payload["stop_reason"] == "no_progress"


async def test_quarter_of_the_budget_without_a_sign_stops_it_sooner(store: CountingStore, tmp_path: Path) -> None:
    dear = [reply_of(calls("find", words="x"), usage=Usage(0, 1_000)) for _ in range(8)]
    stage = await staged(store, tmp_path, ScriptedModel(*dear), TOOLS)
    run = await stage.task(budget_microusd=160_000, **LONG)
    await stage.work()
    assert await stage.ended(run) == ("failed", "no_progress")
    assert (await stage.run(run)).cost_microusd == 50_000, "the first finds something, four more are a quarter"
    assert "25% of its task's budget" in (await stage.run(run)).error


async def test_counts_are_the_same_after_every_restart(store: CountingStore, tmp_path: Path) -> None:
    stage = await stage_of(store, tmp_path, calls("poll", job="a"))
    run = await stage.task(**LONG)
    for _ in range(3):
        await _some_steps(stage, 3)
    await stage.work()
    assert await stage.ended(run) == ("failed", "no_progress")
    assert len(stage.model.requests) == 9


async def _some_steps(stage: Stage, count: int) -> None:
    """Works until so many more steps are on record, then goes on as another process would."""
    claims = await stage.claim()
    if not claims:
        return
    interrupt, before = Interrupt(), len(stage.model.requests)
    work = asyncio.create_task(runner.handle(stage.runtime, claims[0], interrupt))
    while len(stage.model.requests) < before + count and not work.done():
        await asyncio.sleep(0)
    interrupt.reason = Interruption.SHUTDOWN
    work.cancel()
    await work
    stage.restart()


async def test_tries_of_a_task_count_together(store: CountingStore, tmp_path: Path) -> None:
    stage = await stage_of(store, tmp_path, calls("post_comment", message="hm"))
    run = await stage.task(limits={"max_turns": 5})
    await stage.work()
    assert await stage.ended(run) == ("failed", "max_steps")
    assert (await stage.task_of(run)).idle_calls == 5


async def test_breaker_can_be_turned_off(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=_poll)
    stage = await staged(store, tmp_path, model, TOOLS, breakers={"progress": False})
    run = await stage.task(limits={"max_turns": 12})
    await stage.work()
    assert await stage.ended(run) == ("failed", "max_steps")


async def _poll(request: ModelRequest) -> Scripted:
    return reply_of(calls("poll", job="a"), usage=CHEAP)


async def test_chat_that_gets_nowhere_is_stopped_too(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=_poll), TOOLS)
    run = await stage.think(limits={"max_turns": 20})
    await stage.work()
    assert await stage.ended(run) == ("failed", "no_progress")
    assert [alert.kind for alert in await stage.alerts()] == ["NO_PROGRESS"]
