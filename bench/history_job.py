"""The scripted job in Interlock as a message of a conversation, after one earlier message or after a thousand.

The earlier ones were posted and answered through the mailbox, like every message.
"""

import contextlib
from collections.abc import AsyncIterator

from bench import durable_job
from bench.durable_job import agent_for, one_run, opened
from bench.peers.driver import ANSWER, Counts, Run, main

EARLIER = 1000
SHORT_ONES = 200


@contextlib.asynccontextmanager
async def after_many(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """Runs of one conversation that already has a thousand messages."""
    durable_job.COUNTS = counts
    async with opened(database, 1) as box:
        runtime = box.runtime
        agent = await agent_for(runtime, 0)
        runtime.models.model.talks = True  # type: ignore[attr-defined]
        for number in range(EARLIER // 2):
            await one_run(runtime, agent, f"earlier:{number}", "chat")
        runtime.models.model.talks = False  # type: ignore[attr-defined]

        async def run(number: int) -> str:
            await one_run(runtime, agent, str(number), "chat")
            return ANSWER

        yield run


@contextlib.asynccontextmanager
async def after_one(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """Runs of conversations with one earlier exchange."""
    durable_job.COUNTS = counts
    async with opened(database, 1) as box:
        runtime = box.runtime
        agents = [await agent_for(runtime, number) for number in range(SHORT_ONES)]
        runtime.models.model.talks = True  # type: ignore[attr-defined]
        for agent in agents:
            await one_run(runtime, agent, f"earlier:{agent.id}", "chat")
        runtime.models.model.talks = False  # type: ignore[attr-defined]

        async def run(number: int) -> str:
            await one_run(runtime, agents[number % SHORT_ONES], str(number), "chat")
            return ANSWER

        yield run


if __name__ == "__main__":
    main(after_one=after_one, after_many=after_many)
