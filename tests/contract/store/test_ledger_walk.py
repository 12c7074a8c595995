"""Thousands of random operations on a ledger, and many at once in any order: no limit passed, no update lost.

`make chaos` makes a million of them.
"""

import asyncio
import random
from itertools import combinations
from typing import Any

import pytest

from interlock.store.engine import Store
from interlock.store.money import balances, ledger
from interlock.store.money.ledger import OverBudget, Spender
from interlock.store.tx import SqliteTx, Tx
from interlock.store.upkeep.migrate import upgrade
from tests.contract.store.furniture import PROJECT, T0, account, spender
from tests.contract.store.ledger_walk import Walk

OPERATIONS = 5_000
"""Over both databases together."""


@pytest.mark.parametrize("seed", [1, 2])
async def test_ledger_says_what_its_model_says(store: Store, seed: int) -> None:
    walk = Walk(store, seed)
    await walk.run(OPERATIONS // 4)
    assert walk.seen["refused"] > 20, walk.seen
    assert walk.seen["settle"] > 100, walk.seen
    assert walk.seen["turn"] > walk.seen["turned back"] > 0, walk.seen


async def test_verifying_a_ledger_of_four_times_the_length_takes_four_times_as_long(
    sqlite_url: str,
) -> None:
    await upgrade(sqlite_url)
    async with Store(sqlite_url) as store:
        await store.write(account, "a", 10**9)

        def spend(tx: Tx, first: int, last: int) -> None:
            for number in range(first, last):
                call: dict[str, Any] = {"step": number, "attempt": 1, "model": "m", "worst_microusd": 5, "now": T0}
                ledger.reserve(tx, spender(f"r{number % 40}", "a"), **call)
                ledger.settle(tx, spender(f"r{number % 40}", "a"), actual_microusd=3, **call)

        def steps(tx: Tx) -> int:
            """So many times ten steps of the database's machine."""
            assert isinstance(tx, SqliteTx)
            seen: list[None] = []
            tx.connection.set_progress_handler(lambda: seen.append(None), 10)
            assert balances.faults(tx) == []
            tx.connection.set_progress_handler(None, 0)
            return len(seen)

        await store.write(spend, 0, 300)
        few = await store.read(steps)
        await store.write(spend, 300, 1_200)
        assert await store.read(steps) < 6 * few


async def test_sixty_four_at_once_over_accounts_in_any_order_lose_nothing_and_wait_for_nobody(store: Store) -> None:
    names = [f"a{number}" for number in range(6)]
    for name in names:
        await store.write(account, name, 10_000)
    dice = random.Random(7)
    chosen = [dice.sample(list(each), 3) for each in combinations(names, 3)]
    spenders = [Spender(f"r{n}", "a", None, None, PROJECT, tuple(dice.choice(chosen))) for n in range(64)]

    async def spend(which: Store, spender: Spender) -> int:
        try:
            await which.write(ledger.reserve, spender, step=1, attempt=1, model="m", worst_microusd=400, now=T0)
        except OverBudget:
            return 0
        await which.write(
            ledger.settle, spender, step=1, attempt=1, model="m", worst_microusd=400, actual_microusd=150, now=T0
        )
        return 150

    async with Store(store.url) as other:
        stores = [store, other if store.dialect == "postgresql" else store]
        async with asyncio.timeout(60):
            spent = await asyncio.gather(*(spend(stores[n % 2], each) for n, each in enumerate(spenders)))
    for name in names:
        row = await store.read(ledger.account, name)
        assert row is not None
        due = sum(amount for amount, each in zip(spent, spenders, strict=True) if name in each.accounts)
        assert (row.settled_microusd, row.reserved_microusd) == (due, 0)
    assert await store.read(balances.faults) == []
