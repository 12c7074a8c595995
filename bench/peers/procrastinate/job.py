"""Jobs through procrastinate on PostgreSQL, with a lock for each agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from procrastinate import App, PsycopgConnector
from procrastinate.jobs import Job as Row

from bench.peers.queue_driver import Job, Log, Working, main

CONCURRENCY, BATCH = 25, 1000


def app_over(database: str, log: Log) -> App:
    """The app with its one task."""
    app = App(connector=PsycopgConnector(conninfo=database))

    @app.task(name="work")
    async def work(agent: str, number: int) -> None:
        await log.work(agent, number)

    return app


async def post(database: str, jobs: list[Job]) -> None:
    """Posts all, in batches."""
    app = app_over(database, Log())
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for first in range(0, len(jobs), BATCH):
            rows = [
                Row(id=None, queue="default", lock=agent, queueing_lock=None, task_name="work",
                    task_kwargs={"agent": agent, "number": number})
                for agent, number in jobs[first : first + BATCH]
            ]  # fmt: skip
            await app.job_manager.batch_defer_jobs_async(rows)


@asynccontextmanager
async def opening(database: str, log: Log) -> AsyncIterator[Working]:
    """A worker process."""
    app = app_over(database, log)
    async with app.open_async():

        async def working() -> None:
            await app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)

        yield working


if __name__ == "__main__":
    main(post, opening)
