"""A worker that waits is given work by the commit that makes it ready; wherever that fails, it is told as ever."""

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

from interlock.core.errors import Conflict
from interlock.store.drivers import watch
from interlock.store.drivers.sqlite import SqliteDriver
from interlock.store.drivers.writer import Work
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.runs import traces
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, agents, message


class Idle:
    """A taker with so much room, whose claims come to nothing where they are to fail."""

    def __init__(self, room: int, *, fails: bool = False) -> None:
        self.room, self.fails = room, fails
        self.claims: list[Claim] = []

    def unit(self) -> Work | None:
        """A claim, where there is room."""
        return (self.claim, (), {}) if self.room else None

    def claim(self, tx: Tx) -> list[Claim]:
        """What `mailbox.claim` gives."""
        found = mailbox.claim(tx, "wrk_1", self.room, T0)
        if self.fails:
            raise Conflict("no")
        return found

    def took(self, found: Any) -> bool:
        """Whether there was room for more."""
        self.claims += found
        is_all = len(found) < self.room
        self.room -= len(found)
        return is_all


@pytest.fixture
async def store(migrated_sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    """On SQLite, whose commits a process makes by itself; a server's are waited for in a thread. What other processes
    may have written is looked for once, so that nobody is told of that while the test asks what it was told of.
    """
    monkeypatch.setattr(watch, "SQLITE_POLL_S", 3_600.0)
    async with Store(migrated_sqlite_url) as opened:
        assert isinstance(opened.driver, SqliteDriver)
        opened.driver.quick_s = math.inf
        yield opened


def post(tx: Tx, agent_id: str, key: str) -> str:
    mailbox.post(tx, message(agent_id, key), T0)
    return key


async def is_told(store: Store) -> bool:
    """Whether who waits for work has something to come for."""
    waiting = asyncio.create_task(store.wait_for_work(60))
    for _ in range(3):
        await asyncio.sleep(0)
    told = waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    return told


async def status(store: Store, run_id: str) -> str:
    run: Any = await store.read(traces.run, run_id)
    return str(run.status)


async def test_what_is_posted_is_claimed_in_the_same_transaction_as_far_as_there_is_room(store: Store) -> None:
    first, second, third = await store.write(agents, 3)
    await is_told(store)
    idle, others = Idle(2), store.listener()
    with store.taking(idle):
        run = await store.write(post, first, "run_1")
        assert ([claim.run.id for claim in idle.claims], await status(store, run)) == ([run], "running")
        await others.wait(60)
        assert not await is_told(store)
        later = await asyncio.gather(store.write(post, second, "run_2"), store.write(post, third, "run_3"))
        assert [claim.run.id for claim in idle.claims] == [run, later[0]]
        assert await is_told(store)
        again = await store.write(post, first, "run_4")
    assert [await status(store, each) for each in (*later, again)] == ["running", "created", "created"]


async def test_what_cannot_be_taken_is_posted_all_the_same_and_told(store: Store) -> None:
    (name,) = await store.write(agents, 1)
    for key, idle in (("run_1", Idle(0)), ("run_2", Idle(4, fails=True))):
        await is_told(store)
        with store.taking(idle):
            run = await store.write(post, name, key)
        assert (idle.claims, await status(store, run), await is_told(store)) == ([], "created", True)


async def test_unit_that_fails_beside_it_is_nobodys_work(store: Store) -> None:
    def posted_then_sorry(tx: Tx) -> None:
        post(tx, name, "run_1")
        raise Conflict("sorry")

    (name,) = await store.write(agents, 1)
    idle = Idle(4)
    with store.taking(idle):
        with pytest.raises(Conflict):
            await store.write(posted_then_sorry)
        assert idle.claims == []
    with store.taking(Idle(0)):
        run = await store.write(post, name, "run_1")
    assert await status(store, run) == "created"
