"""Workers of the tests' runs; what a run needs is in `stage`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from interlock.worker.loop import Worker
from tests.contract.runner.stage import Stage, until


@asynccontextmanager
async def working(stage: Stage, concurrency: int = 4) -> AsyncIterator[Worker]:
    """A worker at work, stopped at the end."""
    worker = Worker(stage.runtime, concurrency=concurrency)
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


async def becomes(stage: Stage, run: str, status: str) -> None:
    """Waits until a run is in a state."""

    async def is_so() -> bool:
        return bool((await stage.run(run)).status == status)

    await until(is_so)
