"""What every model adapter promises, the same cases over each of them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from interlock.llm.messages import (
    Delta,
    Message,
    Model,
    ModelRef,
    ModelRequest,
    Reply,
    StopReason,
    SystemPart,
    Text,
    ToolResult,
    ToolSpec,
    block_from_json,
    block_to_json,
)
from interlock.llm.openai_dialects import DIALECTS
from interlock.llm.providers import FACTORIES, ProviderAccess, open_model
from interlock.testing.chat_api import ChatApi
from interlock.testing.chat_script import ChatAnswer, ChatScripted, call
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, Scripted, text, thinking, tool_use

TASK = "# Task: Compare SQLite and PostgreSQL\n\n## Description\nWhich suits a job queue?\n\n## Type\nresearch\n"
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS = (ToolSpec("web_search", "Finds pages", QUERY),)
CUSTOM = "in-house"
PROVIDERS = [*sorted(FACTORIES), CUSTOM]


def like_a_provider(body: dict[str, Any], number: int) -> Scripted:
    """Calls the first tool until it has a result, then speaks; cut where the limit is low."""
    last = body["messages"][-1]["content"]
    usage = {"input_tokens": 40, "output_tokens": 20}
    if body["max_tokens"] < 50:
        return Answer([text("too much to s")], stop_reason="max_tokens", usage=usage)
    if body.get("tools") and not any(block["type"] == "tool_result" for block in last):
        called = tool_use(f"toolu_{number}", body["tools"][0]["name"], query="queues")
        return Answer([thinking("I should look"), text("Looking."), called], usage=usage)
    return Answer([text("Here is what I found. " * 10)], usage=usage)


def like_a_chat(body: dict[str, Any], number: int) -> ChatScripted:
    """The same in chat completions."""
    last = body["messages"][-1]
    usage = {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60}
    if (body.get("max_tokens") or body["max_completion_tokens"]) < 50:
        return ChatAnswer("too much to s", finish_reason="length", usage=usage)
    if body.get("tools") and last["role"] != "tool":
        called = call(f"call_{number}", body["tools"][0]["function"]["name"], query="queues")
        return ChatAnswer("Looking.", [called], reasoning="I should look", usage=usage)
    return ChatAnswer("Here is what I found. " * 10, usage=usage)


def api_of(provider: str) -> MessagesApi | ChatApi:
    """A server that speaks what a provider does."""
    return ChatApi(like_a_chat) if provider in DIALECTS or provider == CUSTOM else MessagesApi(like_a_provider)


@pytest.fixture(params=["anthropic", "google", "mistral", "openai", "openrouter", "rehearsal", CUSTOM])
async def model(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    async with api_of(request.param) as api:
        adapter = open_model(ModelRef(request.param, "m"), ProviderAccess("sk-test-key", api.base_url))
        yield adapter
        await adapter.close()


def asked(*messages: Message, **rest: Any) -> ModelRequest:
    system = (SystemPart("identity", "You are Research (`research`)."),)
    return ModelRequest("m", messages=messages or (Message("user", (Text(TASK),)),), **{"system": system, **rest})


async def told(model: Model, request: ModelRequest) -> tuple[list[Delta], Reply]:
    *deltas, reply = [item async for item in model.stream(request)]
    assert isinstance(reply, Reply)
    assert all(isinstance(delta, Delta) for delta in deltas)
    return cast("list[Delta]", deltas), reply


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_adapter_names_its_provider(provider: str) -> None:
    adapter = open_model(ModelRef(provider, "m"), ProviderAccess("sk-test-key", "http://127.0.0.1:9"))
    assert adapter.provider == provider
    assert adapter.simulated is (provider == "rehearsal")


async def test_deltas_add_up_to_the_reply_that_ends_them(model: Model) -> None:
    deltas, reply = await told(model, asked())
    assert reply.message.role == "assistant"
    assert reply.message.text
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == reply.message.text
    assert reply.stop_reason is StopReason.END_TURN


async def test_usage_counts_both_sides(model: Model) -> None:
    _, reply = await told(model, asked())
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.output_tokens > 0


async def test_an_offered_tool_is_called_with_an_object_and_announced(model: Model) -> None:
    deltas, reply = await told(model, asked(tools=TOOLS))
    (call,) = reply.message.tool_uses
    assert reply.stop_reason is StopReason.TOOL_USE
    assert call.name == "web_search"
    assert isinstance((call.args or {})["query"], str)
    assert [delta.text for delta in deltas if delta.kind == "tool"] == ["web_search"]


async def test_no_tool_is_called_where_none_is_offered(model: Model) -> None:
    assert (await told(model, asked()))[1].message.tool_uses == ()


@pytest.mark.parametrize("failed", [True, False])
async def test_the_conversation_goes_on_after_a_result(model: Model, failed: bool) -> None:
    request = asked(tools=TOOLS)
    _, first = await told(model, request)
    result = Message("user", (ToolResult(first.message.tool_uses[0].id, "denied: not today", is_error=failed),))
    _, second = await told(model, asked(*request.messages, first.message, result, tools=TOOLS))
    assert second.stop_reason is StopReason.END_TURN
    assert second.message.text


async def test_a_message_survives_storage_on_its_way_back(model: Model) -> None:
    request = asked(tools=TOOLS)
    _, first = await told(model, request)
    stored = Message("assistant", tuple(block_from_json(block_to_json(block)) for block in first.message.blocks))
    assert stored == first.message


async def test_an_answer_past_the_limit_says_that_it_was_cut(model: Model) -> None:
    chat = Message("user", (Text("What do you know of job queues?"),))
    assert (await told(model, asked(chat, max_tokens=20)))[1].stop_reason is StopReason.MAX_TOKENS


async def test_one_adapter_serves_many_calls_at_once(model: Model) -> None:
    replies = await asyncio.gather(*(told(model, asked()) for _ in range(5)))
    assert len({reply.message.text for _, reply in replies}) == 1


async def test_an_adapter_can_be_used_after_a_call_was_closed_early(model: Model) -> None:
    items = cast("Any", model.stream(asked()))
    await anext(items)
    await items.aclose()
    assert (await told(model, asked()))[1].message.text
