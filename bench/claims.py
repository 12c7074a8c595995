"""What a claim costs with a thousand and with a million runs queued, 100,000 idle mailboxes beside them.

A million is measured twice: in as many mailboxes as the thousand, and in a thousand times as many. All are there at
once, and the rounds alternate, so that the machine's moods hit all. What is measured has warmed up first: a worker's
cache is full of pages before long, and which of those it needs next, nobody knows.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from bench.databases import databases
from bench.peers.environment import work_folder
from interlock.store import mailbox, squad
from interlock.store.engine import Store
from interlock.store.mailbox import Claim
from interlock.store.migrate import upgrade
from interlock.store.schema import Agent, Lane, Run
from interlock.store.tx import Tx

NAME = "one claim with 1,000 and with 1,000,000 runs queued, 100,000 idle mailboxes beside them"
CHUNK, RUNS_AT_ONCE = 5_000, 50_000
WARM_UP = 150
"""Rounds after which the cache of an embedded database is full."""
SCATTER = 7919
"""A prime that no number of mailboxes here is a multiple of."""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Size:
    """How full a database is."""

    lanes: int
    """Mailboxes with something in them."""
    each: int
    """Runs that are queued in each of those."""
    idle: int

    @property
    def runs(self) -> int:
        """How many are queued in all."""
        return self.lanes * self.each


SMALL = Size(lanes=100, each=10, idle=100)
DEEP = Size(lanes=100, each=10_000, idle=100_000)
WIDE = Size(lanes=100_000, each=10, idle=100_000)


def run(quick: bool) -> dict[str, Any]:
    """Microseconds of a claim of one run, of one of 16, and of a look whether anything is ready; and how they grow."""
    deep, wide, rounds = (DEEP, WIDE, 200) if not quick else (Size(100, 1_000, 10_000), Size(10_000, 10, 10_000), 60)
    sizes = {"small": SMALL, "deep": deep, "wide": wide}
    out: dict[str, Any] = {
        "queued": {name: size.runs for name, size in sizes.items()},
        "mailboxes": {name: size.lanes for name, size in sizes.items()},
        "idle_mailboxes": {name: size.idle for name, size in sizes.items()},
    }
    with work_folder() as folder, databases(folder) as made:
        for engine in ("sqlite", "postgresql"):
            urls = {name: made.url(engine) for name in sizes}
            out[engine] = asyncio.run(_measured(urls, sizes, rounds))
    out["goal_growth"] = 1.3
    return out


async def _measured(urls: dict[str, str], sizes: dict[str, Size], rounds: int) -> dict[str, Any]:
    took: dict[str, dict[str, list[float]]] = {}
    for name, size in sizes.items():
        await _filled(urls[name], size)
    async with AsyncExitStack() as stack:
        stores = {name: await stack.enter_async_context(Store(url)) for name, url in urls.items()}
        for at in range(WARM_UP + rounds):
            for name, store in stores.items():
                for what, us in (await _round(store)).items():
                    if at >= WARM_UP:
                        took.setdefault(what, {}).setdefault(name, []).append(us)
    out: dict[str, Any] = {}
    for what, found in took.items():
        median = {name: round(statistics.median(all_), 1) for name, all_ in found.items()}
        growth = {f"{name}_growth": round(median[name] / median["small"], 2) for name in sizes if name != "small"}
        out[what] = {**{f"{name}_us": each for name, each in median.items()}, **growth}
    return out


async def _filled(url: str, size: Size) -> None:
    await upgrade(url)
    async with Store(url) as store:
        await store.write(squad.ensure_project, "bench", "UTC", BEGAN)
        await store.write(squad.ensure_member, "bench", "coder", "specialist", BEGAN)
        member = (await store.read(squad.members, "bench"))[0].id
        step = max(1, min(CHUNK, RUNS_AT_ONCE // size.each))
        for first in range(0, size.lanes, step):
            await store.write(_fill, member, range(first, min(first + step, size.lanes)), size)
        for first in range(size.lanes, size.lanes + size.idle, CHUNK):
            await store.write(_fill, member, range(first, min(first + CHUNK, size.lanes + size.idle)), size)
        await store.write(_tidy) if store.dialect == "sqlite" else await asyncio.to_thread(_vacuum, url)


async def _round(store: Store) -> dict[str, float]:
    """Claims as a worker does, timed until they are committed; what it got is put back, untimed."""
    out = {}
    for what, most in (("claim_of_1", 1), ("claim_of_16", 16)):
        begun = time.perf_counter()
        claims = await store.write(mailbox.claim, "bench", most, datetime.now(UTC))
        out[what] = 1e6 * (time.perf_counter() - begun)
        assert len(claims) == most
        await store.write(_put_back, claims)
    begun = time.perf_counter()
    assert await store.read(mailbox.has_ready, datetime.now(UTC))
    out["look"] = 1e6 * (time.perf_counter() - begun)
    return out


def _put_back(tx: Tx, claims: list[Claim]) -> None:
    for claim in claims:
        mailbox.requeue(tx, claim, datetime.now(UTC), due_at=None, error=None, failed=False)


def _fill(tx: Tx, member: str, numbers: range, size: Size) -> None:
    ids = [f"agent {number:07}" for number in numbers]
    common = {"member_id": member, "project_id": "bench", "persona": "coder", "descriptor": {}, "persona_json": {}}
    tx.add_many(Agent, ({"id": i, "descriptor_key": i, "created_at": BEGAN, **common} for i in ids))
    tx.add_many(Lane, (_lane(i, number, size) for i, number in zip(ids, numbers, strict=True)))
    tx.add_many(
        Run, (row for i, number in zip(ids, numbers, strict=True) if number < size.lanes for row in _runs(i, size))
    )


def _lane(agent_id: str, number: int, size: Size) -> dict[str, Any]:
    """Mailboxes become ready in an order that has nothing to do with where they are kept, however many there are."""
    since = BEGAN + timedelta(milliseconds=number * SCATTER % size.lanes) if number < size.lanes else None
    return {"agent_id": agent_id, "clock_at": BEGAN, "ready_at": since, "next_seq": size.each + 1}


def _runs(agent_id: str, size: Size) -> Iterator[dict[str, Any]]:
    for seq in range(1, size.each + 1):
        key = f"{agent_id} {seq}"
        yield {
            "id": key, "project_id": "bench", "agent_id": agent_id, "kind": "chat", "order_at": BEGAN, "seq": seq,
            "payload": {"text": "hello"}, "idempotency_key": key, "cause_kind": "message", "created_at": BEGAN,
        }  # fmt: skip


def _tidy(tx: Tx) -> None:
    tx.run(sa.text("ANALYZE"))


def _vacuum(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
