"""Empty runs through the mailboxes of 100 agents, order and overlap checked; and how soon an idle worker starts one.

The same for other queues is in `bench.mailbox_peers`.
"""

import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import mailbox_job
from bench.databases import Databases, databases
from bench.mailbox_peers import AGENTS, checked
from bench.peers.environment import PeerFailed, Process, work_folder
from bench.peers.queue_driver import Log, jobs_of
from interlock.agents.runtime import Runtime
from interlock.core.ids import new_id
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim, Post
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.testing.runtime import open_runtime
from interlock.testing.scripted import ScriptedModel
from interlock.worker.loop import Worker

NAME = "runs that do nothing through our mailboxes: 100 agents, 10,000 runs, order and overlap checked; idle latency"
WORKERS, SQLITE_WIDTH, LONGEST_S = 4, 64, 120.0
REST_S = 0.02
"""Between two posts to an idle worker."""


def run(quick: bool) -> dict[str, Any]:
    """Runs a second on SQLite in one process and on PostgreSQL with four workers, milliseconds from post to start."""
    jobs, posts = (2_000, 60) if quick else (10_000, 400)
    with work_folder() as folder, databases(folder) as made:
        return {
            "sqlite_full_one_process": asyncio.run(_embedded(made.url("sqlite"), jobs)),
            f"postgresql_{WORKERS}_workers": _fleet(made, folder, jobs),
            "idle_ms_embedded": asyncio.run(_idle(folder / "embedded", made.url("sqlite"), posts, shared=True)),
            "idle_ms_postgresql": asyncio.run(_idle(folder / "fleet", made.url("postgresql"), posts, shared=False)),
            "goal_sqlite_per_s": 2600,
            "goal_postgresql_per_s": 1900,
            "goal_idle_ms": {"embedded p50": 1, "postgresql p50": 3, "postgresql p99": 8},
        }


async def _embedded(url: str, jobs: int) -> dict[str, Any]:
    begun = time.perf_counter()
    await mailbox_job.post(url, jobs_of(AGENTS, jobs))
    posting_s, log = time.perf_counter() - begun, Log()
    async with Store(url) as store:
        gc.freeze()
        working = asyncio.create_task(mailbox_job.work(store, log, "worker", SQLITE_WIDTH))
        async with asyncio.timeout(LONGEST_S):
            while len(log.rows) < jobs:
                await asyncio.sleep(0.01)
        working.cancel()
    return {**checked([tuple(row) for row in log.rows]), "posts_per_s": round(jobs / posting_s, 1)}


def _fleet(made: Databases, folder: Path, jobs: int) -> dict[str, Any]:
    url = made.url("postgresql")
    begun = time.perf_counter()
    asyncio.run(mailbox_job.post(url, jobs_of(AGENTS, jobs)))
    posting_s = time.perf_counter() - begun
    logs = [folder / f"ours-{n}.json" for n in range(WORKERS)]
    command = [sys.executable, "-m", "bench.mailbox_job", "--database", url, "--log"]
    workers = [Process([*command, str(log)]) for log in logs]
    try:
        for worker in workers:
            worker.told()
        for worker in workers:
            worker.ask("go")
        until = time.monotonic() + LONGEST_S
        while sum(worker.ask("count")["count"] for worker in workers) < jobs:
            if time.monotonic() > until:
                raise PeerFailed("our runs did not end in time")
            time.sleep(0.1)
        for worker in workers:
            worker.ask("stop")
        rows = [tuple(row) for log in logs for row in json.loads(log.read_text("utf-8"))]
    finally:
        for worker in workers:
            worker.kill()
    return {**checked(rows), "posts_per_s": round(jobs / posting_s, 1)}


class Timed(Worker):
    """A worker that records when each run begins."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.begun: dict[str, float] = {}
        self.news = asyncio.Event()

    def _start(self, claim: Claim) -> None:
        self.begun[claim.run.id] = time.perf_counter()
        super()._start(claim)
        self.news.set()


async def _idle(home: Path, url: str, posts: int, *, shared: bool) -> dict[str, dict[str, float]]:
    """The time until a posted run begins in an idle worker: from the call of `post()`, and from its commit.

    `shared`: posted by the worker's own process, which begins a run within the commit of its post; otherwise through
    another connection, as by another process.
    """
    model = ScriptedModel(otherwise="done")
    async with open_runtime(home, model, database_url=url) as runtime:
        worker = Timed(runtime)
        working = asyncio.create_task(worker.run())
        other = runtime.store if shared else await Store(url).open()
        try:
            agent = await other.write(_agent, runtime.personas.personas["operations"].to_json())
            took = [await _one(worker, other, agent) for _ in range(posts)]
        finally:
            if not shared:
                await other.close()
            worker.stop()
            await working
    called, committed = zip(*took[posts // 10 :], strict=True)
    return {"from the call of post()": _spread(called), "from its commit": _spread(committed)}


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50": round(1000 * cuts[49], 2), "p90": round(1000 * cuts[89], 2), "p99": round(1000 * cuts[98], 2)}


async def _one(worker: Timed, store: Store, agent: str) -> tuple[float, float]:
    await asyncio.sleep(REST_S)
    worker.news.clear()
    message = Post(
        project_id="default", agent_id=agent, kind="think", payload={"prompt": "hello"},
        idempotency_key=new_id("key"), cause_kind="message",
    )  # fmt: skip
    called = time.perf_counter()
    run_id, _ = await store.write(mailbox.post, message, datetime.now(UTC))
    committed = time.perf_counter()
    while run_id not in worker.begun:
        worker.news.clear()
        await worker.news.wait()
    begun = worker.begun[run_id]
    return begun - called, max(0.0, begun - committed)


def _agent(tx: Tx, persona: dict[str, Any]) -> str:
    now = datetime.now(UTC)
    squad.ensure_project(tx, "default", "UTC", now)
    found = squad.ensure_agent(tx, Descriptor("think", "default", "operations", {"name": "idle"}), persona, "lead", now)
    return str(found.id)
