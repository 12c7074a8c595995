"""The adapter through the real SDK against a server that speaks the Messages API, in good and bad weather."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import pytest

from interlock.llm.anthropic import AnthropicModel
from interlock.llm.messages import (
    Delta,
    Message,
    ModelError,
    ModelFault,
    ModelRequest,
    Reply,
    StopReason,
    StreamItem,
    SystemPart,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import (
    Answer,
    Ending,
    HangUp,
    Raw,
    Refusal,
    Script,
    Scripted,
    in_order,
    text,
    thinking,
    tool_use,
)

KEY = "sk-ant-api03-do-not-show-this"
HELLO = (Message("user", (Text("hello"),)),)
SEEN = Usage(input_tokens=10, output_tokens=1)
"""What the script's answers have reported before they end early."""


def request(messages: tuple[Message, ...] = HELLO, **rest: Any) -> ModelRequest:
    return ModelRequest("claude-x", messages=messages, **{"system": (), "timeout_s": 20.0, **rest})


@asynccontextmanager
async def served(
    *answers: Scripted, script: Script | None = None, key: str = KEY
) -> AsyncIterator[tuple[MessagesApi, AnthropicModel]]:
    async with MessagesApi(script or in_order(*answers), api_key=KEY) as api:
        model = AnthropicModel(key, api.base_url)
        try:
            yield api, model
        finally:
            await model.close()


async def reply_of(model: AnthropicModel, asked: ModelRequest | None = None) -> Reply:
    items = [item async for item in model.stream(asked or request())]
    assert all(isinstance(item, Delta) for item in items[:-1])
    assert isinstance(items[-1], Reply)
    return items[-1]


async def error_of(*answers: Scripted, asked: ModelRequest | None = None, key: str = KEY) -> ModelError:
    async with served(*answers, key=key) as (_, model):
        with pytest.raises(ModelError) as failed:
            await reply_of(model, asked)
    return failed.value


async def test_a_turn_with_thinking_and_parallel_calls_comes_whole() -> None:
    blocks = [thinking("let me see", "sig"), text("Looking. " * 9), tool_use("c1", "f", a=1), tool_use("c2", "g")]
    usage = {"input_tokens": 12, "output_tokens": 34, "cache_read_input_tokens": 5}
    async with served(Answer(blocks, usage=usage, model="claude-x-2026")) as (_, model):
        items = [item async for item in model.stream(request())]
    reply = items[-1]
    assert isinstance(reply, Reply)
    assert reply.message.blocks == (
        Thinking("let me see", "sig"),
        Text("Looking. " * 9),
        ToolUse("c1", "f", {"a": 1}),
        ToolUse("c2", "g", {}),
    )
    assert (reply.stop_reason, reply.model, reply.request_id) == (StopReason.TOOL_USE, "claude-x-2026", "req_1")
    assert reply.usage == Usage(12, 34, cache_read_tokens=5)
    shown = [item for item in items if isinstance(item, Delta)]
    assert "".join(item.text for item in shown if item.kind == "text") == "Looking. " * 9
    assert "".join(item.text for item in shown if item.kind == "thinking") == "let me see"
    assert [item.text for item in shown if item.kind == "tool"] == ["f", "g"]


@pytest.mark.parametrize("reason", list(StopReason))
async def test_every_stop_reason_arrives(reason: StopReason) -> None:
    async with served(Answer([text("so")], stop_reason=reason.value)) as (_, model):
        assert (await reply_of(model)).stop_reason is reason


async def test_a_refusal_comes_with_the_providers_words() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "not this"}
    async with served(Answer([], stop_reason="refusal", stop_details=details)) as (_, model):
        assert (await reply_of(model)).detail == "not this"


async def test_a_conversation_goes_back_as_it_came() -> None:
    redacted = {"type": "redacted_thinking", "data": "enc"}
    searched = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    cited = {"type": "text", "text": "it rains", "citations": [{"type": "page_location", "cited_text": "rain"}]}
    blocks = [thinking("hm", "sig"), redacted, searched, cited, tool_use("c1", "f", a=1)]
    async with served(Answer(blocks), Answer([text("done")])) as (api, model):
        first = await reply_of(model)
        await reply_of(model, request((*HELLO, first.message, Message("user", (ToolResult("c1", "ok"),)))))
    assert api.requests[1].body["messages"][1]["content"] == blocks


async def test_the_request_carries_prompt_tools_and_cache_marks() -> None:
    does = "does this and that, " * 200
    asked = request(
        system=(SystemPart("identity", "you are"), SystemPart("date", "today", stable=False)),
        tools=(ToolSpec("f", does, {"type": "object"}),),
        thinking="adaptive",
        effort="low",
        temperature=0.7,
    )
    async with served(Answer([text("so")])) as (api, model):
        await reply_of(model, asked)
    sent = api.requests[0]
    cache = {"cache_control": {"type": "ephemeral"}}
    assert sent.body == {
        "model": "claude-x",
        "max_tokens": 4096,
        "stream": True,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "system": [{"type": "text", "text": "you are", **cache}, {"type": "text", "text": "today"}],
        "tools": [{"name": "f", "description": does, "input_schema": {"type": "object"}, **cache}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello", **cache}]}],
    }
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["x-api-key"] == KEY


async def test_calls_one_after_the_other_share_a_connection() -> None:
    async with served(Answer([text("so")])) as (api, model):
        for _ in range(3):
            await reply_of(model)
        assert api.connection_count == 1


async def test_many_calls_at_once_have_a_connection_each_and_leave_them_to_those_that_follow() -> None:
    many, all_asked = 100, asyncio.Event()

    async def answer(_: Any, number: int) -> Scripted:
        if number == many:
            all_asked.set()
        await all_asked.wait()
        return Answer([text("so")])

    async with served(script=answer) as (api, model):
        await asyncio.gather(*(reply_of(model) for _ in range(many)))
        await asyncio.gather(*(reply_of(model) for _ in range(many)))
        assert api.connection_count == many


async def test_calls_at_once_do_not_mix() -> None:
    def echo(body: dict[str, Any], _: int) -> Scripted:
        return Answer([text(body["messages"][0]["content"][0]["text"] * 50)])

    async with served(script=echo) as (_, model):
        words = [f"word{i} " for i in range(8)]
        asked = [request((Message("user", (Text(word),)),)) for word in words]
        replies = await asyncio.gather(*(reply_of(model, each) for each in asked))
    assert [reply.message.text for reply in replies] == [word * 50 for word in words]


async def test_a_gateway_that_answers_in_one_piece_is_understood() -> None:
    blocks = [thinking("hm", "sig"), text("hello"), tool_use("c1", "f", a=1)]
    whole = Answer(blocks, usage={"input_tokens": 3, "output_tokens": 4}).message({}, 1)
    async with served(Raw(json.dumps(whole).encode(), "application/json")) as (_, model):
        reply = await reply_of(model)
    assert reply.message.blocks == (Thinking("hm", "sig"), Text("hello"), ToolUse("c1", "f", {"a": 1}))
    assert reply.usage == Usage(3, 4)


@pytest.mark.parametrize(
    ("status", "kind", "fault"),
    [
        (400, "invalid_request_error", ModelFault.INVALID),
        (403, "permission_error", ModelFault.AUTH),
        (404, "not_found_error", ModelFault.INVALID),
        (413, "request_too_large", ModelFault.INVALID),
        (422, "invalid_request_error", ModelFault.INVALID),
        (429, "rate_limit_error", ModelFault.RATE_LIMITED),
        (500, "api_error", ModelFault.SERVER),
        (529, "overloaded_error", ModelFault.OVERLOADED),
    ],
)
async def test_a_refused_request_has_its_fault_and_owes_nothing(status: int, kind: str, fault: ModelFault) -> None:
    error = await error_of(Refusal(status, kind, "because", {"request-id": "req_9"}))
    assert (error.fault, error.status, error.usage, error.request_id) == (fault, status, None, "req_9")
    assert "because" in str(error)


async def test_the_sdk_does_not_try_again_by_itself() -> None:
    async with served(Refusal(529), Answer([text("so")])) as (api, model):
        with pytest.raises(ModelError):
            await reply_of(model)
        assert len(api.requests) == 1


async def test_a_wrong_key_names_the_variable_and_is_not_shown() -> None:
    wrong = "sk-ant-this-one-is-wrong"
    error = await error_of(Answer([text("never")]), key=wrong)
    assert error.fault is ModelFault.AUTH
    assert "check ANTHROPIC_API_KEY" in str(error)
    assert wrong not in str(error)


async def test_a_key_that_the_provider_repeats_is_not_shown() -> None:
    assert KEY not in str(await error_of(Refusal(401, "authentication_error", f"no such key: {KEY}")))


async def test_an_empty_account_is_told_as_such() -> None:
    said = "Your credit balance is too low to access the Anthropic API."
    error = await error_of(Refusal(400, "invalid_request_error", said))
    assert error.fault is ModelFault.BILLING
    assert not error.retryable


@pytest.mark.parametrize(("headers", "wait"), [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "120"}, 0.12)])
async def test_the_wait_that_a_provider_asks_for_is_passed_on(headers: dict[str, str], wait: float) -> None:
    assert (await error_of(Refusal(429, "rate_limit_error", "slow down", headers))).retry_after_s == wait


async def test_an_error_page_is_not_shown() -> None:
    page = Raw(b"<html><body>" + b"bad gateway " * 1000, "text/html", 502)
    error = await error_of(page)
    assert error.fault is ModelFault.SERVER
    assert len(str(error)) < 100


@pytest.mark.parametrize("ending", [Ending.NO_STOP, Ending.CUT_JSON, Ending.RESET])
async def test_an_answer_without_its_final_event_is_an_error_with_the_usage_so_far(ending: Ending) -> None:
    cut = Answer([text("partial " * 20)], ending=ending, events_before_ending=6)
    async with served(cut) as (_, model):
        items: list[StreamItem] = []
        with pytest.raises(ModelError) as failed:
            items.extend([item async for item in model.stream(request())])
    assert failed.value.fault is ModelFault.DROPPED
    assert failed.value.usage == SEEN
    assert failed.value.retryable


async def test_an_answer_that_lacks_only_its_final_event_is_still_an_error() -> None:
    error = await error_of(Answer([text("all but the end")], ending=Ending.NO_STOP))
    assert (error.fault, error.usage) == (ModelFault.DROPPED, Usage(10, 5))


STARTED = (
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":'
    b'{"input_tokens":10,"output_tokens":1}}}\n\n'
)


@pytest.mark.parametrize(
    "junk",
    [
        b"event: content_block_delta\ndata: {not json}\n\n",
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":7,"delta":{"type":"text_delta"}}\n\n',
        b"event: content_block_start\ndata: [1, 2]\n\n",
        b'event: message_delta\ndata: {"type":"message_delta","delta":5}\n\n',
        b"event: message_delta\ndata: \xff\xfe\n\n",
        b"event: x\ndata: " + b"[" * 100_000 + b"\n\n",
        b"data: 3\n\n",
    ],
)
async def test_junk_in_an_answer_is_an_error_with_the_usage_so_far(junk: bytes) -> None:
    error = await error_of(Raw(STARTED + junk))
    assert (error.fault, error.usage) == (ModelFault.DROPPED, SEEN)


@pytest.mark.parametrize(
    "nonsense",
    [
        Raw(b""),
        Raw(b"", "application/json"),
        Raw(b"<html>sign in to the hotel's network</html>", "text/html"),
        Raw(b"\x00\x01\x02 no events here", "text/plain"),
        Raw(b'{"hello": "world"}', "application/json"),
        Raw(b'["not", "a", "message"]', "application/json"),
    ],
)
async def test_an_answer_that_is_none_owes_at_least_its_input(nonsense: Raw) -> None:
    error = await error_of(nonsense)
    assert error.fault is ModelFault.DROPPED
    assert error.usage is not None
    assert error.usage.input_tokens > 0


@pytest.mark.parametrize(
    ("kind", "fault"), [("overloaded_error", ModelFault.OVERLOADED), ("api_error", ModelFault.SERVER)]
)
@pytest.mark.parametrize(("before", "usage"), [(STARTED, SEEN), (b"", None)])
async def test_an_error_within_an_answer_keeps_the_usage_so_far(
    kind: str, fault: ModelFault, before: bytes, usage: Usage | None
) -> None:
    event = json.dumps({"type": "error", "error": {"type": kind, "message": "sorry"}}).encode()
    error = await error_of(Raw(before + b"event: error\ndata: " + event + b"\n\n"))
    assert (error.fault, error.usage) == (fault, usage)
    assert "sorry" in str(error)


@pytest.mark.parametrize("reset", [True, False])
async def test_a_connection_that_ends_before_the_answer_owes_the_input(reset: bool) -> None:
    error = await error_of(HangUp(reset=reset))
    assert error.fault is ModelFault.DROPPED
    assert error.usage is not None
    assert error.usage.input_tokens > 0


async def test_a_provider_that_is_down_owes_nothing() -> None:
    async with MessagesApi(in_order(Answer())) as api:
        address = api.base_url
    model = AnthropicModel(KEY, address)
    with pytest.raises(ModelError, match=r"cannot reach 127\.0\.0\.1:\d+") as failed:
        await reply_of(model)
    await model.close()
    assert (failed.value.fault, failed.value.usage) == (ModelFault.CONNECTION, None)
    assert failed.value.retryable


async def test_a_base_url_without_a_scheme_is_not_tried_again() -> None:
    model = AnthropicModel(KEY, "ftp://127.0.0.1")
    with pytest.raises(ModelError, match="must start with http") as failed:
        await reply_of(model)
    await model.close()
    assert not failed.value.retryable


@pytest.mark.parametrize(
    "slow", [HangUp(wait=True), Answer([text("a" * 200)], ending=Ending.HANG), Answer([text("b" * 4000)], pause_s=0.02)]
)
async def test_the_timeout_bounds_the_whole_call(slow: Scripted) -> None:
    async with served(slow) as (api, model):
        with pytest.raises(ModelError, match=r"no answer within 0\.3 s") as failed:
            await reply_of(model, request(timeout_s=0.3))
        await api.until(lambda api: api.abandoned == [1])
    assert failed.value.fault is ModelFault.TIMEOUT
    assert failed.value.usage is not None
    assert failed.value.usage.input_tokens > 0


async def close_it(items: Any, task: "asyncio.Task[None]") -> None:
    await task
    await items.aclose()


async def cancel_it(_: Any, task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("stop", [close_it, cancel_it])
async def test_stopping_ends_the_call_at_once(stop: Callable[[Any, "asyncio.Task[None]"], Awaitable[None]]) -> None:
    async with served(Answer([text("a" * 200)], ending=Ending.HANG)) as (api, model):
        items = cast("Any", model.stream(request()))
        seen = asyncio.Event()

        async def read() -> None:
            await anext(items)
            seen.set()
            if stop is cancel_it:
                async with aclosing(items):
                    async for _ in items:
                        pass

        task = asyncio.create_task(read())
        await seen.wait()
        await stop(items, task)
        async with asyncio.timeout(30):
            await api.until(lambda api: api.abandoned == [1])


async def test_a_reply_does_not_wait_for_a_server_that_keeps_the_line_open() -> None:
    events = b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        for event in Answer([text("so")]).events({}, 1)
    )
    held = Raw(events, headers={"content-length": str(len(events) + 10)})
    async with served(held) as (_, model):
        async with asyncio.timeout(30):
            assert (await reply_of(model)).message.text == "so"


def test_naming_models_does_not_import_a_vendor_sdk() -> None:
    code = (
        "import sys, interlock.llm.providers, interlock.llm.anthropic, interlock.llm.rehearsal;"
        "sys.exit(bool({'anthropic', 'openai', 'httpx2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
