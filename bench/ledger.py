"""The cost of reserving and settling money: one call after another, and sixty-four callers at once.

Each pair is a reservation under five accounts in one transaction and its settlement in another, on disk when they
return; `pair_in_one_transaction` is the cost for a step of a run, which does both together with its other rows.
"""

import asyncio
import statistics
import time
from datetime import UTC, datetime
from typing import Any

from bench.databases import databases
from bench.peers.environment import work_folder
from interlock.store import balances, ledger
from interlock.store.engine import Store
from interlock.store.ledger import Opening, Spender
from interlock.store.migrate import upgrade
from interlock.store.tx import Tx

NAME = "a reservation and its settlement under five accounts"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
CALLERS = 64
SHARED = ("project_day:p:d", "mission:m")
LIMIT = 10**12
PROMISED_MS = 0.3


def run(quick: bool) -> dict[str, Any]:
    """Milliseconds per pair, on both databases; afterwards the accounts agree with their lines."""
    with work_folder() as folder, databases(folder) as made:
        return {
            "promised_ms_on_sqlite": PROMISED_MS,
            **{engine: asyncio.run(_measured(made.url(engine), quick)) for engine in ("sqlite", "postgresql")},
        }


async def _measured(url: str, quick: bool) -> dict[str, Any]:
    await upgrade(url)
    rounds = 100 if quick else 1_000
    async with Store(url) as store:
        await store.write(_opened)
        one = _spender(0)
        for step in range(20):
            await _pair(store, one, -1 - step)
        worked = time.process_time()
        together = [await _timed(store.write(_both, one, step)) for step in range(rounds)]
        worked = (time.process_time() - worked) / rounds * 1000
        apart = [await _timed(_pair(store, one, rounds + step)) for step in range(rounds)]
        began, each = time.perf_counter(), max(2, rounds // 50)
        await asyncio.gather(*(_several(store, caller, each) for caller in range(1, CALLERS + 1)))
        seconds = time.perf_counter() - began
        faults = await store.read(balances.faults)
    if faults:
        raise AssertionError(faults)
    return {
        "pair_in_one_transaction_ms": _spread(together),
        "processor_ms_for_a_pair_in_one_transaction": round(worked, 3),
        "pair_in_two_transactions_ms": _spread(apart),
        f"pairs_a_second_by_{CALLERS}_at_once": round(CALLERS * each / seconds),
        f"ms_for_a_pair_by_{CALLERS}_at_once": round(seconds / (CALLERS * each) * 1000, 3),
    }


def _opened(tx: Tx) -> None:
    names = [*SHARED, *(name for caller in range(CALLERS + 1) for name in _own(caller))]
    openings = [Opening(name, name.partition(":")[0], name.partition(":")[2], "p", LIMIT) for name in names]
    ledger.open_accounts(tx, openings, NOW)


def _own(caller: int) -> tuple[str, ...]:
    return f"run:{caller}", f"task:{caller}", f"agent_day:{caller}:d"


def _spender(caller: int) -> Spender:
    return Spender(str(caller), "agent", None, None, "p", tuple(sorted((*SHARED, *_own(caller)))))


def _both(tx: Tx, spender: Spender, step: int) -> None:
    _reserve(tx, spender, step)
    _settle(tx, spender, step)


def _reserve(tx: Tx, spender: Spender, step: int) -> None:
    ledger.reserve(tx, spender, step=step, attempt=1, model="m", worst_microusd=500, now=NOW)


def _settle(tx: Tx, spender: Spender, step: int) -> None:
    ledger.settle(
        tx, spender, step=step, attempt=1, model="m", worst_microusd=500, actual_microusd=200, now=NOW
    )  # fmt: skip


async def _pair(store: Store, spender: Spender, step: int) -> None:
    await store.write(_reserve, spender, step)
    await store.write(_settle, spender, step)


async def _several(store: Store, caller: int, count: int) -> None:
    for step in range(count):
        await _pair(store, _spender(caller), step)


async def _timed(work: Any) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


def _spread(took: list[float]) -> dict[str, float]:
    ordered = sorted(took)
    return {
        "best": round(ordered[0], 3),
        "p50": round(statistics.median(ordered), 3),
        "p95": round(ordered[int(len(ordered) * 0.95)], 3),
    }
