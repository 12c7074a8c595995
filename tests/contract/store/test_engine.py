"""Units of work: committed together, failing apart, finished before the end."""

import asyncio
import gc
import sqlite3
from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.core.errors import Conflict
from interlock.store import squad
from interlock.store.engine import ROOM, Store
from interlock.store.errors import StoreClosed, StoreUnavailable
from interlock.store.schema import Lane, Meta, Project, table
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, agent

META = table(Meta)
KEYS = sa.select(META.c.key).where(META.c.key != "minimum_reader").order_by(META.c.key)
VALUE = sa.select(META.c.value).where(META.c.key == sa.bindparam("wanted"))


def put(tx: Tx, key: str, value: str = "x", fails: bool = False) -> str:
    tx.add(Meta, key=key, value=value)
    if fails:
        raise Conflict(key)
    return key


def keys(tx: Tx) -> list[str]:
    return [row.key for row in tx.rows(KEYS)]


async def test_failing_units_take_nothing_else_with_them(store: Store) -> None:
    units = [store.write(put, f"{i:04}", fails=i % 10 == 0) for i in range(2000)]
    results = await asyncio.gather(*units, return_exceptions=True)
    assert [i for i, r in enumerate(results) if isinstance(r, Conflict)] == list(range(0, 2000, 10))
    good = [f"{i:04}" for i in range(2000) if i % 10]
    assert [r for r in results if isinstance(r, str)] == good
    assert await store.read(keys) == good


async def test_unit_refused_by_the_database_takes_nothing_else_with_it(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    results = await asyncio.gather(*[store.write(put, f"{i % 50}") for i in range(100)], return_exceptions=True)
    assert sum(isinstance(r, BaseException) for r in results) == 50
    assert len(await store.read(keys)) == 50
    assert caplog.messages == []


async def test_what_was_written_is_read(store: Store) -> None:
    for i in range(200):
        await store.write(put, f"{i:03}")
        assert len(await store.read(keys)) == i + 1


async def test_who_writes_alone_is_written_at_once_and_lets_others_have_their_turn(store: Store) -> None:
    async def alone() -> None:
        for i in range(300):
            if i % 10 == 9:
                with pytest.raises(Conflict):
                    await store.write(put, f"a{i:03}", fails=True)
            else:
                written.append(await store.write(put, f"a{i:03}"))

    written: list[str] = []
    for i in range(20):
        await store.write(put, f"b{i:02}")
    task = asyncio.create_task(alone())
    await asyncio.sleep(0)
    await store.write(put, "other")
    assert len(written) < 100
    await task
    good = [f"a{i:03}" for i in range(300) if i % 10 != 9]
    assert written == good
    assert await store.read(keys) == [*good, *(f"b{i:02}" for i in range(20)), "other"]


async def test_large_group_lets_others_have_their_turn_before_all_who_wait_for_it_have_gone_on(store: Store) -> None:
    """All are in one commit or two; who waits for it goes on a few in each round of the event loop, in order.

    Two commits may end within one round: then 16 of the second follow the end of the first.
    """
    rounds = [0]
    went_on: list[tuple[str, int]] = []

    async def others() -> None:
        while True:
            rounds[0] += 1
            await asyncio.sleep(0)

    async def one(key: str) -> None:
        went_on.append((await store.write(put, key), rounds[0]))

    counting = asyncio.create_task(others())
    await asyncio.gather(*[one(f"{i:03}") for i in range(60)])
    counting.cancel()
    assert [key for key, _ in went_on] == [f"{i:03}" for i in range(60)]
    assert max(Counter(at for _, at in went_on).values()) < 2 * 16


async def test_unit_sees_what_units_before_it_wrote(store: Store) -> None:
    def put_and_count(tx: Tx, key: str) -> int:
        put(tx, key)
        return len(keys(tx))

    counts = await asyncio.gather(*[store.write(put_and_count, f"{i}") for i in range(99)])
    assert counts == list(range(1, 100))


async def test_read_sees_one_moment(store: Store) -> None:
    def look_twice(tx: Tx) -> tuple[int, int]:
        before = len(keys(tx))
        asyncio.run_coroutine_threadsafe(store.write(put, "between"), loop).result()
        return before, len(keys(tx))

    loop = asyncio.get_running_loop()
    assert await store.read(look_twice) == (0, 0)
    assert await store.read(keys) == ["between"]


async def test_reader_cannot_write(store: Store) -> None:
    with pytest.raises(Exception, match=r"(?i)read-?\s?only"):
        await store.read(put, "key")
    assert await store.read(keys) == []


async def test_close_finishes_what_was_handed_in(migrated_url: str) -> None:
    store = await Store(migrated_url).open()
    units = [asyncio.create_task(store.write(put, f"{i:03}")) for i in range(500)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*units) == [f"{i:03}" for i in range(500)]
    async with Store(migrated_url) as again:
        assert len(await again.read(keys)) == 500


async def test_closed_store_says_so(migrated_url: str) -> None:
    store = await Store(migrated_url).open()
    await store.close()
    await store.close()
    for use in (store.write(put, "key"), store.read(keys)):
        with pytest.raises(StoreUnavailable, match=r"^the store is closed$"):
            await use


async def test_unit_that_waited_for_room_when_the_store_closed_hears_of_it(migrated_sqlite_url: str) -> None:
    store = await Store(migrated_sqlite_url).open()
    with sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///")) as other:
        other.execute("BEGIN IMMEDIATE")
        units = [asyncio.create_task(store.write(lambda tx: True)) for _ in range(ROOM + 3)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0)
        other.rollback()
    async with asyncio.timeout(60):
        await closing
        results = await asyncio.gather(*units, return_exceptions=True)
    assert results[:ROOM] == [True] * ROOM
    assert {type(r) for r in results[ROOM:]} == {StoreClosed}


async def test_cancelled_waiters_unit_lands(store: Store) -> None:
    waiter = asyncio.create_task(store.write(put, "key"))
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    await store.write(put, "next")
    assert await store.read(keys) == ["key", "next"]


async def test_cancelled_waiters_failure_is_nobodys(store: Store) -> None:
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    waiter = asyncio.create_task(store.write(put, "key", fails=True))
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    await store.write(put, "next")
    gc.collect()
    await asyncio.sleep(0)
    assert told == []


async def test_store_whose_opening_was_cancelled_leaves_no_thread(migrated_url: str) -> None:
    store = Store(migrated_url)
    opening = asyncio.create_task(store.open())
    await asyncio.sleep(0)
    opening.cancel()
    async with asyncio.timeout(60):
        await asyncio.gather(opening, return_exceptions=True)
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.write(put, "key")


async def test_row_without_its_parent_is_refused(store: Store) -> None:
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        await store.write(lambda tx: tx.add(Lane, agent_id="nobody", clock_at=T0))


async def test_children_go_with_their_parent(store: Store) -> None:
    coder = await store.write(agent, "a")
    await store.write(lambda tx: tx.run(sa.delete(table(Project))))
    assert await store.read(squad.agent, coder) is None
    assert await store.read(lambda tx: tx.rows(sa.select(table(Lane)))) == []


async def test_must_fails_its_unit_and_no_other(store: Store) -> None:
    change = sa.update(META).where(META.c.key == sa.bindparam("wanted")).values(value=sa.bindparam("new"))

    def unit(tx: Tx, key: str) -> None:
        tx.add(Meta, key=f"made by {key}", value="")
        tx.must(change, {"wanted": key, "new": "y"}, 1, Conflict(key))

    await store.write(put, "there")
    results = await asyncio.gather(
        *[store.write(unit, k) for k in ("there", "missing")], store.write(put, "more"), return_exceptions=True
    )
    assert [type(r) for r in results] == [type(None), Conflict, str]
    assert await store.read(keys) == ["made by there", "more", "there"]
    assert await store.write(lambda tx: tx.count(change, {"wanted": "there", "new": "z"})) == 1
    assert (await store.read(lambda tx: tx.one(VALUE, {"wanted": "there"}))).value == "z"  # type: ignore[union-attr]


async def test_column_that_does_not_exist_or_is_missing_is_a_fault(store: Store) -> None:
    with pytest.raises(TypeError, match="Meta has no other"):
        await store.write(lambda tx: tx.add(Meta, key="k", value="v", other=1))
    with pytest.raises(TypeError, match="Meta lacks value"):
        await store.write(lambda tx: tx.add(Meta, key="k"))


async def test_hot_statement_stays_compiled_however_many_others_come(store: Store) -> None:
    def ask_much(tx: Tx) -> bool:
        statements = store.driver.statements
        first = statements.of(VALUE)
        for i in range(300):
            statements.of(VALUE)
            statements.of(sa.select(META.c.key).where(META.c.key == str(i)))
        return statements.of(VALUE) is first

    assert await store.read(ask_much)
