"""The cost of reserving and settling money: one call after another, and sixty-four callers at once.

Each pair is a reservation under five accounts in one transaction and its settlement in another, on disk when they
return; `pair_in_one_transaction` is the cost for a step of a run, which does both together with its other rows. The
floor is that transaction written by hand, in turns with ours: what the disk and SQLite take for the same rows.
"""

import asyncio
import json
import sqlite3
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.databases import databases
from bench.peers.environment import work_folder
from interlock.store.engine import Store
from interlock.store.money import balances, ledger
from interlock.store.money.ledger import Opening, Spender
from interlock.store.tx import Tx
from interlock.store.upkeep.migrate import upgrade

NAME = "a reservation and its settlement under five accounts"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
CALLERS = 64
IN_A_TURN = 50
SHARED = ("project_day:p:d", "mission:m")
LIMIT = 10**12
PROMISED_MS = 0.3
RESERVED = """UPDATE accounts SET reserved_microusd = reserved_microusd + 500 WHERE id IN (?, ?, ?, ?, ?)
    AND settled_microusd + reserved_microusd + 500 <= limit_microusd AND NOT frozen"""
SETTLED = """UPDATE accounts SET reserved_microusd = reserved_microusd - 500, settled_microusd = settled_microusd + 200
    WHERE id IN (?, ?, ?, ?, ?)"""
LINE = """INSERT INTO ledger (id, kind, reservation_id, run_id, step_number, attempt, agent_id, project_id, model,
    accounts, amount_microusd, estimated, created_at) VALUES (?, ?, ?, 'floor', ?, 1, 'agent', 'p', 'm', ?, ?, 0, ?)"""


def run(quick: bool) -> dict[str, Any]:
    """Milliseconds per pair, on both databases; afterwards the accounts agree with their lines."""
    with work_folder() as folder, databases(folder) as made:
        return {
            "promised_ms_on_sqlite": PROMISED_MS,
            **{engine: asyncio.run(_measured(made.url(engine), quick)) for engine in ("sqlite", "postgresql")},
            "beside_the_floor": asyncio.run(_beside_the_floor(folder, quick)),
        }


async def _measured(url: str, quick: bool) -> dict[str, Any]:
    await upgrade(url)
    rounds = 100 if quick else 1_000
    async with Store(url) as store:
        await store.write(_opened)
        one = _spender(0)
        for step in range(20):
            await _pair(store, one, -1 - step)
        together, worked = await _alone(store, one, rounds)
        apart = [await _timed(_pair(store, one, rounds + step)) for step in range(rounds)]
        began, each = time.perf_counter(), max(2, rounds // 50)
        await asyncio.gather(*(_several(store, caller, each) for caller in range(1, CALLERS + 1)))
        seconds = time.perf_counter() - began
        faults = await store.read(balances.faults)
    if faults:
        raise AssertionError(faults)
    return {
        "pair_in_one_transaction_ms": _spread(together),
        "processor_ms_for_a_pair_in_one_transaction": worked,
        "pair_in_two_transactions_ms": _spread(apart),
        f"pairs_a_second_by_{CALLERS}_at_once": round(CALLERS * each / seconds),
        f"ms_for_a_pair_by_{CALLERS}_at_once": round(seconds / (CALLERS * each) * 1000, 3),
    }


async def _alone(store: Store, spender: Spender, rounds: int) -> tuple[list[float], float]:
    """How long pairs in one transaction took, in milliseconds, and the processor time of one."""
    began = time.process_time()
    took = [await _timed(store.write(_both, spender, step)) for step in range(rounds)]
    return took, round((time.process_time() - began) / rounds * 1000, 3)


async def _beside_the_floor(folder: Path, quick: bool) -> dict[str, Any]:
    """Ours and the same rows by hand, in turns, on two databases of SQLite."""
    ours, by_hand = (folder / f"{name}.db" for name in ("ours", "by_hand"))
    ratios, took = [], list[float]()
    for path in (ours, by_hand):
        await upgrade(f"sqlite:///{path}")
        async with Store(f"sqlite:///{path}") as store:
            await store.write(_opened)
    connection = sqlite3.connect(by_hand, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    async with Store(f"sqlite:///{ours}") as store:
        for turn in range(10 if quick else 30):
            steps = range(turn * IN_A_TURN, (turn + 1) * IN_A_TURN)
            mine = [await _timed(store.write(_both, _spender(0), step)) for step in steps]
            floor = [_by_hand(connection, step) for step in steps]
            took += floor
            ratios.append(statistics.median(mine) / statistics.median(floor))
    connection.close()
    ordered = sorted(ratios)
    return {
        "pair_by_hand_ms": _spread(took),
        "ours_to_it": {
            "median": round(statistics.median(ordered), 2),
            "range": [round(ordered[0], 2), round(ordered[-1], 2)],
        },
    }


def _by_hand(connection: sqlite3.Connection, step: int) -> float:
    """One pair; returns how long it took, in milliseconds."""
    spender, now = _spender(0), NOW.isoformat()
    accounts, reservation = json.dumps(spender.accounts), f"floor:{step}:1"
    began = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    for kind, statement, amount in (("reserve", RESERVED, 500), ("settle", SETTLED, 200)):
        if connection.execute(statement, spender.accounts).rowcount != len(spender.accounts):
            raise AssertionError(statement)
        connection.execute(LINE, (f"{kind}{step}", kind, reservation, step, accounts, amount, now))
    connection.execute("COMMIT")
    return (time.perf_counter() - began) * 1000


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
