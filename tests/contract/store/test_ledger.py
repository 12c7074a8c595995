"""Money: settled plus reserved never passes a limit, whoever reserves at once, and the lines add up to the accounts."""

import asyncio
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.store.engine import Store
from interlock.store.money import ledger, limits
from interlock.store.money.ledger import OverBudget, Spender
from interlock.store.schema import Account, LedgerEntry, table
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, account, after, spender

LIMITS = {"mission": 1000, "run:a": 400, "run:b": 700, "task": 900}
ACCOUNTS = {"a": ("mission", "run:a", "task"), "b": ("mission", "run:b")}


async def reserve(store: Store, spends: Spender, step: int, worst: int, attempt: int = 1) -> str:
    return await store.write(
        ledger.reserve, spends, step=step, attempt=attempt, model="m", worst_microusd=worst, now=T0
    )  # fmt: skip


async def settle(store: Store, spends: Spender, step: int, worst: int, actual: int) -> None:
    await store.write(
        ledger.settle, spends, step=step, attempt=1, model="m", worst_microusd=worst, actual_microusd=actual, now=T0
    )  # fmt: skip


async def balance(store: Store, account_id: str) -> tuple[int, int, bool]:
    """Settled, reserved, frozen."""
    row = await store.read(ledger.account, account_id)
    assert row is not None
    return row.settled_microusd, row.reserved_microusd, row.frozen


def add_up(tx: Tx) -> None:
    """Checks the accounts against the lines of the ledger."""
    settled: dict[str, int] = defaultdict(int)
    reserved: dict[str, int] = defaultdict(int)
    lines: list[Any] = tx.rows(table(LedgerEntry).select())
    worst = {line.reservation_id: line.amount_microusd for line in lines if line.kind == "reserve"}
    for line in lines:
        for name in line.accounts:
            if line.kind == "reserve":
                reserved[name] += line.amount_microusd
            elif line.kind == "settle":
                reserved[name] -= worst[line.reservation_id]
                settled[name] += line.amount_microusd
    for row in tx.rows(table(Account).select()):
        assert (row.settled_microusd, row.reserved_microusd) == (settled[row.id], reserved[row.id]), row.id


async def test_reservations_at_once_never_pass_a_limit(store: Store) -> None:
    await store.write(account, "shared", 1000)
    async with Store(store.url) as other:
        tries = [
            reserve(
                [store, other][i % 2] if store.dialect == "postgresql" else store, spender(f"r{i}", "shared"), 1, 30
            )
            for i in range(64)
        ]
        results = await asyncio.gather(*tries, return_exceptions=True)
    refused = [r for r in results if isinstance(r, BaseException)]
    assert len(results) - len(refused) == 1000 // 30
    assert {type(r) for r in refused} == {OverBudget}
    assert await balance(store, "shared") == (0, 990, False)
    await store.read(add_up)


async def test_reservation_that_one_account_refuses_changes_none(store: Store) -> None:
    for name, limit in (("large", 1000), ("small", 100)):
        await store.write(account, name, limit)
    with pytest.raises(OverBudget) as told:
        await reserve(store, spender("r", "large", "small"), 1, 101)
    assert (told.value.accounts, told.value.need_microusd, told.value.exit_code) == (("large", "small"), 101, 4)
    assert await balance(store, "large") == (0, 0, False)
    await reserve(store, spender("r", "large", "small"), 1, 100)


async def test_reservation_on_an_account_that_does_not_exist_is_refused(store: Store) -> None:
    await store.write(account, "known", 1000)
    with pytest.raises(OverBudget):
        await reserve(store, spender("r", "known", "unknown"), 1, 1)


async def test_settled_call_releases_what_it_did_not_cost(store: Store) -> None:
    await store.write(account, "a", 100)
    await reserve(store, spender("r", "a"), 1, 100)
    await settle(store, spender("r", "a"), 1, 100, 40)
    await reserve(store, spender("r", "a"), 2, 60)
    assert await balance(store, "a") == (40, 60, False)
    assert await store.read(ledger.room, ["a"]) == 0
    assert await store.read(ledger.room, ["a"], settled_only=True) == 60


async def test_cost_above_the_worst_case_is_booked_and_freezes_until_a_person_raises(store: Store) -> None:
    for name, limit in (("large", 1000), ("small", 100)):
        await store.write(account, name, limit)
    await reserve(store, spender("r", "large", "small"), 1, 100)
    await settle(store, spender("r", "large", "small"), 1, 100, 150)
    assert await balance(store, "small") == (150, 0, True)
    assert await balance(store, "large") == (150, 0, False)
    with pytest.raises(OverBudget):
        await reserve(store, spender("r", "large", "small"), 2, 0)
    [short] = await store.read(ledger.shortages, ["large", "small"], 10)
    assert (short.account_id, short.final, short.frozen) == ("small", True, True)
    assert (short.limit_microusd, short.settled_microusd, short.reserved_microusd) == (100, 150, 0)
    raised = await store.write(limits.raise_limit, "small", 100, "ada", T0)
    assert (raised.limit_microusd, raised.frozen) == (200, False)  # type: ignore[union-attr]
    await reserve(store, spender("r", "large", "small"), 2, 50)
    await store.read(add_up)


async def test_shortage_that_waiting_helps_is_told_from_one_that_is_final(store: Store) -> None:
    await store.write(account, "a", 100)
    await reserve(store, spender("r", "a"), 1, 80)
    [short] = await store.read(ledger.shortages, ["a"], 30)
    assert (short.final, short.settled_microusd, short.reserved_microusd) == (False, 0, 80)
    await settle(store, spender("r", "a"), 1, 80, 75)
    [short] = await store.read(ledger.shortages, ["a"], 30)
    assert (short.final, short.settled_microusd, short.reserved_microusd) == (True, 75, 0)
    assert await store.read(ledger.shortages, ["a"], 25) == []


async def test_call_is_settled_once(store: Store) -> None:
    await store.write(account, "a", 100)
    for step in (1, 2):
        await reserve(store, spender("r", "a"), step, 30)
    await settle(store, spender("r", "a"), 1, 30, 10)
    with pytest.raises(Exception, match=r"(?i)unique"):
        await settle(store, spender("r", "a"), 1, 30, 10)
    assert await balance(store, "a") == (10, 30, False)


async def test_attempt_is_reserved_once(store: Store) -> None:
    await store.write(account, "a", 100)
    await reserve(store, spender("r", "a"), 1, 30)
    with pytest.raises(Exception, match=r"(?i)unique"):
        await reserve(store, spender("r", "a"), 1, 30)
    assert await balance(store, "a") == (0, 30, False)
    assert await reserve(store, spender("r", "a"), 1, 30, attempt=2) == "r:1:2"
    assert (await store.read(lambda tx: tx.rows(ledger.ATTEMPTS, {"run_": "r", "step": 1})))[0].attempts == 2


async def test_open_reservations_are_charged_at_what_is_known(store: Store) -> None:
    await store.write(account, "a", 100)
    for step in (1, 2):
        await reserve(store, spender("r", "a"), step, 30)
    await settle(store, spender("r", "a"), 1, 30, 10)
    assert await store.write(ledger.charge_open, "r", after(1), 5) == 5
    assert await store.write(ledger.charge_open, "r", after(2)) == 0
    assert await balance(store, "a") == (15, 0, False)
    lines = await store.read(lambda tx: tx.rows(table(LedgerEntry).select()))
    assert [(line.reservation_id, line.estimated) for line in lines if line.kind == "settle"] == [
        ("r:1:1", False), ("r:2:1", True),
    ]  # fmt: skip


async def test_account_that_exists_keeps_its_limit(store: Store) -> None:
    for limit in (100, 900):
        await store.write(account, "a", limit)
    assert (await store.read(ledger.account, "a")).limit_microusd == 100  # type: ignore[union-attr]
    assert await store.write(limits.raise_limit, "unknown", 1, "ada", T0) is None


STEPS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 300), st.integers(0, 350) | st.none(), st.booleans()), max_size=15
)


@given(steps=STEPS)
@settings(max_examples=15)
async def test_any_sequence_of_calls_keeps_the_limits_and_the_lines(
    migrated_file: Path, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int | None, bool]]
) -> None:
    path = shutil.copy(migrated_file, tmp_path_factory.mktemp("ledger") / "interlock.db")
    async with Store(f"sqlite:///{path}") as store:
        for name, limit in LIMITS.items():
            await store.write(account, name, limit)
        for number, (run, worst, actual, lost) in enumerate(steps):
            spends = spender(run, *ACCOUNTS[run])
            room = await store.read(ledger.room, spends.accounts)
            frozen = any([(await balance(store, name))[2] for name in spends.accounts])
            try:
                await reserve(store, spends, number, worst)
                assert worst <= room
            except OverBudget:
                assert worst > room or frozen
                continue
            if actual is not None:
                await settle(store, spends, number, worst, actual)
            elif lost:
                await store.write(ledger.charge_open, run, T0)
            for name, limit in LIMITS.items():
                settled, reserved, frozen = await balance(store, name)
                assert settled + reserved <= limit or frozen
        await store.read(add_up)
