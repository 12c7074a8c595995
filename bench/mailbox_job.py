"""Empty runs through our mailboxes: posts them, or executes them until stopped; `bench.mailbox` measures it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from bench.peers.queue_driver import Job, Log, Working, main
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim, Post
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.upkeep.migrate import upgrade

PROJECT = "bench"
WIDTH, POSTED_AT_ONCE, POLL_S = 25, 500, 0.05
"""Runs that a worker has in hand at once; and posts that are on their way."""


def now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


def agents(tx: Tx, names: list[str]) -> dict[str, str]:
    """Agents with a mailbox each."""
    squad.ensure_project(tx, PROJECT, "UTC", now())
    made = {}
    for name in names:
        found = Descriptor("user", PROJECT, "coder", {"user": name})
        made[name] = str(squad.ensure_agent(tx, found, {}, "specialist", now()).id)
    return made


def message(agent_id: str, agent: str, number: int) -> Post:
    """An empty run."""
    return Post(
        project_id=PROJECT, agent_id=agent_id, kind="chat", payload={"agent": agent, "number": number},
        idempotency_key=f"{agent} {number}", cause_kind="message",
    )  # fmt: skip


async def post(database: str, jobs: list[Job]) -> None:
    """Posts all jobs, a limited number at once."""
    await upgrade(database)
    async with Store(database) as store:
        ids = await store.write(agents, sorted({agent for agent, _ in jobs}))
        for first in range(0, len(jobs), POSTED_AT_ONCE):
            some = jobs[first : first + POSTED_AT_ONCE]
            await asyncio.gather(
                *(store.write(mailbox.post, message(ids[agent], agent, number), now()) for agent, number in some)
            )


@asynccontextmanager
async def opening(database: str, log: Log) -> AsyncIterator[Working]:
    """A worker process: claims as many as it has room for, and ends each separately."""
    async with Store(database) as store:

        async def working() -> None:
            await work(store, log, f"w{os.getpid()}", WIDTH)

        yield working


async def work(store: Store, log: Log, worker_id: str, width: int) -> None:
    """Executes runs until it is cancelled."""
    in_hand: set[asyncio.Task[Any]] = set()

    async def one(claim: Claim) -> None:
        await log.work(claim.run.payload["agent"], claim.run.payload["number"])
        await store.write(mailbox.finish, claim, "completed", "end_turn", now(), result="ok", error=None)

    def ended(task: asyncio.Task[Any]) -> None:
        in_hand.discard(task)
        store.wake()

    while True:
        free = width - len(in_hand)
        claims = await store.write(mailbox.claim, worker_id, free, now()) if free else []
        for claim in claims:
            task = asyncio.create_task(one(claim))
            in_hand.add(task)
            task.add_done_callback(ended)
        if not claims:
            await store.wait_for_work(POLL_S)


if __name__ == "__main__":
    if "--width" in sys.argv:
        at = sys.argv.index("--width")
        WIDTH = int(sys.argv[at + 1])
        del sys.argv[at : at + 2]
    main(post, opening)
