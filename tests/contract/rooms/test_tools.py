"""How agents speak: where, only where they are, never twice; signs; what they have read goes with their words. G3."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.desk.workspace_chat import rooms
from interlock.llm.messages import ModelRequest, ToolResult
from interlock.store.engine import Store
from interlock.store.messages import rooms as rows
from interlock.testing.scripted import calls
from interlock.tools.builtin.rooms import MOST_A_RUN, speak
from interlock.tools.registry import Tool
from tests.contract.rooms.house import House, housed, silent, speaks

SECRET = "sk-ant-api03-abcdefghijklmnop0123456789"


async def _read(ctx: Any, /) -> str:
    return "what strangers wrote"


READ = Tool(
    name="read_board", description="Reads a board.", input_schema={"type": "object"}, fn=_read, risk="GREEN",
    idempotent=True, labels=frozenset({"untrusted"}),
)  # fmt: skip


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    """An open store, once on each engine."""
    async with Store(migrated_url) as opened:
        yield opened


@pytest.fixture
async def house(store: Store, tmp_path: Path) -> House:
    """A coder who says hello."""
    return await housed(store, tmp_path, lambda persona, _: speaks("hello"))


def does(house: House, *steps: Any) -> list[list[str]]:
    """Has every agent take these steps in each of its turns; what they were answered, as it goes."""
    told: list[list[str]] = []

    def answer(request: ModelRequest) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn:
            told.append([each.content for each in request.messages[-1].blocks if isinstance(each, ToolResult)])
        return steps[turn] if turn < len(steps) else "That was all."

    house.stage.model.otherwise = answer
    return told


async def test_message_goes_where_the_agent_was_spoken_to(house: House) -> None:
    channel = await house.channel("launch", "coder")
    root = await house.say(channel, "a question")
    await house.stage.work()
    await house.say(channel, "@coder?", parent_id=root["id"])
    await house.stage.work()
    assert await house.said(channel) == [("Ada", "a question"), ("coder", "hello")]
    assert await house.said(channel, thread=root["id"]) == [
        ("Ada", "a question"),
        ("Ada", "@coder?"),
        ("coder", "hello"),
    ]
    talk = await rooms.dm(house.stage.runtime, house.ada, "coder")
    await house.say(talk["id"], "psst")
    await house.stage.work()
    assert await house.said(talk["id"]) == [("Ada", "psst"), ("coder", "hello")]


async def test_message_goes_to_a_named_channel_or_thread(house: House) -> None:
    here, there = await house.channel("launch", "coder"), await house.channel("other", "coder")
    root = await house.say(there, "a question of Bob's", house.bob)
    does(house, silent())
    await house.stage.work()
    told = does(house, speaks("one", channel="#Other"), speaks("two", thread=root["id"]), silent())
    await house.say(here, "tell the others")
    await house.stage.work()
    assert [line.rpartition(" as ")[0] for (line,) in told[:2]] == ["said in #other", "said in #other"]
    assert (await house.said(there))[-1] == ("coder", "one")
    assert (await house.said(there, thread=root["id"]))[-1] == ("coder", "two")


async def test_agent_speaks_only_where_it_is(house: House) -> None:
    here = await house.channel("launch", "coder")
    hidden = await house.channel("money", "finance", kind="private")
    theirs = await house.say(hidden, "ours")
    does(house, silent())
    await house.stage.work()
    steps = speaks("x", channel="money"), speaks("x", channel=hidden), speaks("x", thread=theirs["id"])
    told = does(house, *steps, calls("react_to_message", message=theirs["id"], emoji="👀"))
    await house.say(here, "go")
    await house.stage.work()
    assert [line for (line,) in told[:4]] == [
        "you are in no channel `money`: you are in #launch",
        f"you are in no channel `{hidden}`: you are in #launch",
        f"there is no message `{theirs['id']}` where you are: leave `thread` out",
        f"there is no message `{theirs['id']}` where you are",
    ]
    assert await house.said(hidden) == [("Ada", "ours")]


async def test_agent_that_was_not_spoken_to_in_a_channel_says_where(house: House) -> None:
    channel = await house.channel("launch", "operations")
    told = does(house, speaks("early"), speaks("the news", channel="launch"), "done")
    await house.stage.think()
    await house.stage.work()
    assert told[0] == ["you are not in a channel now, so say where with `channel`: you are in #launch"]
    assert await house.said(channel) == [("operations", "the news")]
    (row,) = await house.stage.store.read(rows.latest, channel, 10)
    assert row.depth == 1


async def test_reaction_is_put_on_what_woke_the_agent(house: House) -> None:
    channel = await house.channel("launch", "coder")
    does(house, [calls("react_to_message", emoji="👍"), silent()])
    said = await house.say(channel, "shipped")
    await house.stage.work()
    (shown,) = await rooms.history(house.stage.runtime, house.ada, channel)
    assert shown["reactions"] == [{"emoji": "👍", "by": [{"kind": "agent", "who": "coder"}]}]
    assert shown["id"] == said["id"]
    assert len(await house.runs()) == 1


async def test_messages_of_one_run_are_limited(house: House) -> None:
    channel = await house.channel("launch", "coder")
    does(house, [speaks(f"m{number}") for number in range(MOST_A_RUN + 2)], silent())
    await house.say(channel, "go")
    await house.stage.work()
    assert len(await house.said(channel)) == MOST_A_RUN + 1


async def test_secrets_stay_out_even_where_a_person_lets_the_message_pass(house: House) -> None:
    channel = await house.channel("launch", "coder")
    does(house, [speaks(f"the key is {SECRET}"), silent()])
    await house.say(channel, "what is it?")
    await house.stage.work()
    await house.stage.approve((await house.stage.the_question()).id)
    await house.stage.work()
    (_, (name, text)) = await house.said(channel)
    assert (name, SECRET in text) == ("coder", False)


async def test_taint_of_what_was_read_propagates_with_the_message(store: Store, tmp_path: Path) -> None:
    house = await housed(store, tmp_path, lambda persona, _: silent(), tools=[READ])
    known = house.stage.runtime.personas
    coder = known.personas["coder"]
    reading = coder.model_copy(update={"tools": (*coder.tools, "read_board")})
    personas = replace(known, personas={**known.personas, "coder": reading})
    house.stage.runtime = replace(house.stage.runtime, personas=personas)
    does(house, calls("read_board"), [speaks("it says so"), silent()])
    channel = await house.channel("launch", "coder", "qa")
    await house.say(channel, "what does it say? @coder")
    await house.stage.work()
    said = await store.read(rows.latest, channel, 10)
    assert said[1].labels == ["untrusted"]
    labels = {run.trigger_message_id: run.labels for run in await house.runs()}
    assert labels[said[0].id] == ["untrusted"], "also that of the one who answers after it"


async def test_repeated_call_posts_once(house: House) -> None:
    channel = await house.channel("launch", "coder")
    words = rows.Words(
        channel_id=channel, author=rows.Participant("agent", "coder"), text="hello", key="call:t", id="chm_1"
    )
    for ident in ("chm_1", "chm_2"):
        again = rows.Words(channel_id=channel, author=words.author, text="hello", key=words.key, id=ident)
        await house.stage.store.write(speak, again, house.stage.runtime.settings, house.stage.clock.now())
    assert await house.said(channel) == [("coder", "hello")]
