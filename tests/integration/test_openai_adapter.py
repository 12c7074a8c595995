"""The adapter of chat completions through the real SDK, against a server that speaks them, in good and bad weather."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import pytest

from interlock.llm.messages import (
    Delta,
    Message,
    Model,
    ModelError,
    ModelFault,
    ModelRef,
    ModelRequest,
    Reply,
    StopReason,
    SystemPart,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)
from interlock.llm.openai_compatible import OpenAICompatibleModel
from interlock.llm.providers import ProviderAccess, open_model
from interlock.testing.chat_api import ChatApi
from interlock.testing.chat_script import ChatAnswer, ChatScript, ChatScripted, call, chunk, in_order, line, stream
from interlock.testing.messages_script import Ending, HangUp, Raw, Refusal

KEY = "sk-proj-do-not-show-this"
HELLO = (Message("user", (Text("hello"),)),)


def request(messages: tuple[Message, ...] = HELLO, **rest: Any) -> ModelRequest:
    return ModelRequest("m", messages=messages, **{"system": (), "timeout_s": 20.0, **rest})


@asynccontextmanager
async def served(
    *answers: ChatScripted, script: ChatScript | None = None, key: str = KEY, provider: str = "openai"
) -> AsyncIterator[tuple[ChatApi, Model]]:
    async with ChatApi(script or in_order(*answers), api_key=KEY) as api:
        model = open_model(ModelRef(provider, "m"), ProviderAccess(key, api.base_url))
        try:
            yield api, model
        finally:
            await model.close()


async def reply_of(model: Model, asked: ModelRequest | None = None) -> Reply:
    items = [item async for item in model.stream(asked or request())]
    assert all(isinstance(item, Delta) for item in items[:-1])
    assert isinstance(items[-1], Reply)
    return items[-1]


async def answered(*answers: ChatScripted, provider: str = "openai") -> Reply:
    async with served(*answers, provider=provider) as (_, model):
        return await reply_of(model)


async def error_of(*answers: ChatScripted, asked: ModelRequest | None = None, key: str = KEY) -> ModelError:
    async with served(*answers, key=key) as (_, model):
        with pytest.raises(ModelError) as failed:
            await reply_of(model, asked)
    return failed.value


async def test_a_turn_with_reasoning_and_parallel_calls_comes_whole() -> None:
    answer = ChatAnswer(
        "Looking. " * 9,
        [call("c1", "f", a=1), call("c2", "g")],
        reasoning="let me see",
        usage={"prompt_tokens": 12, "completion_tokens": 34, "prompt_tokens_details": {"cached_tokens": 5}},
        model="m-2026",
    )
    async with served(answer) as (_, model):
        items = [item async for item in model.stream(request())]
    reply = items[-1]
    assert isinstance(reply, Reply)
    thought, _, text, first, second = reply.message.blocks
    assert (thought, text) == (Thinking("let me see"), Text("Looking. " * 9))
    assert (first, second) == (ToolUse("c1", "f", {"a": 1}), ToolUse("c2", "g", {}))
    assert (reply.stop_reason, reply.model, reply.request_id) == (StopReason.TOOL_USE, "m-2026", "req_1")
    assert reply.usage == Usage(7, 34, cache_read_tokens=5)
    shown = [item for item in items if isinstance(item, Delta)]
    assert "".join(item.text for item in shown if item.kind == "text") == "Looking. " * 9
    assert "".join(item.text for item in shown if item.kind == "thinking") == "let me see"
    assert [item.text for item in shown if item.kind == "tool"] == ["f", "g"]


async def test_the_request_carries_prompt_tools_and_key_and_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-openai")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-openai")
    asked = request(
        system=(SystemPart("identity", "you are"), SystemPart("date", "today", stable=False)),
        tools=(ToolSpec("f", "does", {"type": "object"}),),
        temperature=0.5,
    )
    async with served(ChatAnswer("so"), provider="together") as (api, model):
        await reply_of(model, asked)
    sent = api.requests[0]
    function = {"name": "f", "description": "does", "parameters": {"type": "object", "properties": {}}}
    assert sent.body == {
        "model": "m",
        "max_tokens": 4096,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "tools": [{"type": "function", "function": function}],
        "messages": [{"role": "system", "content": "you are\n\ntoday"}, {"role": "user", "content": "hello"}],
    }
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert not {"openai-organization", "openai-project"} & set(sent.headers)


async def test_headers_of_the_settings_go_with_every_call() -> None:
    async with ChatApi(in_order(ChatAnswer("so"))) as api:
        model = open_model(ModelRef("in-house", "m"), ProviderAccess(None, api.base_url, headers={"X-Tenant": "seven"}))
        await reply_of(model)
        await model.close()
    assert api.requests[0].headers["x-tenant"] == "seven"
    assert api.requests[0].headers["authorization"] == "Bearer local"


async def test_a_conversation_goes_back_as_it_came() -> None:
    details = [{"type": "reasoning.encrypted", "data": "enc", "id": "r1", "index": 0}]
    first = ChatAnswer("Looking.", [call("c1", "f", a=1)], extra={"reasoning_details": details})
    async with served(first, ChatAnswer("done"), provider="openrouter") as (api, model):
        reply = await reply_of(model)
        await reply_of(model, request((*HELLO, reply.message, Message("user", (ToolResult("c1", "ok"),)))))
    assert api.requests[1].body["messages"][1] == {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [call("c1", "f", a=1)],
        "reasoning_details": details,
    }


@pytest.mark.parametrize("place", ["own", "last", "each"])
async def test_usage_is_booked_wherever_it_comes(place: Any) -> None:
    reply = await answered(ChatAnswer("so", usage_in=place))
    assert (reply.usage, reply.is_estimated) == (Usage(10, 5), False)


async def test_an_answer_without_usage_is_booked_by_estimate() -> None:
    reply = await answered(ChatAnswer("so " * 50, usage=None))
    assert reply.is_estimated
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 20


@pytest.mark.parametrize("done", [True, False])
async def test_an_answer_in_one_piece_and_one_without_a_last_line_are_understood(done: bool) -> None:
    answer = ChatAnswer("hello", [call("c1", "f", a=1)], reasoning="hm", done=done)
    whole = Raw(json.dumps(answer.completion({}, 1)).encode(), "application/json")
    for given in (answer, whole):
        reply = await answered(given)
        assert (reply.message.text, reply.message.tool_uses) == ("hello", (ToolUse("c1", "f", {"a": 1}),))
        assert reply.usage == Usage(10, 5)


async def test_calls_one_after_the_other_share_a_connection() -> None:
    async with served(ChatAnswer("so")) as (api, model):
        for _ in range(3):
            await reply_of(model)
        assert api.connection_count == 1


async def test_many_calls_at_once_do_not_mix() -> None:
    def echo(body: dict[str, Any], _: int) -> ChatScripted:
        return ChatAnswer(body["messages"][0]["content"] * 50)

    async with served(script=echo) as (_, model):
        words = [f"word{i} " for i in range(40)]
        asked = [request((Message("user", (Text(word),)),)) for word in words]
        replies = await asyncio.gather(*(reply_of(model, each) for each in asked))
    assert [reply.message.text for reply in replies] == [word * 50 for word in words]


@pytest.mark.parametrize(
    ("status", "kind", "fault"),
    [
        (400, "invalid_request_error", ModelFault.INVALID),
        (403, "permission_error", ModelFault.AUTH),
        (404, "model_not_found", ModelFault.INVALID),
        (422, "invalid_request_error", ModelFault.INVALID),
        (429, "requests", ModelFault.RATE_LIMITED),
        (429, "insufficient_quota", ModelFault.BILLING),
        (402, "billing", ModelFault.BILLING),
        (500, "server_error", ModelFault.SERVER),
        (503, "overloaded", ModelFault.OVERLOADED),
    ],
)
async def test_a_refused_request_has_its_fault_and_owes_nothing(status: int, kind: str, fault: ModelFault) -> None:
    error = await error_of(Refusal(status, kind, "because", {"x-request-id": "req_9", "retry-after": "7"}))
    assert (error.fault, error.status, error.usage, error.request_id) == (fault, status, None, "req_9")
    assert "because" in str(error)
    assert error.retry_after_s == 7.0


async def test_the_sdk_does_not_try_again_by_itself() -> None:
    async with served(Refusal(503), ChatAnswer("so")) as (api, model):
        with pytest.raises(ModelError):
            await reply_of(model)
        assert len(api.requests) == 1


async def test_a_wrong_key_names_the_variable_and_is_not_shown() -> None:
    wrong = "sk-proj-this-one-is-wrong"
    error = await error_of(ChatAnswer("never"), key=wrong)
    assert error.fault is ModelFault.AUTH
    assert "check OPENAI_API_KEY" in str(error)
    assert wrong not in str(error)
    assert KEY not in str(await error_of(Refusal(401, "invalid_api_key", f"no such key: {KEY}")))


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": "model is loading", "estimated_time": 20}',
        b'[{"error": {"code": 400, "message": "model is loading", "status": "INVALID_ARGUMENT"}}]',
        b'{"object": "error", "message": "model is loading", "code": 40303}',
        b'{"detail": [{"loc": ["body", "x"], "msg": "model is loading"}]}',
        b'{"error": {"message": "Provider error", "metadata": {"raw": "{\\"error\\": \\"model is loading\\"}"}}}',
        b"model is loading",
    ],
)
async def test_every_shape_of_an_error_is_read(body: bytes) -> None:
    assert "model is loading" in str(await error_of(Raw(body, "application/json", 400)))


@pytest.mark.parametrize("ending", [Ending.NO_STOP, Ending.CUT_JSON, Ending.RESET])
@pytest.mark.parametrize("sent", [0, 1, 4])
async def test_an_answer_that_stops_on_its_way_is_an_error_that_books_what_came(ending: Ending, sent: int) -> None:
    error = await error_of(ChatAnswer("partial " * 20, ending=ending, events_before_ending=sent))
    assert error.fault is ModelFault.DROPPED
    assert error.usage is not None
    assert error.usage.input_tokens > 0
    assert (error.usage.output_tokens > 0) is (sent > 1)
    assert error.retryable


STARTED = line(chunk({"content": "so far"}))


@pytest.mark.parametrize(
    "junk",
    [
        b"data: {not json}\n\n",
        b'data: {"choices": [5]}\n\n',
        b'data: {"choices": {"a": 1}}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": [1]}}]}\n\n',
        b"data: \xff\xfe\n\n",
        b"data: 3\n\n",
        b"<html><body>bad gateway</body></html>\n",
    ],
)
async def test_junk_in_an_answer_is_an_error(junk: bytes) -> None:
    error = await error_of(Raw(STARTED + junk))
    assert error.fault is ModelFault.DROPPED
    assert error.usage is not None
    assert error.usage.output_tokens > 0


@pytest.mark.parametrize(
    "nonsense",
    [
        Raw(b""),
        Raw(b"", "application/json"),
        Raw(b"data: [DONE]\n\n"),
        Raw(b"<html>sign in to the hotel's network</html>", "text/html"),
        Raw(b"  <!doctype html>", "application/json"),
        Raw(b'{"hello": "world"}', "application/json"),
        Raw(b'{"choices": []}', "application/json"),
        Raw(b'["not", "an", "answer"]', "application/json"),
        Raw(b'{"choices": [{"message"', "application/json"),
        HangUp(),
        HangUp(reset=False),
    ],
)
async def test_an_answer_that_is_none_owes_at_least_its_input(nonsense: ChatScripted) -> None:
    error = await error_of(nonsense)
    assert error.fault is ModelFault.DROPPED
    assert error.usage is not None
    assert error.usage.input_tokens > 0


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ({"message": "sorry", "code": 502}, ModelFault.SERVER),
        ({"message": "sorry", "code": "429"}, ModelFault.RATE_LIMITED),
        ({"message": "sorry", "type": "overloaded_error"}, ModelFault.OVERLOADED),
        ({"message": "sorry", "status": "RESOURCE_EXHAUSTED"}, ModelFault.RATE_LIMITED),
        ({"message": "sorry", "type": "invalid_request_error", "code": "tool_use_failed"}, ModelFault.SERVER),
        ("sorry", ModelFault.SERVER),
    ],
)
async def test_an_error_with_status_200_is_told_as_one(told: Any, fault: ModelFault) -> None:
    body = {"error": told}
    in_the_middle = Raw(STARTED + line(body))
    named = Raw(STARTED + b"event: error\n" + line(body))
    for answer in (in_the_middle, named, stream(body), Raw(json.dumps(body).encode(), "application/json")):
        error = await error_of(answer)
        assert error.fault is fault
        assert "sorry" in str(error)
        assert (error.usage is not None) is (answer in (in_the_middle, named))


async def test_a_provider_that_is_down_owes_nothing() -> None:
    async with ChatApi(in_order(ChatAnswer())) as api:
        address = api.base_url
    model = OpenAICompatibleModel(KEY, address)
    with pytest.raises(ModelError, match=r"cannot reach 127\.0\.0\.1:\d+") as failed:
        await reply_of(model)
    await model.close()
    assert (failed.value.fault, failed.value.usage) == (ModelFault.CONNECTION, None)


@pytest.mark.parametrize("slow", [HangUp(wait=True), ChatAnswer("a" * 200, ending=Ending.HANG)])
async def test_the_timeout_bounds_the_whole_call(slow: ChatScripted) -> None:
    async with served(slow) as (api, model):
        with pytest.raises(ModelError, match=r"no answer within 0\.3 s") as failed:
            await reply_of(model, request(timeout_s=0.3))
        await api.until(lambda api: api.abandoned == [1])
    assert failed.value.fault is ModelFault.TIMEOUT
    assert failed.value.usage is not None


@pytest.mark.parametrize("cancel", [True, False])
async def test_stopping_ends_the_call_at_once(cancel: bool) -> None:
    async with served(ChatAnswer("a" * 200, ending=Ending.HANG)) as (api, model):
        items = cast("Any", model.stream(request()))
        seen = asyncio.Event()

        async def read() -> None:
            async with aclosing(items):
                async for _ in items:
                    seen.set()
                    if not cancel:
                        return

        task = asyncio.create_task(read())
        await seen.wait()
        if cancel:
            task.cancel()
        await asyncio.wait([task])
        async with asyncio.timeout(30):
            await api.until(lambda api: api.abandoned == [1])


async def test_a_reply_does_not_wait_for_a_server_that_keeps_the_line_open() -> None:
    events = b"".join([STARTED, line(chunk({}, "stop")), line("[DONE]")])
    held = Raw(events, headers={"content-length": str(len(events) + 10)})
    async with served(held) as (_, model):
        async with asyncio.timeout(30):
            assert (await reply_of(model)).message.text == "so far"


async def test_what_follows_the_end_changes_nothing() -> None:
    late = [line({"error": {"message": "too late"}}), line(chunk({"content": "more"})), b"data: {junk\n\n"]
    body = b"".join([STARTED, line(chunk({}, "stop")), line("[DONE]"), *late])
    assert (await answered(Raw(body))).message.text == "so far"


def test_importing_providers_loads_no_sdk() -> None:
    look = "import sys, interlock.llm.providers; print({'openai', 'anthropic', 'httpx2'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == "set()"
