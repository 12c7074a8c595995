"""The cost of a claim with a thousand and with a million queued runs, besides 100,000 idle mailboxes.

A million is measured twice: in as many mailboxes as the thousand, and in a thousand times as many. All databases exist
at the same time and the rounds alternate, so that disturbances affect all equally. Each is warmed up first, because a
worker's page cache soon is full, and the pages needed next cannot be predicted.

Runs are stored in order of arrival, with ids sorted by time; their mailboxes, and where these are stored, are random. A
mailbox is ready since its first run arrived: so the runs that waited longest are adjacent, and their mailboxes are not.
Filling one mailbox after another would put each first run on pages of its own, unlike real messages.

PostgreSQL gets a quarter of the machine's memory as `shared_buffers`, as its manual recommends. The default of 128 MB
holds a thousand runs but not a million: then the cost of reading pages from files and writing them back grows, for any
statement. This is measured afterwards on the same databases, and reported separately.

A claim is only timed once the work that follows the previous commit is finished, such as notifying other processes.
"""

import asyncio
import statistics
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import psutil
import sqlalchemy as sa

from bench.databases import databases
from bench.peers.environment import work_folder
from interlock.core.ids import ALPHABET
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.schema import Agent, Lane, Run
from interlock.store.tx import Tx
from interlock.store.upkeep.migrate import upgrade

NAME = "one claim with 1,000 and with 1,000,000 runs queued, 100,000 idle mailboxes beside them"
CHUNK, RUNS_AT_ONCE = 5_000, 50_000
WARM_UP = 150
"""Rounds until the cache of an embedded database is full."""
SEED = 7919
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Size:
    """The size of a database."""

    lanes: int
    """Mailboxes with something in them."""
    each: int
    """Runs that are queued in each of those."""
    idle: int

    @property
    def runs(self) -> int:
        """The number of queued runs in all."""
        return self.lanes * self.each


class Mailboxes:
    """The mailboxes and the order of arrival, independently random."""

    def __init__(self, size: Size) -> None:
        self.size, chance = size, Random(SEED)
        self.ids = ["".join(chance.choices(ALPHABET, k=24)) for _ in range(size.lanes + size.idle)]
        """Of the agents, in the order in which they were made."""
        told = chance.sample(range(len(self.ids)), size.lanes) * size.each
        chance.shuffle(told)
        self.arrivals: list[tuple[str, int]] = []
        """For which agent each run is, and the how manieth of its own."""
        self.firsts: dict[int, int] = {}
        """When the head of each mailbox arrived that has one."""
        counts: Counter[int] = Counter()
        for at, number in enumerate(told):
            counts[number] += 1
            self.arrivals.append((self.ids[number], counts[number]))
            self.firsts.setdefault(number, at)


SMALL = Size(lanes=100, each=10, idle=100)
DEEP = Size(lanes=100, each=10_000, idle=100_000)
WIDE = Size(lanes=100_000, each=10, idle=100_000)


def run(quick: bool) -> dict[str, Any]:
    """Microseconds per claim of one run and of 16, and per check for work; and how they grow."""
    deep, wide, rounds = (DEEP, WIDE, 200) if not quick else (Size(100, 1_000, 10_000), Size(10_000, 10, 10_000), 60)
    sizes = {"small": SMALL, "deep": deep, "wide": wide}
    out: dict[str, Any] = {
        "queued": {name: size.runs for name, size in sizes.items()},
        "mailboxes": {name: size.lanes for name, size in sizes.items()},
        "idle_mailboxes": {name: size.idle for name, size in sizes.items()},
    }
    with work_folder() as folder, databases(folder) as made:
        made.restart(f"{psutil.virtual_memory().total // 4 >> 20}MB")
        for engine in ("sqlite", "postgresql"):
            urls = {name: made.url(engine) for name in sizes}
            for name, size in sizes.items():
                asyncio.run(_filled(urls[name], size))
            out[engine] = asyncio.run(_measured(urls, rounds))
        out["shared_buffers"] = {"postgresql": made.conditions["shared_buffers"]}
        made.restart(None)
        out["postgresql_as_installed"] = asyncio.run(_measured(urls, rounds))
        out["shared_buffers"]["postgresql_as_installed"] = made.conditions["shared_buffers"]
    out["goal_growth"] = 1.3
    return out


async def _measured(urls: dict[str, str], rounds: int) -> dict[str, Any]:
    took: dict[str, dict[str, list[float]]] = {}
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
        growth = {f"{name}_growth": round(median[name] / median["small"], 2) for name in urls if name != "small"}
        out[what] = {**{f"{name}_us": each for name, each in median.items()}, **growth}
    return out


async def _filled(url: str, size: Size) -> None:
    await upgrade(url)
    mailboxes = Mailboxes(size)
    async with Store(url) as store:
        await store.write(squad.ensure_project, "bench", "UTC", BEGAN)
        await store.write(squad.ensure_member, "bench", "coder", "specialist", BEGAN)
        member = (await store.read(squad.members, "bench"))[0].id
        for first in range(0, len(mailboxes.ids), CHUNK):
            await store.write(_fill, member, mailboxes, range(first, min(first + CHUNK, len(mailboxes.ids))))
        for first in range(0, size.runs, RUNS_AT_ONCE):
            await store.write(_post, mailboxes, range(first, min(first + RUNS_AT_ONCE, size.runs)))
        await store.write(_tidy) if store.dialect == "sqlite" else await asyncio.to_thread(_vacuum, url)


async def _round(store: Store) -> dict[str, float]:
    """Claims as a worker does, timed until the commit; the claimed runs are put back, untimed."""
    out = {}
    for what, most in (("claim_of_1", 1), ("claim_of_16", 16)):
        begun = time.perf_counter()
        claims = await store.write(mailbox.claim, "bench", most, datetime.now(UTC))
        out[what] = 1e6 * (time.perf_counter() - begun)
        assert len(claims) == most
        await store.write(_put_back, claims)
        await store.write(_nothing)
    begun = time.perf_counter()
    assert await store.read(mailbox.has_ready, datetime.now(UTC))
    out["look"] = 1e6 * (time.perf_counter() - begun)
    return out


def _put_back(tx: Tx, claims: list[Claim]) -> None:
    for claim in claims:
        mailbox.requeue(tx, claim, datetime.now(UTC), due_at=None, error=None, failed=False)


def _nothing(_: Tx) -> None:
    """An empty unit; waiting for it means waiting for what follows the previous commit."""


def _fill(tx: Tx, member: str, mailboxes: Mailboxes, numbers: range) -> None:
    common = {"member_id": member, "project_id": "bench", "persona": "coder", "descriptor": {}, "persona_json": {}}
    ids = mailboxes.ids[numbers.start : numbers.stop]
    tx.add_many(Agent, ({"id": i, "descriptor_key": i, "created_at": BEGAN, **common} for i in ids))
    tx.add_many(Lane, (_lane(number, mailboxes) for number in numbers))


def _lane(number: int, mailboxes: Mailboxes) -> dict[str, Any]:
    arrived = mailboxes.firsts.get(number)
    since, count = (None, 0) if arrived is None else (_at(arrived), mailboxes.size.each)
    return {"agent_id": mailboxes.ids[number], "clock_at": BEGAN, "ready_at": since, "next_seq": count + 1}


def _post(tx: Tx, mailboxes: Mailboxes, arrived: range) -> None:
    tx.add_many(Run, (_run(at, *mailboxes.arrivals[at]) for at in arrived))


def _run(arrived: int, agent_id: str, seq: int) -> dict[str, Any]:
    return {
        "id": f"run_{arrived:018}", "project_id": "bench", "agent_id": agent_id, "kind": "chat",
        "order_at": _at(arrived), "seq": seq, "payload": {"text": "hello"}, "idempotency_key": f"say_{arrived:018}",
        "cause_kind": "message", "created_at": _at(arrived),
    }  # fmt: skip


def _at(arrived: int) -> datetime:
    return BEGAN + timedelta(milliseconds=arrived)


def _tidy(tx: Tx) -> None:
    tx.run(sa.text("ANALYZE"))


def _vacuum(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
