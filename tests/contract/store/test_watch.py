"""What another process commits wakes those who wait for work; a cut connection is made again."""

import asyncio
import itertools
from pathlib import Path
from time import monotonic

import psycopg

from interlock.store.drivers.postgres import WAKE_CHANNEL
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.messages import conversations, outbox
from interlock.store.messages.conversations import Origin
from tests import processes
from tests.contract.store.furniture import PROJECT, T0, agent, agents, message
from tests.quickness import TRIES, within

LONG_S = 20
"""How long a wait goes on that nothing ends."""
POST = """
import asyncio, sys
from datetime import UTC, datetime
from interlock.store.mailboxes import mailbox
from interlock.store.engine import Store
from interlock.store.mailboxes.mailbox import Post

async def main(url, agent):
    async with Store(url) as store:
        print("ready", flush=True)
        for line in sys.stdin:
            post = Post(project_id="demo", agent_id=agent, kind="think", payload={}, idempotency_key=line,
                        cause_kind="message")
            await store.write(mailbox.post, post, datetime(2026, 1, 1, tzinfo=UTC))
            print("posted", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def settle(store: Store) -> None:
    """Lets earlier news pass, until waiting for work takes its whole time."""
    async with asyncio.timeout(20):
        while True:
            began = monotonic()
            await store.wait_for_work(0.5)
            if monotonic() - began >= 0.5:
                return


async def test_commit_of_another_process_wakes_who_waits_within_a_second(store: Store, tmp_path: Path) -> None:
    coder = await store.write(agent, "a")
    with processes.running(("-c", POST, store.url, coder), folder=tmp_path, environment={}) as other:
        assert other.stdin is not None
        assert await other.line() == "ready\n"
        took: list[float] = []
        for number in range(TRIES):
            await settle(store)
            waiting = asyncio.create_task(store.wait_for_work(LONG_S))
            other.stdin.write(f"{number}\n")
            other.stdin.flush()
            await other.line()
            began = monotonic()
            await waiting
            took.append(monotonic() - began)
            assert await store.read(mailbox.has_ready, T0)
            if sum(each < 1 for each in took) == 2:
                break
        assert sorted(took)[1] < 1, "what is late once may be the machine"
        other.stdin.close()
        assert await other.ended() == 0


async def test_post_in_this_process_wakes_who_waits_at_once(store: Store) -> None:
    coder = await store.write(agent, "a")
    numbers = itertools.count()

    async def woken() -> None:
        waiting = asyncio.create_task(store.wait_for_work(LONG_S))
        await asyncio.sleep(0)
        await store.write(mailbox.post, message(coder, f"run {next(numbers)}"), T0)
        await waiting

    await settle(store)
    await within(0.15, woken)


async def test_waiting_ends_after_its_time(store: Store) -> None:
    await settle(store)
    began = monotonic()
    await store.wait_for_work(0.05)
    assert 0.04 < monotonic() - began < LONG_S


async def test_listener_whose_connection_is_cut_hears_again(migrated_postgres_url: str) -> None:
    listening = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    async with Store(migrated_postgres_url) as store, Store(migrated_postgres_url) as other:
        coder = await other.write(agent, "a")
        with psycopg.connect(migrated_postgres_url, autocommit=True) as admin:

            async def listeners() -> set[int]:
                async with asyncio.timeout(20):
                    while len(found := {row[0] for row in admin.execute(listening)}) < 2:
                        await asyncio.sleep(0.02)
                return found

            before = await listeners()
            for pid in before:
                admin.execute("SELECT pg_terminate_backend(%s)", [pid])
            async with asyncio.timeout(20):
                while {row[0] for row in admin.execute(listening)} & before:
                    await asyncio.sleep(0.02)
            assert not await listeners() & before
        await settle(store)
        began = monotonic()
        waiting = asyncio.create_task(store.wait_for_work(LONG_S))
        await other.write(mailbox.post, message(coder, "run"), T0)
        await waiting
        assert monotonic() - began < LONG_S


async def test_posts_that_are_committed_together_wake_other_processes_once(migrated_postgres_url: str) -> None:
    """A notification takes a lock of the whole server at its commit: one for each transaction halves the speed."""
    async with Store(migrated_postgres_url) as store:
        names = await store.write(agents, 40)
        with psycopg.connect(migrated_postgres_url, autocommit=True) as listening:
            listening.execute(f"LISTEN {WAKE_CHANNEL}")
            await asyncio.gather(*(store.write(mailbox.post, message(name, name), T0) for name in names))
            woken = len(list(listening.notifies(timeout=20, stop_after=1)))
            assert woken + len(list(listening.notifies(timeout=0.1))) < len(names) / 2


async def test_change_that_nobody_listens_to_wakes_no_other_process(migrated_postgres_url: str) -> None:
    """Each process looks for work when it is woken: where no chat hears of a mission, there is nothing to wake for."""
    async with Store(migrated_postgres_url) as store:
        with psycopg.connect(migrated_postgres_url, autocommit=True) as listening:
            listening.execute(f"LISTEN {WAKE_CHANNEL}")
            about = {"project_id": PROJECT, "mission_id": "msn_1"}
            await store.write(outbox.notify, "mission", "mission:msn_1", T0, **about)
            await store.write(outbox.touch, "mission:msn_1")
            assert list(listening.notifies(timeout=0)) == []
            await store.write(conversations.of_mission, "msn_1", Origin("slack", "C1"), PROJECT, T0)
            await store.write(outbox.notify, "mission", "mission:msn_1", T0, **about)
            assert len(list(listening.notifies(timeout=5, stop_after=1))) == 1
            await store.write(outbox.touch, "mission:msn_1")
            assert len(list(listening.notifies(timeout=5, stop_after=1))) == 1
