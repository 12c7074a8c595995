"""The scripted model: what it says, in which order, and what happens at the end of its script."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.desk.agents import conversation
from interlock.desk.context import Person
from interlock.llm.messages import (
    Delta,
    Message,
    ModelError,
    ModelFault,
    ModelRequest,
    Reply,
    StopReason,
    StreamItem,
    Text,
    Usage,
)
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.runs import traces
from interlock.testing import ScriptedModel
from interlock.testing.runtime import open_runtime
from interlock.testing.scripted import Stream, calls, reply_of

ASKED = ModelRequest(model="any", system=(), messages=(Message("user", (Text("hello"),)),))


async def heard(model: ScriptedModel) -> list[StreamItem]:
    """One call."""
    return [item async for item in model.stream(ASKED)]


async def test_replies_come_in_order_and_then_the_rest() -> None:
    model = ScriptedModel("one", [Text("two"), calls("look", "id", what="x")], otherwise="more")
    one, two, more, again = [(await heard(model))[0] for _ in range(4)]
    assert isinstance(one, Reply)
    assert isinstance(two, Reply)
    assert (one.message.text, one.stop_reason, one.model) == ("one", StopReason.END_TURN, "any")
    assert (two.message.tool_uses, two.stop_reason) == ((calls("look", "id", what="x"),), StopReason.TOOL_USE)
    assert more == again
    assert model.requests == [ASKED] * 4


async def test_script_that_is_at_its_end_refuses() -> None:
    with pytest.raises(ModelError) as refused:
        await heard(ScriptedModel())
    assert refused.value.fault is ModelFault.INVALID


async def test_stream_goes_piece_by_piece() -> None:
    event = asyncio.Event()
    whole = reply_of("ab", usage=Usage(1, 2))
    model = ScriptedModel(Stream(Delta("text", "a"), event, Delta("text", "b"), whole))
    stream = model.stream(ASKED)
    assert await anext(stream) == Delta("text", "a")
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    assert not waiting.done()
    event.set()
    assert [await waiting, await anext(stream)] == [Delta("text", "b"), whole]


async def test_stream_can_break() -> None:
    broken = ConnectionError("gone")
    stream = ScriptedModel(Stream(Delta("text", "a"), broken)).stream(ASKED)
    assert await anext(stream) == Delta("text", "a")
    with pytest.raises(ConnectionError):
        await anext(stream)


async def test_function_answers_by_the_request_at_once_or_later() -> None:
    async def later(request: ModelRequest) -> Any:
        return lambda _: f"later: {request.messages[0].text}"

    model = ScriptedModel(lambda request: f"you said {request.messages[0].text}", later)
    said = [(await heard(model))[0] for _ in range(2)]
    assert [item.message.text for item in said if isinstance(item, Reply)] == ["you said hello", "later: hello"]


async def test_runtime_works_an_agent_without_a_provider(tmp_path: Path) -> None:
    async with open_runtime(tmp_path, ScriptedModel("hello Ada")) as runtime:
        store, now = runtime.store, runtime.clock.now()
        row = await store.write(squad.ensure_person, "test:ada", "Ada", "operator", now)
        run = await conversation.say(runtime, Person(row.id, "Ada", "operator", "test"), "research", "hi")
        (claim,) = await store.write(mailbox.claim, "worker", 1, now)
        await runner.handle(runtime, claim, Interrupt())
        ended = await store.read(traces.run, run)
        assert ended is not None
        assert (ended.status, ended.result) == ("completed", "hello Ada")
