"""Jobs through a queue of DBOS on SQLite, partitioned by agent with one workflow of a partition at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dbos import DBOS, SetEnqueueOptions

from bench.peers.queue_driver import Job, Log, Working, main

QUEUE, POLL_S = "mailboxes", 0.02
LOG = Log()


def launched(database: str) -> None:
    """DBOS with its one workflow."""
    settings: Any = {"name": "bench", "system_database_url": database, "log_level": "ERROR", "run_admin_server": False}
    DBOS(config=settings)
    DBOS.listen_queues([])
    DBOS.launch()


@DBOS.workflow(name="work")
async def work(agent: str, number: int) -> None:
    """A job."""
    await LOG.work(agent, number)


async def post(database: str, jobs: list[Job]) -> None:
    """Posts all."""
    await asyncio.to_thread(_post, database, jobs)


def _post(database: str, jobs: list[Job]) -> None:
    launched(database)
    DBOS.register_queue(QUEUE, partition_concurrency=1, polling_interval_sec=POLL_S)
    for agent, number in jobs:
        with SetEnqueueOptions(queue_partition_key=agent):
            DBOS.enqueue_workflow(QUEUE, work, agent, number)
    DBOS.destroy()


@asynccontextmanager
async def opening(database: str, log: Log) -> AsyncIterator[Working]:
    """The process that works the queue."""
    global LOG
    LOG = log
    settings: Any = {"name": "bench", "system_database_url": database, "log_level": "ERROR", "run_admin_server": False}

    async def working() -> None:
        DBOS(config=settings)
        await asyncio.to_thread(DBOS.launch)
        await asyncio.Event().wait()

    yield working
    await asyncio.to_thread(DBOS.destroy)


if __name__ == "__main__":
    main(post, opening)
