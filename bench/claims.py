"""What a claim costs with a thousand and with a million runs queued, 100,000 idle mailboxes beside them.

Both databases hold both sizes at once, and the rounds alternate, so that the machine's moods hit both.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator
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
RUNS_A_LANE, CHUNK = 10, 5_000
SCATTER = 7919
"""A prime that no number of mailboxes here is a multiple of."""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Size:
    """How full a database is."""

    runs: int
    idle: int

    @property
    def lanes(self) -> int:
        """Mailboxes with something in them."""
        return self.runs // RUNS_A_LANE


SMALL, LARGE = Size(1_000, 100), Size(1_000_000, 100_000)


def run(quick: bool) -> dict[str, Any]:
    """Microseconds of a claim of one run, of one of 16, and of a look whether anything is ready; and how they grow."""
    large, rounds = (Size(100_000, 10_000), 60) if quick else (LARGE, 200)
    out: dict[str, Any] = {"queued": [SMALL.runs, large.runs], "idle_mailboxes": [SMALL.idle, large.idle]}
    with work_folder() as folder, databases(folder) as made:
        for engine in ("sqlite", "postgresql"):
            out[engine] = asyncio.run(_measured(made.url(engine), made.url(engine), large, rounds))
    out["goal_growth"] = 1.3
    return out


async def _measured(small_url: str, large_url: str, large: Size, rounds: int) -> dict[str, Any]:
    took: dict[str, dict[str, list[float]]] = {}
    for url, size in ((small_url, SMALL), (large_url, large)):
        await upgrade(url)
        async with Store(url) as store:
            await store.write(squad.ensure_project, "bench", "UTC", BEGAN)
            await store.write(squad.ensure_member, "bench", "coder", "specialist", BEGAN)
            member = (await store.read(squad.members, "bench"))[0].id
            for first in range(0, size.lanes + size.idle, CHUNK):
                await store.write(_fill, member, range(first, min(first + CHUNK, size.lanes + size.idle)), size)
            await store.write(_tidy) if store.dialect == "sqlite" else await asyncio.to_thread(_vacuum, url)
    async with Store(small_url) as small, Store(large_url) as big:
        for _ in range(rounds + 10):
            for name, store in (("small", small), ("large", big)):
                for what, us in (await _round(store)).items():
                    took.setdefault(what, {}).setdefault(name, []).append(us)
    out: dict[str, Any] = {}
    for what, found in took.items():
        low, high = (statistics.median(found[name][10:]) for name in ("small", "large"))
        out[what] = {"small_us": round(low, 1), "large_us": round(high, 1), "growth": round(high / low, 2)}
    return out


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
    tx.add_many(Run, (row for i, number in zip(ids, numbers, strict=True) if number < size.lanes for row in _runs(i)))


def _lane(agent_id: str, number: int, size: Size) -> dict[str, Any]:
    """Mailboxes become ready in an order that has nothing to do with where they are kept, however many there are."""
    since = BEGAN + timedelta(milliseconds=number * SCATTER % size.lanes) if number < size.lanes else None
    return {"agent_id": agent_id, "clock_at": BEGAN, "ready_at": since, "next_seq": RUNS_A_LANE + 1}


def _runs(agent_id: str) -> Iterator[dict[str, Any]]:
    for seq in range(1, RUNS_A_LANE + 1):
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
