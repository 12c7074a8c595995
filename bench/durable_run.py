"""A durable run (4 model calls, 3 tool calls, SQLite FULL) against langchain's create_agent with its checkpointer.

Both sides answer from a script without latency and keep a full record; rounds alternate, so that the machine's
moods hit both.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.agents.interruption import Interrupt
from interlock.agents.runner import handle
from interlock.app.box import Interlock
from interlock.core.values import SYSTEM
from interlock.llm.messages import Message, ModelRef, ModelRequest, Reply, StopReason, StreamItem, Text, ToolUse, Usage
from interlock.llm.providers import Models, ProviderSettings
from interlock.store import mailbox, squad
from interlock.store.mailbox import Post
from interlock.tools.decorated import tool

NAME = "durable run: 4 model calls, 3 tool calls, SQLite FULL"
CALLS = 3


@tool(risk="GREEN", idempotent=True, outside=False)
async def lookup_order(order_id: str) -> str:
    """Looks up an order."""
    return f"order {order_id}: shipped"


class Scripted:
    """Three calls of a tool, then a word."""

    provider = "anthropic"
    simulated = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """The next reply of the script, told by how many results there are."""
        done = sum(1 for m in request.messages if m.role == "assistant")
        usage = Usage(input_tokens=500, output_tokens=50)
        if done < CALLS:
            block = ToolUse(f"call_{done}", "lookup_order", {"order_id": str(done)})
            yield Reply(Message("assistant", (block,)), StopReason.TOOL_USE, usage, "scripted")
        else:
            yield Reply(Message("assistant", (Text("all shipped"),)), StopReason.END_TURN, usage, "scripted")

    async def close(self) -> None:
        """Nothing to close."""


class OneModel(Models):
    """A pool with one model for every name."""

    def __init__(self) -> None:
        super().__init__({"anthropic": ProviderSettings("no key is needed")})
        self.model = Scripted()

    async def get(self, ref: ModelRef) -> Scripted:
        """The scripted model."""
        return self.model


async def ours(folder: Path, seconds: float, width: int) -> float:
    """Runs a second with the real runner, store and tools."""
    async with Interlock.open(
        cwd=folder, env={}, home=folder / "home", model="anthropic/claude-haiku-5-5", tools=[lookup_order],
        project_day_usd=1e6,
    ) as box:  # fmt: skip
        runtime = replace(box.runtime, models=OneModel())
        agents = [await agent_for(runtime, n) for n in range(width)]
        count = 0

        async def one(agent: Any) -> None:
            nonlocal count
            while time.perf_counter() < until:
                await one_run(runtime, agent, f"{agent.id}:{time.perf_counter_ns()}")
                count += 1

        until = time.perf_counter() + seconds / 4
        await asyncio.gather(*(one(agent) for agent in agents))
        count, begun = 0, time.perf_counter()
        until = begun + seconds
        await asyncio.gather(*(one(agent) for agent in agents))
        return count / (time.perf_counter() - begun)


async def agent_for(runtime: Any, number: int) -> Any:
    """An agent with a mailbox of its own."""
    persona = runtime.personas.personas["research"]
    roomy = persona.model_copy(
        update={
            "tools": ("lookup_order",),
            "budget": persona.budget.model_copy(update={"daily_usd": 1e5, "run_usd": 5.0, "chat_run_usd": 5.0}),
        }
    )
    descriptor = squad.Descriptor("user", "default", "research", {"user": f"bench-{number}"})
    return await runtime.store.write(
        squad.ensure_agent, descriptor, roomy.to_json(), "specialist", runtime.clock.now()
    )  # fmt: skip


async def one_run(runtime: Any, agent: Any, key: str) -> None:
    """Posts a run, claims it and works it to its end."""
    now = runtime.clock.now()
    message = Post(
        project_id="default", agent_id=agent.id, kind="think", payload={"prompt": "where are my orders?"},
        idempotency_key=key, cause_kind="message", cause_id=SYSTEM.id,
    )  # fmt: skip
    await runtime.store.write(mailbox.post, message, now)
    claims = await runtime.store.write(mailbox.claim, "bench", 1, now)
    for claim in claims:
        await handle(runtime, claim, Interrupt())


async def theirs(folder: Path, seconds: float, width: int) -> float:
    """Runs a second with create_agent and AsyncSqliteSaver, durability sync."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    class Fake(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Sequence[Any], **_: Any) -> "Fake":
            return self

        def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
            done = sum(1 for m in messages if isinstance(m, AIMessage))
            if done < CALLS:
                call = {"id": f"call_{done}", "name": "lookup_order", "args": {"order_id": str(done)}}
                message = AIMessage("", tool_calls=[call])
            else:
                message = AIMessage("all shipped")
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
            return self._generate(messages)

    async def order(order_id: str) -> str:
        """Looks up an order."""
        return f"order {order_id}: shipped"

    order.__name__ = "lookup_order"
    async with AsyncSqliteSaver.from_conn_string(str(folder / "theirs.db")) as saver:
        agent: Any = create_agent(Fake(), [order], system_prompt="You help.", checkpointer=saver)
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=FULL")
        count, thread = 0, 0

        async def one() -> None:
            nonlocal count, thread
            while time.perf_counter() < until:
                thread += 1
                config = {"configurable": {"thread_id": str(thread)}}
                question = {"messages": [{"role": "user", "content": "where are my orders?"}]}
                await agent.ainvoke(question, config, durability="sync")
                count += 1

        until = time.perf_counter() + seconds / 4
        await asyncio.gather(*(one() for _ in range(width)))
        count, begun = 0, time.perf_counter()
        until = begun + seconds
        await asyncio.gather(*(one() for _ in range(width)))
        return count / (time.perf_counter() - begun)


def run(quick: bool) -> dict[str, Any]:
    """Runs a second of both, and their ratio, one by one and 16 at once."""
    rounds, seconds = (2, 1.0) if quick else (5, 3.0)
    out: dict[str, Any] = {}
    for width in (1, 16):
        pairs = [(_once(ours, seconds, width), _once(theirs, seconds, width)) for _ in range(rounds)]
        ratios = sorted(a / b for a, b in pairs)
        out[f"interlock_runs_per_s_{width}_at_once"] = round(statistics.median(a for a, _ in pairs), 1)
        out[f"create_agent_runs_per_s_{width}_at_once"] = round(statistics.median(b for _, b in pairs), 1)
        out[f"ratio_{width}_at_once"] = round(statistics.median(ratios), 2)
        out[f"ratio_{width}_at_once_range"] = [round(ratios[0], 2), round(ratios[-1], 2)]
    return out


def _once(side: Callable[[Path, float, int], Any], seconds: float, width: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        result: float = asyncio.run(side(Path(folder), seconds, width))
        return result
