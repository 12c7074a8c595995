"""The local server of chat completions that users test with, through the vendor's own SDK."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest

from interlock.testing.chat_api import ChatApi
from interlock.testing.chat_script import ChatAnswer, ChatScripted, call, chunk, in_order, stream
from interlock.testing.messages_script import Ending, Raw, Refusal

ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@asynccontextmanager
async def served(*answers: ChatScripted) -> AsyncIterator[tuple[ChatApi, openai.AsyncOpenAI]]:
    async with ChatApi(in_order(*answers), api_key="sk-right") as api:
        client = openai.AsyncOpenAI(api_key="sk-right", base_url=api.base_url, max_retries=0)
        try:
            yield api, client
        finally:
            await client.close()


async def streamed(client: openai.AsyncOpenAI) -> list[Any]:
    return [chunk async for chunk in await client.chat.completions.create(**ASKED, stream=True)]


async def test_an_answer_is_told_in_chunks_or_in_one_piece() -> None:
    answer = ChatAnswer("Looking. " * 9, [call("c1", "f", a=1), call("c2", "g")], reasoning="hm " * 9)
    async with served(answer) as (_, client):
        whole = await client.chat.completions.create(**ASKED)
        chunks = await streamed(client)
    (choice,) = whole.choices
    assert (choice.message.content, choice.finish_reason) == ("Looking. " * 9, "tool_calls")
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "Looking. " * 9
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "hm " * 9
    pieces = [piece for delta in deltas for piece in delta.tool_calls or ()]
    assert {piece.id for piece in pieces} == {"c1", "c2", None}
    assert json.loads("".join(piece.function.arguments for piece in pieces if piece.index == 0)) == {"a": 1}
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == [15]


@pytest.mark.parametrize("place", ["own", "last", "each"])
async def test_usage_comes_where_the_script_puts_it(place: Any) -> None:
    async with served(ChatAnswer("so", usage_in=place)) as (_, client):
        chunks = await streamed(client)
    told = [chunk.usage is not None for chunk in chunks]
    assert told == {"own": [False] * 3 + [True], "last": [False, False, True], "each": [True] * 3}[place]


async def test_a_wrong_key_and_a_scripted_refusal_are_the_sdks_own_errors() -> None:
    async with served(Refusal(429, "rate_limit_exceeded", "slow down", {"retry-after": "7"})) as (api, client):
        with pytest.raises(openai.RateLimitError, match="slow down"):
            await streamed(client)
        with pytest.raises(openai.AuthenticationError):
            await streamed(client.with_options(api_key="sk-wrong"))
        assert [request.body["stream"] for request in api.requests] == [True, True]


async def test_a_stream_can_break_and_say_anything() -> None:
    cut = ChatAnswer("partial " * 20, ending=Ending.RESET, events_before_ending=3)
    said = stream(chunk({"content": "a"}), {"error": {"message": "overloaded"}})
    async with served(cut, said, Raw(b"<html>", "text/html")) as (_, client):
        with pytest.raises((openai.APIConnectionError, openai.APIError)):
            await streamed(client)
        with pytest.raises(openai.APIError, match="overloaded"):
            await streamed(client)
        assert await streamed(client) == []
