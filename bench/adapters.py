"""The overhead of the model adapters over the bare SDKs: a streamed call of 1,000 deltas, from a server process.

Rounds alternate between the SDK, read to the end, and the adapter on top of it. Times are processor time, because the
server's pace would hide the difference; wall time is reported as well.
"""

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from interlock.llm.messages import Message, ModelRef, ModelRequest, Text
from interlock.llm.providers import ProviderAccess, open_model
from interlock.testing.chat_script import ChatAnswer
from interlock.testing.messages_script import Answer, text

NAME = "adapters over the bare SDKs: milliseconds for a streamed call of 1,000 deltas"
DELTAS = 1_000
WORDS = "word " * DELTAS
GOAL_PERCENT = 10
ASKED = ModelRequest("m", (), (Message("user", (Text("Say a thousand words."),)),))
PROMPT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Say a thousand words."}]}

Call = Callable[[], Awaitable[int]]
Close = Callable[[], Awaitable[None]]


def chat(_: dict[str, Any], __: int) -> ChatAnswer:
    """The response of the chat completions server."""
    return ChatAnswer(WORDS, piece_chars=5)


def messages(_: dict[str, Any], __: int) -> Answer:
    """The response of the Messages API server."""
    return Answer([text(WORDS)], piece_chars=5)


def run(quick: bool) -> dict[str, Any]:
    """For each adapter, both medians, and the overhead in percent of the SDK's time."""
    rounds = 12 if quick else 60
    return {
        "deltas": DELTAS,
        "rounds": rounds,
        "goal_percent": GOAL_PERCENT,
        "openai": _measured("chat_api", "chat", rounds, _openai),
        "anthropic": _measured("messages_api", "messages", rounds, _anthropic),
    }


def _measured(
    server: str, script: str, rounds: int, calls_of: Callable[[str], tuple[Call, Call, Close]]
) -> dict[str, float]:
    async def measure(base_url: str) -> dict[str, float]:
        sdk, adapter, close = calls_of(base_url)
        times: dict[str, list[tuple[float, float]]] = {"sdk": [], "adapter": []}
        for number in range(rounds + 2):
            for name, call in (("sdk", sdk), ("adapter", adapter)):
                taken = await _timed(call)
                if number >= 2:
                    times[name].append(taken)
        await close()
        cpu = {name: statistics.median(cpu for cpu, _ in taken) for name, taken in times.items()}
        wall = {name: statistics.median(wall for _, wall in taken) for name, taken in times.items()}
        return {
            "sdk_ms": round(cpu["sdk"], 2),
            "adapter_ms": round(cpu["adapter"], 2),
            "added_percent": round(100 * (cpu["adapter"] / cpu["sdk"] - 1), 1),
            "sdk_wall_ms": round(wall["sdk"], 2),
            "adapter_wall_ms": round(wall["adapter"], 2),
        }

    with _served(server, script) as base_url:
        return asyncio.run(measure(base_url))


async def _timed(call: Call) -> tuple[float, float]:
    gc.collect()
    cpu, begun = time.process_time(), time.perf_counter()
    count = await call()
    taken = 1_000 * (time.process_time() - cpu), 1_000 * (time.perf_counter() - begun)
    if count < DELTAS:
        raise RuntimeError(f"only {count} of {DELTAS} deltas came")
    return taken


def _openai(base_url: str) -> tuple[Call, Call, Close]:
    import openai

    client = openai.AsyncOpenAI(api_key="sk-bench-key", base_url=base_url, max_retries=0)
    model = open_model(ModelRef("openai", "m"), ProviderAccess("sk-bench-key", base_url))

    async def sdk() -> int:
        stream = await client.chat.completions.create(
            **PROMPT, max_completion_tokens=4096, stream=True, stream_options={"include_usage": True}
        )
        return len([chunk async for chunk in stream])

    async def adapter() -> int:
        return len([item async for item in model.stream(ASKED)])

    async def close() -> None:
        await client.close()
        await model.close()

    return sdk, adapter, close


def _anthropic(base_url: str) -> tuple[Call, Call, Close]:
    import anthropic

    client = anthropic.AsyncAnthropic(api_key="sk-bench-key", base_url=base_url, max_retries=0)
    model = open_model(ModelRef("anthropic", "m"), ProviderAccess("sk-bench-key", base_url))

    async def sdk() -> int:
        stream = await client.messages.create(**PROMPT, max_tokens=4096, stream=True)
        return len([event async for event in stream])

    async def adapter() -> int:
        return len([item async for item in model.stream(ASKED)])

    async def close() -> None:
        await client.close()
        await model.close()

    return sdk, adapter, close


@contextmanager
def _served(server: str, script: str) -> Iterator[str]:
    command = [sys.executable, "-m", f"interlock.testing.{server}", "--script", f"bench.adapters:{script}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().removeprefix("listening on ")
        finally:
            process.kill()
