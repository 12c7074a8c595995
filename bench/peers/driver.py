"""The common part of the peers' job scripts: so many of the scripted job at once for so long, counted and verified.

Standard library only, because each peer has an environment of its own; how a peer runs the job is in its directory.
"""

import argparse
import asyncio
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

MODEL_CALLS, TOOL_CALLS = 4, 3
"""Of each run: three turns with a call of a trivial tool each, then a text."""
QUESTION = "where are my orders?"
ANSWER = "all shipped"


class NotTheJob(RuntimeError):
    """A variant did something other than the job, so that its figure is invalid."""


@dataclass
class Counts:
    """The counters of the scripted model and the tool."""

    model: int = 0
    tool: int = 0
    die_at: int = 0
    """The tool call in which the process kills itself; 0 for none."""

    def order(self, order_id: str) -> str:
        """The tool."""
        self.tool += 1
        if self.tool == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"order {order_id}: shipped"


Run = Callable[[int], Awaitable[str]]
"""Executes one run under a unique number, and returns its answer."""
Opening = Callable[[str, int, Counts], AbstractAsyncContextManager[Run]]
"""Opens a variant over a database, for so many runs at once."""


async def measured(run: Run, counts: Counts, numbers: Callable[[], int], seconds: float, width: int) -> dict[str, Any]:
    """The figures of `seconds` of work, `width` runs at once; counts the runs that ended and were awaited.

    Raises NotTheJob.
    """
    counts.model = counts.tool = ended = 0
    begun = time.perf_counter()

    async def one_after_another() -> None:
        nonlocal ended
        while time.perf_counter() - begun < seconds:
            if (answer := await run(numbers())) != ANSWER:
                raise NotTheJob(f"a run ended with `{answer}`")
            ended += 1

    await asyncio.gather(*(one_after_another() for _ in range(width)))
    elapsed = time.perf_counter() - begun
    if (counts.model, counts.tool) != (ended * MODEL_CALLS, ended * TOOL_CALLS):
        raise NotTheJob(f"{ended} runs made {counts.model} model calls and {counts.tool} tool calls")
    return {
        "runs": ended, "seconds": round(elapsed, 4), "model_calls": counts.model, "tool_calls": counts.tool,
        "runs_per_s": round(ended / elapsed, 1),
    }  # fmt: skip


async def serve(opening: Opening, options: argparse.Namespace) -> None:
    """One measurement, or one for each line `SECONDS WIDTH` of the input."""
    counts, last = Counts(die_at=options.die_at), int(time.time()) * 1_000_000

    def numbers() -> int:
        nonlocal last
        last += 1
        return last

    async with opening(options.database, options.width, counts) as run:
        gc.collect()
        gc.freeze()
        print(json.dumps({"ready": True}), flush=True)
        if options.once is not None:
            answer = await run(options.once)
            print(json.dumps({"answer": answer, "model_calls": counts.model, "tool_calls": counts.tool}), flush=True)
        elif options.serve:
            while line := await asyncio.to_thread(sys.stdin.readline):
                seconds, width = line.split()
                told = await measured(run, counts, numbers, float(seconds), int(width))
                print(json.dumps(told), flush=True)
        else:
            await measured(run, counts, numbers, options.seconds / 4, options.width)
            print(json.dumps(await measured(run, counts, numbers, options.seconds, options.width)), flush=True)


def main(**ways: Opening) -> None:
    """Executes the command line; the first way is the default."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--width", type=int, default=1, help="runs at once; with --serve the most there will be")
    parser.add_argument("--database", required=True, help="`sqlite:///PATH` or `postgresql://…`; an empty one")
    parser.add_argument("--serve", action="store_true", help="measure as each line of the input says")
    parser.add_argument("--once", type=int, default=None, help="do one run, with this number, and say what it took")
    parser.add_argument("--die-at", type=int, default=0, help="the tool call in which the process kills itself")
    parser.add_argument("--way", choices=list(ways), default=next(iter(ways)))
    options = parser.parse_args()
    asyncio.run(serve(ways[options.way], options))
