"""What an agent has started in the background outlives it: the end is told to the agent that takes its task over."""

import asyncio
from pathlib import Path
from typing import Any

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.desk.work import controls, task_changes
from interlock.llm.messages import ModelRequest, Text
from interlock.policy.as_code.policy_file import policy_from
from interlock.store.mailboxes.posting import CHILD_END
from interlock.store.runs import offspring, traces
from interlock.testing.scripted import ScriptedModel, Stream, calls
from tests.contract.oversight.test_heartbeat import at_work, post_again, watched
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged, until

OPEN = policy_from("version: 1\nbase: {start_background_agent: GREEN}\n", "p.yaml")
START = calls("start_background_agent", prompt="count them")


def is_child(request: ModelRequest) -> bool:
    return any(isinstance(b, Text) and "You are a background agent" in b.text for b in request.messages[0].blocks)


async def reports_to(stage: Stage, agent_id: str) -> list[Any]:
    return [run for run in await stage.store.read(traces.runs) if (run.agent_id, run.kind) == (agent_id, CHILD_END)]


async def lost_with_a_subagent(stage: Stage, *, child_is_done: bool) -> tuple[Any, Any]:
    """The run of an agent that is lost after it has started a subagent, and its task afterwards."""
    run = await stage.task()
    async with at_work(stage, await stage.take(run)):
        await until(lambda: len(stage.model.requests) == 2)
        watch = await watched(stage)
        if child_is_done:
            (child,) = await stage.claim("another worker")
            stage.model.otherwise = "forty-two"
            await runner.handle(stage.runtime, child, Interrupt())
        await watch.after(120)
    return await stage.run(run), await stage.task_of(run)


async def test_subagent_of_a_lost_agent_reports_to_the_agent_that_takes_over(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(START, Stream(asyncio.Event())), policy=OPEN)
    lost, task = await lost_with_a_subagent(stage, child_is_done=False)
    (child,) = await store.read(offspring.of_parent, task.assignee_agent_id)
    stage.model.otherwise = lambda request: "forty-two" if is_child(request) else "noted"
    await stage.work()
    assert await reports_to(stage, lost.agent_id) == []
    (told,) = await reports_to(stage, task.assignee_agent_id)
    assert (told.status, told.payload["subagent"], told.payload["result"]) == ("completed", child.agent_id, "forty-two")


async def test_report_that_a_lost_agent_had_not_heard_is_heard_by_the_one_that_takes_over(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(START, Stream(asyncio.Event())), policy=OPEN)
    lost, task = await lost_with_a_subagent(stage, child_is_done=True)
    assert await reports_to(stage, lost.agent_id) == []
    (told,) = await reports_to(stage, task.assignee_agent_id)
    again = await post_again(stage, task)
    stage.model.replies, stage.model.otherwise = ["noted", hand_in()], "done"
    assert await stage.work() == [told.id, again]
    assert "forty-two" in str(stage.model.requests[-1].messages)


async def test_subagent_of_an_agent_that_a_person_replaced_reports_to_the_new_one(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(START, hand_in(), "done"), policy=OPEN)
    claim = await stage.take(await stage.task())
    await runner.handle(stage.runtime, claim, Interrupt())
    task = await stage.task_of(claim.run.id)
    await task_changes.transition(stage.runtime, stage.ada, task.id, "IN_PROGRESS", reason="count again")
    await task_changes.reassign(stage.runtime, stage.ada, task.id)
    task = await stage.task_of(claim.run.id)
    assert task.assignee_agent_id != claim.run.agent_id
    stage.model.otherwise = "forty-two"
    await stage.work()
    assert await reports_to(stage, claim.run.agent_id) == []
    (told,) = await reports_to(stage, task.assignee_agent_id)
    assert told.payload["result"] == "forty-two"


async def test_task_that_is_canceled_takes_along_what_its_lost_agent_had_started(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(START, Stream(asyncio.Event())), policy=OPEN)
    _, task = await lost_with_a_subagent(stage, child_is_done=False)
    (child,) = await store.read(offspring.of_parent, task.assignee_agent_id)
    await controls.cancel(stage.runtime, stage.ada, task.id, wait_s=0)
    stage.model.otherwise = "too late"
    assert await stage.work() == []
    assert await store.read(offspring.open_runs, child.agent_id) == []
    assert await store.read(offspring.live) == 0
