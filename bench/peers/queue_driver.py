"""What every peer's queue script does alike: posts the jobs, or works them while asked, and says when each one ran.

`--post` puts `jobs` jobs of `agents` agents into an empty database, the agents taking turns; without it the script is
a worker that heeds the lines `go`, `count` and `stop`. Only the standard library.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

Job = tuple[str, int]
"""Agent, and number within the agent."""


class Log:
    """When each job began and ended, by the clock that all processes of a machine share."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, int, int]] = []

    async def work(self, agent: str, number: int) -> None:
        """A job that does nothing but let others have their turn."""
        begun = time.monotonic_ns()
        await asyncio.sleep(0)
        self.rows.append((agent, number, begun, time.monotonic_ns()))


Working = Callable[[], Awaitable[None]]
Post = Callable[[str, list[Job]], Awaitable[None]]
Opening = Callable[[str, Log], AbstractAsyncContextManager[Working]]


def jobs_of(agents: int, jobs: int) -> list[Job]:
    """The jobs in the order in which they are posted."""
    return [(f"agent-{n % agents}", n // agents) for n in range(jobs)]


async def serve(opening: Opening, options: argparse.Namespace) -> None:
    """A worker."""
    log = Log()
    async with opening(options.database, log) as working:
        print(json.dumps({"ready": True}), flush=True)
        task: asyncio.Future[None] | None = None
        async for line in _lines():
            if line == "go":
                task = asyncio.ensure_future(working())
            elif line == "stop":
                if task is not None:
                    task.cancel()
                    with suppress(asyncio.CancelledError, TimeoutError):
                        await asyncio.wait_for(task, 5)
                Path(options.log).write_text(json.dumps(log.rows), "utf-8")
            print(json.dumps({"count": len(log.rows)}), flush=True)
            if line == "stop":
                return


async def _lines() -> AsyncIterator[str]:
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield line.strip()


def main(post: Post, opening: Opening) -> None:
    """Does what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", required=True)
    parser.add_argument("--post", action="store_true")
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--log", default="", help="where the worker says when each job ran")
    options = parser.parse_args()
    work: Any = post(options.database, jobs_of(options.agents, options.jobs)) if options.post else None
    asyncio.run(work if options.post else serve(opening, options))
    if not options.post:
        sys.stdout.flush()
