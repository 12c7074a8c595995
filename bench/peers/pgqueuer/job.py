"""Jobs through pgqueuer on PostgreSQL, claimed and finished in batches; it knows no order within an agent."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job as Row
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from bench.peers.queue_driver import Job, Log, Working, main

BATCH = 100


async def post(database: str, jobs: list[Job]) -> None:
    """Posts all, in batches."""
    connection = await asyncpg.connect(database)
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    for first in range(0, len(jobs), 1000):
        some = jobs[first : first + 1000]
        await queries.enqueue(["work"] * len(some), [json.dumps(each).encode() for each in some], [0] * len(some))
    await connection.close()


@asynccontextmanager
async def opening(database: str, log: Log) -> AsyncIterator[Working]:
    """A worker process."""
    connection = await asyncpg.connect(database)
    manager = QueueManager(Queries(AsyncpgDriver(connection)))

    @manager.entrypoint("work")
    async def work(job: Row) -> None:
        agent, number = json.loads(job.payload or b"[]")
        await log.work(agent, number)

    async def working() -> None:
        await manager.run(batch_size=BATCH)

    yield working
    await connection.close()


if __name__ == "__main__":
    main(post, opening)
