"""Who waits for an embedded database's disk: the event loop, or, where the disk is slow and not only once, a thread."""

import math
import threading
from collections.abc import AsyncIterator

import pytest

from interlock.store.drivers import sqlite
from interlock.store.drivers.sqlite import SqliteDriver
from interlock.store.engine import Store
from interlock.store.tx import Tx

QUICK, SLOW = math.inf, -1.0
"""How long a commit may take that counts as quick: any, and none."""


@pytest.fixture
async def store(migrated_sqlite_url: str) -> AsyncIterator[Store]:
    async with Store(migrated_sqlite_url) as opened:
        yield opened


def whose(tx: Tx) -> bool:
    """Whether the loop commits this."""
    return threading.current_thread() is threading.main_thread()


async def commits(store: Store, quick_s: float, count: int = 1) -> list[bool]:
    """So many commits, each of which took longer than `quick_s`, or none did; which of them the loop made."""
    assert isinstance(store.driver, SqliteDriver)
    store.driver.quick_s = quick_s
    return [await store.write(whose) for _ in range(count)]


async def test_disk_that_is_slow_twice_is_waited_for_by_a_thread(store: Store) -> None:
    assert await commits(store, SLOW, 4) == [True, True, False, False]


async def test_disk_that_was_slow_once_is_not_taken_for_a_slow_one(store: Store) -> None:
    for _ in range(3):
        assert await commits(store, SLOW) == [True]
        assert all(await commits(store, QUICK, sqlite.HICCUP))


async def test_disk_that_was_slow_a_moment_ago_is_slow(store: Store) -> None:
    assert await commits(store, SLOW) == [True]
    assert all(await commits(store, QUICK, sqlite.HICCUP - 1))
    assert await commits(store, SLOW, 2) == [True, False]
