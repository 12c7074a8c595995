"""Whoever is named with an `@` is told, in channels and in the threads of tasks. Row A8."""

from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.core.values import Actor, ActorKind
from interlock.desk.work import task_changes
from interlock.policy.audience import AGENT, Participant
from interlock.store.engine import Store
from interlock.store.messages import mention_notices, rounds
from interlock.store.messages.rooms import Words
from interlock.store.schema import Mission, table
from interlock.store.work import tasks
from interlock.testing.scripted import calls
from tests.contract.rooms.house import House, housed, silent, speaks


@pytest.fixture
async def house(store: Store, tmp_path: Path) -> House:
    """Agents that call Bob."""
    return await housed(store, tmp_path, lambda persona, _: [speaks("@Bob, please look"), silent()])


async def mentions(house: House) -> list[str]:
    """What people were told of being named."""
    return sorted(alert.text for alert in await house.stage.alerts() if alert.kind == mention_notices.ALERT)


async def test_person_mentioned_in_a_channel_is_notified(house: House) -> None:
    channel = await house.channel("launch", "coder")
    await house.say(channel, "anything for @ada or @bob? write to ada@example.com")
    await house.stage.work()
    assert await mentions(house) == [
        "mention of Bob by Ada in #launch: anything for @ada or @bob? write to ada@example.com",
        "mention of Bob by coder in #launch: @Bob, please look",
    ]


async def test_messages_in_private_channels_are_shown_to_nobody_outside(house: House) -> None:
    inside = await house.channel("money", "coder", kind="private", people=["Bob"])
    alone = await house.channel("mine", "coder", kind="private")
    await house.say(inside, "we are broke, @bob")
    await house.say(alone, "@bob must not know")
    await house.stage.work()
    assert await mentions(house) == [
        "mention of Bob by Ada in a private channel", "mention of Bob by coder in a private channel",
    ]  # fmt: skip


async def comment(house: House, task: Any, text: str, actor: Actor | None = None) -> None:
    """Somebody, usually Ada, writes in a task's thread."""
    who = actor or Actor(ActorKind.HUMAN, house.ada.id)
    await house.stage.store.write(tasks.add_message, task.id, "COMMENT", who, text, house.stage.clock.now())


async def test_agent_at_work_that_is_named_in_a_thread_finds_it_in_its_mailbox(house: House) -> None:
    task = await house.stage.task_of(await house.stage.task())
    house.stage.model.otherwise = "Seen."
    await comment(house, task, "@operations: mind the deadline, and tell @bob")
    where = f"in the thread of `{task.title}`"
    assert await mentions(house) == [f"mention of Bob by Ada {where}: @operations: mind the deadline, and tell @bob"]
    (run,) = [each for each in await house.runs() if each.cause_kind == mention_notices.CAUSE]
    assert (run.kind, run.agent_id, run.task_id) == ("chat", task.assignee_agent_id, None)
    await house.stage.work()
    assert (await house.stage.run(run.id)).status == "completed"
    texts = [message.text for request in house.stage.model.requests for message in request.messages]
    assert any("Ada, a person, names you in the thread of" in text and "mind the deadline" in text for text in texts)


async def test_agent_is_not_notified_of_its_own_messages(house: House) -> None:
    task = await house.stage.task_of(await house.stage.task())
    own = Actor(ActorKind.AGENT, task.assignee_agent_id, "operations")
    await comment(house, task, "as @operations I say so", own)
    await comment(house, task, "me, @Ada")
    assert [run.cause_kind for run in await house.runs() if run.cause_kind == mention_notices.CAUSE] == []
    assert await mentions(house) == []


async def test_persona_without_work_on_the_task_is_asked_in_the_workspace_chat(house: House) -> None:
    await house.channel("launch", "qa")
    task = await house.stage.task_of(await house.stage.task())
    await comment(house, task, "@qa and @nobody and @operators: look")
    (run,) = [each for each in await house.runs() if each.cause_kind == mention_notices.CAUSE]
    assert run.payload["text"] == "@qa and @nobody and @operators: look"
    assert [text.partition(" by ")[0] for text in await mentions(house)] == ["mention of the operators"]


async def test_what_is_said_in_a_rehearsal_is_heard_in_one(store: Store, tmp_path: Path) -> None:
    said = {"operations": calls("post_comment", message="@qa: pay the invoice"), "qa": speaks("@coder: your turn")}
    house = await housed(store, tmp_path, lambda persona, _: said.get(persona, silent()))
    house.stage.model.simulated = True
    channel = await house.channel("launch", "qa", "coder")
    speaker = await house.stage.task()
    await runner.handle(house.stage.runtime, await house.stage.take(speaker), Interrupt())
    model = (await house.stage.run(speaker)).model
    (named,) = [run for run in await house.runs() if run.cause_kind == mention_notices.CAUSE]
    assert (named.status, named.model, named.simulated) == ("created", model, True)
    await house.stage.store.write(
        rounds.post_message,
        Words(channel_id=channel, author=Participant(AGENT, "qa"), text="@coder: yours", key="k", run_id=named.id),
        3, house.stage.runtime.settings.loops, house.stage.clock.now(),
    )  # fmt: skip
    (heard,) = [run for run in await house.runs() if run.cause_kind == rounds.CAUSE]
    assert (heard.model, heard.simulated) == (model, True)


async def test_what_a_person_says_in_the_thread_of_a_rehearsal_is_heard_in_one(house: House) -> None:
    task = await house.stage.task_of(await house.stage.task())
    rehearsed = table(Mission).update().values(simulated=True, model="rehearsal/offline")
    await house.stage.store.write(lambda tx: tx.run(rehearsed))
    await task_changes.comment(house.stage.runtime, house.ada, task.id, "@operations: pay the invoice")
    (run,) = [each for each in await house.runs() if each.cause_kind == mention_notices.CAUSE]
    assert (run.model, run.simulated) == ("rehearsal/offline", True)
