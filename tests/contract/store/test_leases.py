"""A worker that lost its lease cannot write, what the dead held goes back, and runs can be cancelled."""

from collections.abc import Callable

import pytest

from interlock.store.engine import Store
from interlock.store.errors import LeaseLost
from interlock.store.mailboxes import dead_letters, leases, mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.money import ledger
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, account, after, agent, ask, claimed, done, message, spender, unsettled


def own(tx: Tx, claim: Claim) -> None:
    mailbox.own(tx, claim, steps=1)


def own_even_if_controlled(tx: Tx, claim: Claim) -> None:
    mailbox.own(tx, claim, even_if_controlled=True)


def park(tx: Tx, claim: Claim) -> None:
    mailbox.park(tx, claim, T0)


def requeue(tx: Tx, claim: Claim) -> None:
    mailbox.requeue(tx, claim, T0, due_at=None, error=None)


@pytest.mark.parametrize("write", [own, own_even_if_controlled, done, park, requeue])
async def test_stale_worker_cannot_write(store: Store, write: Callable[[Tx, Claim], None]) -> None:
    coder = await store.write(agent, "a")
    stale = await store.write(claimed, coder, "run")
    assert await store.write(leases.take_back, "w", T0) == ["run"]
    with pytest.raises(LeaseLost):
        await store.write(write, stale)
    [fresh] = await store.write(mailbox.claim, "other", 1, T0)
    with pytest.raises(LeaseLost):
        await store.write(write, stale)
    row = await store.read(traces.run, "run")
    assert row is not None
    assert (row.status, row.worker_id, row.fence, row.step_count) == ("running", "other", fresh.lease, 0)
    await store.write(write, fresh)


async def test_run_taken_back_goes_first_with_its_steps_and_attempt(store: Store) -> None:
    coder = await store.write(agent, "a")
    claim = await store.write(claimed, coder, "run")
    await store.write(mailbox.post, message(coder, "next"), T0)
    await store.write(own, claim)
    await store.write(leases.take_back, "w", after(1))
    [again] = await store.write(mailbox.claim, "other", 5, after(2))
    assert (again.run.id, again.steps, again.run.attempt) == ("run", 1, 0)


async def test_take_back_leaves_others_and_parked_lanes_alone(store: Store) -> None:
    first, second, third = [await store.write(agent, name, "task") for name in "abc"]
    kept = await store.write(claimed, first, "kept", "other")
    parked = await store.write(claimed, second, "parked")
    await store.write(park, parked)
    await store.write(claimed, third, "run")
    assert await store.write(leases.take_back, "w", T0) == ["run"]
    await store.write(own, kept)
    assert [c.run.id for c in await store.write(mailbox.claim, "new", 9, after(1))] == ["run"]


async def test_open_reservations_of_the_dead_are_charged_in_full_and_marked(store: Store) -> None:
    coder = await store.write(agent, "a")
    await store.write(claimed, coder, "run")
    for name in ("mission", "run"):
        await store.write(account, name, 1000)
    spends = spender("run", "mission", "run")
    await store.write(ledger.reserve, spends, step=1, attempt=1, model="m", worst_microusd=300, now=T0)
    await store.write(
        ledger.settle, spends, step=1, attempt=1, model="m", worst_microusd=300, actual_microusd=100, now=T0
    )  # fmt: skip
    await store.write(ledger.reserve, spends, step=2, attempt=1, model="m", worst_microusd=250, now=T0)
    await store.write(leases.take_back, "w", after(1))
    await store.write(leases.take_back, "w", after(2))
    for name in ("mission", "run"):
        row = await store.read(ledger.account, name)
        assert row is not None
        assert (row.settled_microusd, row.reserved_microusd) == (350, 0)
    assert await store.read(unsettled, "run") == []
    run = await store.read(traces.run, "run")
    assert run is not None
    assert run.cost_microusd == 250


async def test_worker_declared_dead_hears_it_with_its_next_beat(store: Store) -> None:
    await store.write(leases.register, "w", "host", 1, "start", T0)
    assert await store.write(leases.beat, "w", after(1))
    assert [(w.id, w.beat) for w in await store.read(leases.live)] == [("w", 1)]
    await store.write(leases.take_back, "w", after(2))
    assert not await store.write(leases.beat, "w", after(3))
    assert await store.read(leases.live) == []


async def test_queued_run_is_cancelled_at_once_and_the_next_is_ready(store: Store) -> None:
    coder = await store.write(agent, "a")
    await store.write(mailbox.post, message(coder, "later", due_at=after(60)), T0)
    await store.write(mailbox.post, message(coder, "head"), T0)
    await store.write(mailbox.post, message(coder, "next"), T0)
    assert await store.write(leases.cancel, "head", T0, "not wanted") == "cancelled"
    assert await store.write(leases.cancel, "head", T0, "again") == "cancelled"
    row = await store.read(traces.run, "head")
    assert row is not None
    assert (row.status, row.stop_reason, row.error, row.completed_at) == ("cancelled", "cancelled", "not wanted", T0)
    [claim] = await store.write(mailbox.claim, "w", 9, T0)
    assert claim.run.id == "next"
    await store.write(done, claim)
    assert await store.write(leases.cancel, "later", T0, "not wanted") == "cancelled"
    assert not await store.read(mailbox.has_ready, after(61))


async def test_parked_run_is_cancelled_at_once_with_its_questions_and_opens_its_lane(store: Store) -> None:
    coder = await store.write(agent, "a", "task")
    claim = await store.write(claimed, coder, "parked")
    await store.write(ask, "q", run_id="parked")
    await store.write(mailbox.post, message(coder, "next"), T0)
    await store.write(park, claim)
    assert await store.write(leases.cancel, "parked", T0, "not wanted") == "cancelled"
    assert (await store.read(approvals.approval, "q")).status == "void"  # type: ignore[union-attr]
    assert [c.run.id for c in await store.write(mailbox.claim, "w", 9, T0)] == ["next"]


async def test_running_run_is_asked_to_stop_and_may_still_end(store: Store) -> None:
    coder = await store.write(agent, "a")
    claim = await store.write(claimed, coder, "run")
    assert await store.write(leases.cancel, "run", T0, "not wanted") == "running"
    assert [(row.id, row.control) for row in await store.read(leases.controlled, "w")] == [("run", "cancel")]
    for write in (own, park):
        with pytest.raises(LeaseLost):
            await store.write(write, claim)
    await store.write(own_even_if_controlled, claim)
    await store.write(done, claim)
    assert await store.write(leases.cancel, "run", T0, "too late") == "completed"
    assert await store.write(leases.cancel, "no such run", T0, "what") == "unknown"


async def test_runs_put_off_by_a_fault_go_on_at_once_when_that_is_asked(store: Store) -> None:
    coder = await store.write(agent, "a")
    claim = await store.write(claimed, coder, "run")
    await store.write(mailbox.requeue, claim, T0, due_at=after(600), error="no key")
    await store.write(mailbox.post, message(await store.write(agent, "b"), "delayed", due_at=after(600)), T0)
    await store.write(leases.retry_now, after(1))
    assert [c.run.id for c in await store.write(mailbox.claim, "w", 9, after(1))] == ["run"]


async def test_trying_again_at_once_opens_no_lane_that_is_closed_until_a_person_has_answered(store: Store) -> None:
    coder = await store.write(agent, "a", "task")
    await store.write(claimed, coder, "first")
    await store.write(leases.take_back, "w", T0, crash_limit=0)
    second = await store.write(claimed, coder, "second")
    await store.write(mailbox.requeue, second, T0, due_at=after(600), error="the model is busy")
    assert await store.write(dead_letters.revive, "first", T0)
    [first] = await store.write(mailbox.claim, "w", 9, T0)
    assert first.run.id == "first"
    await store.write(park, first)
    await store.write(leases.retry_now, after(1))
    assert await store.write(mailbox.claim, "w", 9, after(1)) == []
    await store.write(mailbox.wake, "first", after(2))
    [first] = await store.write(mailbox.claim, "w", 9, after(2))
    await store.write(done, first, after(3))
    assert [claim.run.id for claim in await store.write(mailbox.claim, "w", 9, after(3))] == ["second"]
