"""The share of an agent's prompts that is read from a provider's cache, and what that saves.

The agent is a real one, with the real SDK; the server caches prefixes as Anthropic's does.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.core.ids import new_id
from interlock.llm.anthropic import AnthropicModel
from interlock.llm.messages import ModelRef, Usage
from interlock.llm.prices import PriceTable
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, text, tool_use
from interlock.testing.prompt_cache import PromptCache, prompt_tokens
from interlock.testing.runtime import MODEL, OneModel, open_runtime
from interlock.testing.scripted import ScriptedModel
from interlock.tools.registry import tool

NAME = "prompt cache: the share of a prompt that the next call reads from the cache"
TARGET = 0.9
"""Of the previous call's prompt, for the second call of a run."""
PERSONA = "operations"


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what} " * 100


def run(quick: bool) -> dict[str, Any]:
    """Two runs of one agent: some turns with a call each, and one with forty calls at once."""
    seen = asyncio.run(_seen(turns=4 if quick else 9))
    first = next(n for n, usage in enumerate(seen) if n and usage["messages"] == 1)
    shares = [_share(seen, n) for n in range(1, len(seen)) if n != first]
    paid, uncached = _paid(seen, cached=True), _paid(seen, cached=False)
    return {
        "second call of a run": round(shares[0], 4),
        "least of all calls within a run": round(min(shares), 4),
        "first call of the next run, of the first call's prompt": round(
            seen[first]["cache_read_input_tokens"] / prompt_tokens(seen[0]), 4
        ),
        "target": TARGET,
        "calls": len(seen),
        "prompt tokens of the first call": prompt_tokens(seen[0]),
        "input paid for, of what it would cost without the cache": round(paid / uncached, 3),
    }


def _share(seen: list[dict[str, int]], call: int) -> float:
    return seen[call]["cache_read_input_tokens"] / prompt_tokens(seen[call - 1])


def _paid(seen: list[dict[str, int]], *, cached: bool) -> int:
    prices, ref = PriceTable.load(), ModelRef.parse(MODEL)
    used = [
        Usage(
            u["input_tokens"], 0, cache_read_tokens=u["cache_read_input_tokens"],
            cache_write_5m_tokens=u["cache_creation_input_tokens"],
        )
        for u in seen
    ]  # fmt: skip
    return sum(prices.cost(ref, u if cached else Usage(u.prompt_tokens)).microusd for u in used)


async def _seen(turns: int) -> list[dict[str, int]]:
    """The usage of each call of two runs, with the number of messages in its prompt."""
    cache, seen, answers = PromptCache(), list[dict[str, int]](), _answers(turns)

    def script(body: dict[str, Any], _: int) -> Answer:
        usage = cache.usage(body)
        seen.append({**usage, "messages": len(body["messages"])})
        return Answer(next(answers), usage=usage)

    with tempfile.TemporaryDirectory() as home:
        async with MessagesApi(script) as api, open_runtime(Path(home), ScriptedModel(), tools=[look]) as opened:
            model = AnthropicModel("key", api.base_url)
            runtime = replace(opened, models=OneModel(model))
            persona = {**runtime.personas.personas[PERSONA].to_json(), "limits": {"max_turns": 50}}
            persona["tools"] = [*persona["tools"], "look"]
            for _ in range(2):
                await runtime.store.write(_post, persona, runtime.clock.now())
                (claim,) = await runtime.store.write(mailbox.claim, "bench", 1, runtime.clock.now())
                await runner.handle(runtime, claim, Interrupt())
            await model.close()
    return seen


def _answers(turns: int) -> Iterator[list[dict[str, Any]]]:
    for number in (1, 2):
        for turn in range(turns):
            many = 40 if turn == turns - 2 else 1
            yield [tool_use(f"toolu_{number}_{turn}_{n}", "look", what=f"{turn}.{n}") for n in range(many)]
        yield [text("done")]


def _post(tx: Tx, persona: dict[str, Any], now: Any) -> None:
    agent = squad.ensure_agent(tx, Descriptor("think", "default", PERSONA, {}), persona, persona["trust"], now)
    message = Post(
        project_id="default", agent_id=agent.id, kind="think", payload={"purpose": "plan", "prompt": "look at it"},
        idempotency_key=new_id("key"), cause_kind="message",
    )  # fmt: skip
    mailbox.post(tx, message, now)
