"""The scripted job in Interlock, on a user's path: posted to mailboxes, claimed by the worker, executed to the end.

With mailbox, policy, ledger, journal and full trace. `python -m bench.durable_job` works like a peer's script.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench.peers.driver import ANSWER, QUESTION, TOOL_CALLS, Counts, NotTheJob, Run, main
from interlock.agents.running.interruption import Interrupt
from interlock.agents.running.runner import handle
from interlock.app import garbage
from interlock.app.box import Interlock
from interlock.core.telemetry import Silent, Span
from interlock.core.values import SYSTEM
from interlock.llm.messages import Message, ModelRef, ModelRequest, Reply, StopReason, StreamItem, Text, ToolUse, Usage
from interlock.llm.providers import Models, ProviderAccess
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.schema import Run as RunRow
from interlock.store.schema import table
from interlock.store.tx import Tx
from interlock.tools.decorated import tool

COUNTS = Counts()
MODEL = "anthropic/claude-haiku-5-5"
LOOK_S = 0.1
_RUNS = table(RunRow)
_STATES = (
    sa.select(_RUNS.c.status, _RUNS.c.result, sa.func.count().label("count"))
    .group_by(_RUNS.c.status, _RUNS.c.result)
)  # fmt: skip


@tool(risk="GREEN", read_only=True, outside=False)
async def lookup_order(order_id: str) -> str:
    """Looks up an order."""
    return COUNTS.order(order_id)


class Scripted:
    """Three tool calls, then a text."""

    provider = "anthropic"
    simulated = False
    talks = False
    """Whether it answers without calling the tool."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """The next reply of the script, selected by the number of replies since the last question."""
        COUNTS.model += 1
        done = TOOL_CALLS if self.talks else replies_since_question(request)
        usage = Usage(input_tokens=500, output_tokens=50)
        if done < TOOL_CALLS:
            block = ToolUse(f"call_{done}", "lookup_order", {"order_id": str(done)})
            yield Reply(Message("assistant", (block,)), StopReason.TOOL_USE, usage, "scripted")
        else:
            yield Reply(Message("assistant", (Text(ANSWER),)), StopReason.END_TURN, usage, "scripted")

    async def close(self) -> None:
        """Nothing to close."""


def replies_since_question(request: ModelRequest) -> int:
    """How many replies follow the last message of a person."""
    count = 0
    for message in reversed(request.messages):
        if message.role == "assistant":
            count += 1
        elif any(isinstance(block, Text) for block in message.blocks):
            break
    return count


class OneModel(Models):
    """A pool with one model for every name."""

    def __init__(self) -> None:
        super().__init__({"anthropic": ProviderAccess("no key is needed")})
        self.model = Scripted()

    async def get(self, ref: ModelRef) -> Scripted:
        """The scripted model."""
        return self.model


class Ends(Silent):
    """Signals waiters when the worker has finished a run, after the transaction that ended it."""

    def __init__(self) -> None:
        self.waiting: dict[str, asyncio.Event] = {}

    @contextlib.contextmanager
    def run(self, row: Any, /) -> Iterator[Span]:  # type: ignore[override]
        """Wraps the execution of a run."""
        with super().run(row) as span:
            yield span
        if row.id in self.waiting:
            self.waiting.pop(row.id).set()

    async def of(self, run_id: str) -> None:
        """Returns when the run has been executed."""
        await self.waiting.setdefault(run_id, asyncio.Event()).wait()


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


def post_to(agent: Any, key: str, kind: str = "think") -> Post:
    """A run that asks the question of the job."""
    payload = {"text": QUESTION} if kind == "chat" else {"prompt": QUESTION}
    return Post(
        project_id="default", agent_id=agent.id, kind=kind, payload=payload, idempotency_key=key, cause_kind="message",
        cause_id=SYSTEM.id,
    )  # fmt: skip


async def one_run(runtime: Any, agent: Any, key: str, kind: str = "think") -> None:
    """Posts a run, claims it and executes it to the end, in one task."""
    now = runtime.clock.now()
    await runtime.store.write(mailbox.post, post_to(agent, key, kind), now)
    for claim in await runtime.store.write(mailbox.claim, "bench", 1, now):
        await handle(runtime, claim, Interrupt())


@contextlib.asynccontextmanager
async def opened(database: str, width: int) -> AsyncIterator[Interlock]:
    """A box over a database, with the scripted model, in a process that manages garbage as a worker does."""
    garbage.spare_loaded()
    with tempfile.TemporaryDirectory() as folder:
        async with Interlock.open(
            cwd=Path(folder), env={}, home=Path(folder) / "home", database_url=database, model=MODEL,
            tools=[lookup_order], project_day_usd=1e6, concurrency=width,
        ) as box:  # fmt: skip
            box.runtime = replace(box.runtime, models=OneModel())
            tidying = asyncio.create_task(garbage.collect(lambda: not box.in_hand))
            yield box
            tidying.cancel()


def proved(tx: Tx, runs: int) -> None:
    """Checks in the database that this many runs have ended as they should.

    Raises NotTheJob.
    """
    found = [(row.status, row.result, row.count) for row in tx.rows(_STATES, {})]
    if found != [("completed", ANSWER, runs)]:
        raise NotTheJob(f"{runs} runs were posted, and on record are {found}")


@contextlib.asynccontextmanager
async def worker(database: str, width: int, counts: Counts) -> AsyncIterator[Run]:
    """Runs are posted, and executed by the worker of this process."""
    global COUNTS
    COUNTS, posted = counts, 0
    async with opened(database, width) as box:
        runtime, ends = box.runtime, Ends()
        runtime.store.telemetry = ends
        agents = [await agent_for(runtime, n) for n in range(width)]
        free = list(agents)
        await box.start()

        async def run(number: int) -> str:
            nonlocal posted
            agent = free.pop()
            message = post_to(agent, str(number))
            ended = asyncio.create_task(ends.of(message.run_id))
            await asyncio.sleep(0)
            await runtime.store.write(mailbox.post, message, runtime.clock.now())
            await ended
            posted += 1
            free.append(agent)
            return ANSWER

        yield run
        await runtime.store.read(proved, posted)


@contextlib.asynccontextmanager
async def direct(database: str, width: int, counts: Counts) -> AsyncIterator[Run]:
    """Each task posts, claims and executes by itself, without the worker's loop."""
    global COUNTS
    COUNTS, posted = counts, 0
    async with opened(database, width) as box:
        runtime = box.runtime
        free = [await agent_for(runtime, n) for n in range(width)]

        async def run(number: int) -> str:
            nonlocal posted
            agent = free.pop()
            await one_run(runtime, agent, str(number))
            posted += 1
            free.append(agent)
            return ANSWER

        yield run
        await runtime.store.read(proved, posted)


@contextlib.asynccontextmanager
async def resume(database: str, width: int, counts: Counts) -> AsyncIterator[Run]:
    """The worker continues what a dead process left."""
    global COUNTS
    COUNTS = counts
    async with opened(database, width) as box:
        await box.start()

        async def run(_: int) -> str:
            while True:
                with contextlib.suppress(NotTheJob):
                    await box.runtime.store.read(proved, 1)
                    return ANSWER
                box.check()
                await asyncio.sleep(LOOK_S)

        yield run


if __name__ == "__main__":
    main(worker=worker, direct=direct, resume=resume)
