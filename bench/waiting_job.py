"""A thousand agents that wait for a slow model at once, in one process; measures memory and delays of the event loop.

The model is a local server in a process of its own, reached over HTTP by the adapter for Anthropic.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from bench.durable_job import MODEL, agent_for, lookup_order, post_to
from bench.peers.driver import NotTheJob
from interlock.app import garbage
from interlock.app.box import Interlock
from interlock.store.mailboxes import mailbox
from interlock.store.schema import Run, table
from interlock.store.tx import Tx

BEAT_S, LOOK_S = 0.005, 0.1
LONGEST_S = 100.0
_RUNS = table(Run)
_STATES = (
    sa.select(_RUNS.c.status, sa.func.count().label("count"), sa.func.max(_RUNS.c.error).label("error"))
    .group_by(_RUNS.c.status)
)  # fmt: skip


class Watch:
    """Measures the delay of the event loop and resident memory, while entered."""

    def __init__(self) -> None:
        self.late_s: list[float] = []
        self.resident: list[int] = []

    async def _beat(self) -> None:
        while True:
            due = time.perf_counter() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self.late_s.append(time.perf_counter() - due)

    async def _look(self) -> None:
        process = psutil.Process()
        while True:
            self.resident.append(process.memory_info().rss)
            await asyncio.sleep(LOOK_S)

    async def __aenter__(self) -> "Watch":
        self._tasks = [asyncio.create_task(self._beat()), asyncio.create_task(self._look())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def late_ms(self, share: float) -> float:
        """The delay in milliseconds that this share of the beats stays below."""
        ordered = sorted(self.late_s)
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1)


def states(tx: Tx) -> dict[str, int]:
    """The number of runs by status.

    Raises NotTheJob if a run has failed.
    """
    found = {row.status: row for row in tx.rows(_STATES, {})}
    if "failed" in found:
        raise NotTheJob(f"{found['failed'].count} runs failed: {found['failed'].error}")
    return {status: row.count for status, row in found.items()}


async def measured(database: str, model_url: str, agents: int) -> dict[str, Any]:
    """Figures from the first post to the end of the last run.

    Raises NotTheJob if not all runs have ended well in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        async with Interlock.open(
            cwd=Path(folder), env={}, home=Path(folder) / "home", database_url=database, model=MODEL,
            tools=[lookup_order], project_day_usd=1e6, concurrency=agents,
            providers={"anthropic": {"api_key": "local", "base_url": model_url}},
        ) as box:  # fmt: skip
            runtime = box.runtime
            made = await asyncio.gather(*(agent_for(runtime, number) for number in range(agents)))
            await runtime.models.get(runtime.models.resolve(MODEL))
            gc.collect()
            garbage.spare_loaded()
            await box.start()
            tidying = asyncio.create_task(garbage.collect(lambda: not box.in_hand))
            begun, found, most = time.perf_counter(), dict[str, int](), 0
            before = psutil.Process().memory_info().rss
            async with Watch() as watch:
                posts = [runtime.store.write(mailbox.post, post_to(a, a.id), runtime.clock.now()) for a in made]
                await asyncio.gather(*posts)
                while time.perf_counter() - begun < LONGEST_S:
                    found = await runtime.store.read(states)
                    most = max(most, found.get("running", 0))
                    if found.get("completed", 0) == agents:
                        break
                    await asyncio.sleep(0.25)
            tidying.cancel()
            if found != {"completed": agents}:
                raise NotTheJob(f"{agents} runs were posted, and after {LONGEST_S:g} s on record are {found}")
            return {
                "agents": agents,
                "ended": found,
                "at_work_at_once": most,
                "seconds": round(time.perf_counter() - begun, 2),
                "resident_mb_before": round(before / 2**20, 1),
                "resident_mb_most": round(max(watch.resident) / 2**20, 1),
                "loop_late_ms_p50": watch.late_ms(0.5),
                "loop_late_ms_p99": watch.late_ms(0.99),
                "loop_late_ms_most": watch.late_ms(1),
            }


def main() -> None:
    """Does what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", required=True)
    parser.add_argument("--model-url", required=True)
    parser.add_argument("--agents", type=int, default=1000)
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        print(json.dumps(asyncio.run(measured(options.database, options.model_url, options.agents))), flush=True)


if __name__ == "__main__":
    main()
