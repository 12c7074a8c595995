"""Several processes' writers at once lose, double, overlap and reorder nothing; SQLite has one writer."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest
import sqlalchemy as sa

from interlock.agents.running.asking import park_unless_answered
from interlock.core.ids import new_id
from interlock.store.engine import Store
from interlock.store.errors import LeaseLost, StoreUnavailable
from interlock.store.mailboxes import leases, mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, after, agent, agents, answer, ask, claimed, done, message

WRITERS = 3
AGENTS = 12
RUNS = 360


@pytest.fixture
async def stores(store: Store) -> AsyncIterator[list[Store]]:
    """As many writers as processes may share the database."""
    async with contextlib.AsyncExitStack() as stack:
        others = 0 if store.dialect == "sqlite" else WRITERS - 1
        yield [store, *[await stack.enter_async_context(Store(store.url)) for _ in range(others)]]


async def work(store: Store, worker_id: str, record: list[tuple[str, str, str]], total: int) -> None:
    """Claims and ends runs until all have ended, noting when each began and ended."""
    while sum(1 for _, what, _ in record if what == "end") < total:
        claims = await store.write(mailbox.claim, worker_id, 4, after(1))
        record += [(c.run.agent_id, "begin", c.run.id) for c in claims]
        await asyncio.sleep(0)
        for claim in claims:
            record.append((claim.run.agent_id, "end", claim.run.id))
            await store.write(done, claim)
        if not claims:
            await asyncio.sleep(0.001)


async def test_claimers_at_once_lose_double_overlap_and_reorder_nothing(stores: list[Store]) -> None:
    names = await stores[0].write(agents, AGENTS)
    record: list[tuple[str, str, str]] = []

    async def fill(number: int) -> None:
        for i in range(number, RUNS, len(stores)):
            key = f"{names[i % AGENTS]} {i:04}"
            await stores[number].write(mailbox.post, message(names[i % AGENTS], key), after(0))

    async with asyncio.timeout(150), asyncio.TaskGroup() as group:
        for number, each in enumerate(stores):
            group.create_task(fill(number))
            group.create_task(work(each, f"w{number}", record, RUNS))
    by_agent: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, what, run in record:
        by_agent[name].append((what, run))
    assert sum(len(lane) for lane in by_agent.values()) == 2 * RUNS
    for name, lane in by_agent.items():
        runs = await stores[0].read(traces.runs, most=RUNS)
        in_order = [run.id for run in sorted(runs, key=lambda r: (r.order_at, r.seq)) if run.agent_id == name]
        assert lane == [(what, run) for run in in_order for what in ("begin", "end")]


async def test_same_message_from_all_writers_at_once_makes_one_run(stores: list[Store]) -> None:
    names = await stores[0].write(agents, len(stores))
    for i in range(60):
        posts = [
            each.write(mailbox.post, message(name, f"key {i}", run_id=new_id("run")), T0)
            for each, name in zip(stores, names, strict=True)
        ]
        results = await asyncio.gather(*posts)
        assert len({run for run, _ in results}) == 1
        assert sum(new for _, new in results) == 1


async def test_same_agent_asked_for_by_all_writers_at_once_is_spawned_once(stores: list[Store]) -> None:
    for i in range(60):
        names = await asyncio.gather(*[each.write(agent, f"a{i}", persona=f"p{i}") for each in stores])
        assert len(set(names)) == 1


async def test_uncommitted_post_cannot_be_overtaken(migrated_postgres_url: str) -> None:
    async with Store(migrated_postgres_url) as store:
        coder = await store.write(agent, "a")
        with psycopg.connect(migrated_postgres_url) as other:
            other.execute("UPDATE lanes SET next_seq = 2, ready_at = %s WHERE agent_id = %s", [T0, coder])
            other.execute(FIRST, [coder])
            later = asyncio.create_task(store.write(mailbox.post, message(coder, "later"), T0))
            assert await store_of(migrated_postgres_url, lambda s: s.write(mailbox.claim, "w", 9, after(1))) == []
            assert not later.done()
            other.commit()
        await later
        assert [c.run.id for c in await store.write(mailbox.claim, "w", 9, after(1))] == ["first"]


FIRST = """
INSERT INTO runs (id, project_id, agent_id, kind, status, order_at, seq, attempt, payload, idempotency_key, cause_kind,
    fence, simulated, labels, step_count, token_usage, cost_microusd, created_at)
VALUES ('first', 'demo', %s, 'think', 'created', '2026-01-01T12:00Z', 1, 0, '{}', 'first', 'message',
    0, false, '[]', 0, '{}', 0, '2026-01-01T12:00Z')
"""


async def store_of(url: str, act: Callable[[Store], Awaitable[list[Claim]]]) -> list[Claim]:
    """What another process gets."""
    async with Store(url) as store:
        return await act(store)


async def test_claim_keeps_to_its_number_however_the_statement_is_planned(migrated_postgres_url: str) -> None:
    def claim(tx: Tx) -> list[Claim]:
        for path in ("hashagg", "hashjoin", "mergejoin", "sort", "material", "indexscan", "bitmapscan"):
            tx.run(sa.text(f"SET LOCAL enable_{path} = off"))
        return mailbox.claim(tx, "w", 2, T0)

    async with Store(migrated_postgres_url) as store:
        for name in await store.write(agents, 20):
            await store.write(mailbox.post, message(name, name), T0)
        assert len(await store.write(claim)) == 2


async def test_answer_and_park_at_once_never_lose_the_wake(stores: list[Store]) -> None:
    coder = await stores[0].write(agent, "a", "task")
    parked = 0
    for i in range(60):
        run = f"run {i}"
        claim = await stores[0].write(claimed, coder, run)
        await stores[0].write(ask, f"q{i}", run_id=run)
        answering = stores[-1].write(approvals.answer, answer(f"q{i}"), T0)
        parking = stores[0].write(park_unless_answered, claim, T0)
        first, second = (answering, parking) if i % 2 else (parking, answering)
        results = await asyncio.gather(first, second)
        was_parked = results[1 if i % 2 else 0]
        parked += bool(was_parked)
        row = await stores[0].read(traces.run, run)
        assert row is not None
        assert row.status == ("created" if was_parked else "running")
        if was_parked:
            [claim] = await stores[0].write(mailbox.claim, "w", 1, T0)
            assert claim.run.id == run
        await stores[0].write(done, claim)
    assert 0 < parked < 60


async def test_cancel_and_claim_at_once_leave_no_run_between(stores: list[Store]) -> None:
    coder = await stores[0].write(agent, "a")
    for i in range(30):
        run = f"run {i}"
        await stores[0].write(mailbox.post, message(coder, run), T0)
        claims, status = await asyncio.gather(
            stores[0].write(mailbox.claim, "w", 1, T0), stores[-1].write(leases.cancel, run, T0, "no longer wanted")
        )
        assert (len(claims), status) in ((1, "running"), (0, "cancelled"))
        if claims:
            with pytest.raises(LeaseLost):
                await stores[0].write(mailbox.own, claims[0])
            await stores[0].write(done, claims[0])
        assert not await stores[0].read(mailbox.has_ready, after(1))


async def test_writers_with_the_same_mailboxes_in_other_orders_get_through(stores: list[Store]) -> None:
    names = await stores[0].write(agents, 8)

    async def post_all(number: int) -> None:
        order = names if number % 2 else names[::-1]
        posts = [
            stores[number].write(mailbox.post, message(name, f"{number} {i} {name}"), T0)
            for i in range(10)
            for name in order
        ]
        await asyncio.gather(*posts)

    async with asyncio.timeout(150), asyncio.TaskGroup() as group:
        for number in range(len(stores)):
            group.create_task(post_all(number))
    assert len(await stores[0].read(traces.runs, most=1000)) == len(stores) * 80


async def test_row_that_somebody_keeps_locked_is_one_clear_error(migrated_postgres_url: str) -> None:
    async with Store(migrated_postgres_url) as store:
        coder = await store.write(agent, "a")
        with psycopg.connect(migrated_postgres_url) as other:
            other.execute("SELECT 1 FROM lanes WHERE agent_id = %s FOR UPDATE", [coder])
            with pytest.raises(StoreUnavailable, match=r"did not take the change: .*: try again$"):
                await store.write(mailbox.post, message(coder, "run"), T0)
            other.rollback()
        await store.write(mailbox.post, message(coder, "run"), T0)
