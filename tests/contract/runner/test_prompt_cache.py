"""How much of each prompt a provider reads from its cache, by a server that keeps prefixes as Anthropic's does."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.llm.anthropic import AnthropicModel
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, text, tool_use
from interlock.testing.prompt_cache import PromptCache, TooManyMarks, prompt_tokens
from interlock.testing.runtime import OneModel
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, staged

Blocks = Sequence[dict[str, Any]]


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what}"


@asynccontextmanager
async def cached(
    store: CountingStore, home: Path, *answers: Blocks
) -> AsyncIterator[tuple[Stage, list[dict[str, int]]]]:  # fmt: skip
    """A stage whose model is behind a server with a cache, and the usage of each call."""
    cache, seen = PromptCache(), list[dict[str, int]]()

    def script(body: dict[str, Any], number: int) -> Answer:
        seen.append(cache.usage(body))
        return Answer(answers[number - 1], usage=seen[-1])

    async with MessagesApi(script) as api:
        model = AnthropicModel("key", api.base_url)
        stage = await staged(store, home, ScriptedModel(), [look])
        stage.runtime = replace(stage.runtime, models=OneModel(model))
        yield stage, seen
        await model.close()


def looks(*names: str) -> list[dict[str, Any]]:
    """Calls of one turn."""
    return [tool_use(f"toolu_{name}", "look", what=name) for name in names]


def share(seen: list[dict[str, int]], call: int) -> float:
    """How much of the prompt before it a call has read from the cache."""
    return seen[call]["cache_read_input_tokens"] / prompt_tokens(seen[call - 1])


async def test_each_call_of_a_run_reads_the_previous_prompt_from_the_cache(
    store: CountingStore, tmp_path: Path
) -> None:
    many = [f"n{n}" for n in range(40)]
    async with cached(store, tmp_path, looks("a"), looks("b", "c"), looks(*many), looks("d"), [text("done")]) as (
        stage, seen,
    ):  # fmt: skip
        run = await stage.think("look at all of it")
        await stage.work()
        assert await stage.ended(run) == ("completed", "end_turn")
    assert [share(seen, call) for call in (1, 2, 3, 4)] == [1.0] * 4, "also after a turn of eighty blocks"
    row = await stage.run(run)
    assert row.token_usage["cache_read_tokens"] == sum(usage["cache_read_input_tokens"] for usage in seen)


async def test_first_call_of_the_next_run_reads_the_tools_and_the_stable_prompt(
    store: CountingStore, tmp_path: Path
) -> None:
    async with cached(store, tmp_path, [text("hello")], looks("a"), [text("fine")]) as (stage, seen):
        await stage.chat("hello")
        await stage.work()
        stage.clock.advance(120)
        await stage.chat("look at this")
        await stage.work()
    assert seen[0]["cache_read_input_tokens"] == 0
    assert share(seen, 1) > 0.9, "but for the time and what was said"
    assert share(seen, 2) == 1.0


async def test_prompt_of_any_provider_begins_as_the_one_before_did(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel([calls("look", what="a"), calls("look", what="b")], calls("look", what="c"), "done")
    stage = await staged(store, tmp_path, model, [look])
    await stage.think("look")
    await stage.work()
    assert len(model.requests) == 3
    for before, after in zip(model.requests, model.requests[1:], strict=False):
        assert (before.system, before.tools) == (after.system, after.tools)
        assert before.messages == after.messages[: len(before.messages)]
        stable = [part.stable for part in after.system]
        assert stable == sorted(stable, reverse=True)


def body(*blocks: str, marks: Sequence[int] = ()) -> dict[str, Any]:
    """A request of blocks of some hundred tokens, of which some are marked."""
    content = [text(word * 1_600) for word in blocks]
    for at in marks:
        content[at]["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "messages": [{"role": "user", "content": content}]}


def test_the_cache_of_the_server_is_that_of_the_api() -> None:
    cache = PromptCache(least=1_000)
    assert cache.usage(body(*"ab", marks=[1]))["cache_creation_input_tokens"] == 0, "too short"
    assert cache.usage(body(*"abc", marks=[2]))["cache_creation_input_tokens"] > 1_000
    assert cache.usage(body(*"abcd"))["cache_read_input_tokens"] == 0, "without a mark nothing is looked for"
    assert cache.usage(body(*"abcd", marks=[3]))["cache_read_input_tokens"] > 1_000
    assert cache.usage(body(*"xbcd", marks=[3]))["cache_read_input_tokens"] == 0
    near, far = "abc" + "n" * 19, "abc" + "f" * 20
    assert PromptCache(1_000, set(cache.kept)).usage(body(*near, marks=[21]))["cache_read_input_tokens"] > 0
    assert PromptCache(1_000, set(cache.kept)).usage(body(*far, marks=[22]))["cache_read_input_tokens"] == 0
    with pytest.raises(TooManyMarks):
        cache.usage(body(*"abcde", marks=[0, 1, 2, 3, 4]))
