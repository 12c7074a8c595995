"""Mailboxes keep order, whatever is posted when; several claimers at once are tried in `test_contention`."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.runs import traces
from tests.contract.store.furniture import T0, after, agent, agents, claimed, done, message


async def take(store: Store, seconds: float = 0, most: int = 10) -> list[Claim]:
    return await store.write(mailbox.claim, "w", most, after(seconds))


async def take_ids(store: Store, seconds: float = 0) -> list[str]:
    return [claim.run.id for claim in await take(store, seconds)]


async def drain(store: Store, seconds: float = 0) -> list[str]:
    """The ids of everything that is ready, in the order in which one worker gets it."""
    order = []
    while claims := await take(store, seconds):
        for claim in claims:
            order.append(claim.run.id)
            await store.write(done, claim, after(seconds))
    return order


async def test_message_posted_twice_makes_one_run(store: Store) -> None:
    coder = await store.write(agent, "a")
    assert await store.write(mailbox.post, message(coder, "key", run_id="first"), T0) == ("first", True)
    assert await store.write(mailbox.post, message(coder, "key", run_id="second"), T0) == ("first", False)
    assert await drain(store) == ["first"]


async def test_runs_of_an_agent_come_in_the_order_of_their_posts(store: Store) -> None:
    coder = await store.write(agent, "a")
    for i in range(5):
        await store.write(mailbox.post, message(coder, f"r{i}"), after(i % 2))
    assert await drain(store, 10) == ["r0", "r1", "r2", "r3", "r4"]


async def test_agent_has_one_running_run(store: Store) -> None:
    coder = await store.write(agent, "a")
    for key in ("r0", "r1"):
        await store.write(mailbox.post, message(coder, key), T0)
    first = await take(store)
    assert [claim.run.id for claim in first] == ["r0"]
    assert await take_ids(store) == []
    assert not await store.read(mailbox.has_ready, T0)
    await store.write(done, first[0])
    assert await store.read(mailbox.has_ready, T0)
    assert await take_ids(store) == ["r1"]


async def test_database_itself_refuses_an_agent_a_second_running_run(store: Store) -> None:
    coder = await store.write(agent, "a")
    for key in ("r0", "r1"):
        await store.write(mailbox.post, message(coder, key), T0)
    await take(store)
    overtaking = sa.update(mailbox.RUNS).where(mailbox.RUNS.c.id == "r1").values(status="running")
    with pytest.raises(Exception, match=r"(?i)unique"):
        await store.write(lambda tx: tx.run(overtaking))


async def test_claim_takes_no_more_than_it_was_asked_to(store: Store) -> None:
    for coder in await store.write(agents, 12):
        await store.write(mailbox.post, message(coder, f"run of {coder}"), T0)
    assert [len(await take(store, most=5)) for _ in range(4)] == [5, 5, 2, 0]


async def test_lane_that_waited_longest_is_served_first(store: Store) -> None:
    for i, coder in enumerate(await store.write(agents, 4)):
        await store.write(mailbox.post, message(coder, f"r{i}"), after(-i))
    assert [(await take(store, most=1))[0].run.id for _ in range(4)] == ["r3", "r2", "r1", "r0"]


async def test_delayed_run_joins_when_it_is_due_and_keeps_nobody_waiting(store: Store) -> None:
    coder = await store.write(agent, "a")
    await store.write(mailbox.post, message(coder, "later", due_at=after(60)), T0)
    assert await drain(store, 1) == []
    await store.write(mailbox.post, message(coder, "now"), after(2))
    assert await drain(store, 3) == ["now"]
    assert not await store.read(mailbox.has_ready, after(59))
    await store.write(mailbox.post, message(coder, "after"), after(61))
    assert await drain(store, 62) == ["later", "after"]


async def test_delayed_run_whose_time_is_past_joins_at_the_end(store: Store) -> None:
    coder = await store.write(agent, "a")
    await store.write(mailbox.post, message(coder, "now"), T0)
    await store.write(mailbox.post, message(coder, "past", due_at=after(-60)), T0)
    assert await drain(store) == ["now", "past"]


async def test_retrying_run_keeps_its_place_and_blocks_its_lane(store: Store) -> None:
    coder = await store.write(agent, "a")
    for key in ("fails", "next"):
        await store.write(mailbox.post, message(coder, key), T0)
    [claim] = await take(store)
    await store.write(mailbox.requeue, claim, after(1), due_at=after(30), error="provider down")
    await store.write(mailbox.post, message(coder, "new"), after(2))
    assert await drain(store, 29) == []
    assert not await store.read(mailbox.has_ready, after(29))
    [again] = await take(store, 30)
    assert (again.run.id, again.run.attempt, again.lease > claim.lease) == ("fails", 1, True)
    await store.write(done, again, after(30))
    assert await drain(store, 30) == ["next", "new"]


async def test_run_handed_back_without_fault_goes_on_at_once_with_the_same_attempt(store: Store) -> None:
    coder = await store.write(agent, "a")
    claim = await store.write(claimed, coder, "run")
    await store.write(mailbox.requeue, claim, T0, due_at=None, error=None, failed=False)
    [again] = await take(store)
    assert (again.run.id, again.run.attempt, again.run.started_at) == ("run", 0, T0)


async def test_parked_task_agents_lane_stays_closed_until_the_wake(store: Store) -> None:
    coder = await store.write(agent, "a", "task")
    claim = await store.write(claimed, coder, "parked")
    await store.write(mailbox.post, message(coder, "next"), T0)
    await store.write(mailbox.park, claim, T0)
    await store.write(mailbox.post, message(coder, "new"), after(1))
    assert await drain(store, 3600) == []
    await store.write(mailbox.wake, "parked", after(2))
    assert await drain(store, 3) == ["parked", "next", "new"]


async def test_parked_conversation_goes_on_and_is_first_after_the_wake(store: Store) -> None:
    coder = await store.write(agent, "a", "user")
    claim = await store.write(claimed, coder, "parked")
    for key in ("next", "last"):
        await store.write(mailbox.post, message(coder, key), T0)
    await store.write(mailbox.park, claim, T0)
    [following] = await take(store, 1)
    assert following.run.id == "next"
    await store.write(mailbox.wake, "parked", after(2))
    assert await take_ids(store, 2) == []
    await store.write(done, following, after(3))
    assert await drain(store, 3) == ["parked", "last"]


async def test_wake_of_a_run_that_does_not_wait_changes_nothing(store: Store) -> None:
    coder = await store.write(agent, "a")
    claim = await store.write(claimed, coder, "run")
    await store.write(mailbox.wake, "run", T0)
    await store.write(mailbox.wake, "no such run", T0)
    assert await take_ids(store) == []
    await store.write(done, claim)
    await store.write(mailbox.wake, "run", T0)
    assert await take_ids(store) == []


async def test_coalescing_message_joins_a_queued_run_but_not_a_running_one(store: Store) -> None:
    coder = await store.write(agent, "a")
    first = await store.write(mailbox.post, message(coder, "r0", coalesce=True), T0)
    assert await store.write(mailbox.post, message(coder, "r1", coalesce=True), T0) == (first[0], False)
    [claim] = await take(store)
    assert await store.write(mailbox.post, message(coder, "r2", coalesce=True), T0) == ("r2", True)
    assert await store.write(mailbox.post, message(coder, "r3", coalesce=True), T0) == ("r2", False)
    await store.write(done, claim)
    assert await drain(store) == ["r2"]


async def test_clock_that_runs_backwards_neither_reorders_nor_blocks(store: Store) -> None:
    coder = await store.write(agent, "a")
    await store.write(mailbox.post, message(coder, "r0"), T0)
    await store.write(mailbox.post, message(coder, "r1"), after(-3600))
    await store.write(mailbox.post, message(coder, "r2", due_at=after(-3600 + 60)), after(-3600))
    await store.write(mailbox.post, message(coder, "r3"), after(-3600 + 1))
    assert await drain(store, -3600 + 2) == ["r0", "r1", "r3"]
    assert await drain(store, -3600 + 61) == ["r2"]


async def test_clock_that_runs_backwards_does_not_hide_what_was_ready_before(store: Store) -> None:
    first, second = await store.write(agents, 2)
    await store.write(mailbox.post, message(first, "r0"), T0)
    await store.write(mailbox.post, message(first, "r1"), T0)
    await store.write(mailbox.post, message(second, "woken"), after(-10))
    [parked] = await take(store, most=1)
    await store.write(mailbox.park, parked, T0)
    await store.write(mailbox.wake, "woken", T0)
    [claim] = await take(store, most=1)
    await store.write(done, claim, T0)
    assert await store.read(mailbox.has_ready, after(-3600))
    assert sorted(await drain(store, -3600)) == sorted({"r0", "r1", "woken"} - {claim.run.id})


async def test_paused_lane_gives_out_nothing(store: Store) -> None:
    from interlock.store import squad

    coder = await store.write(agent, "a")
    await store.write(mailbox.post, message(coder, "run"), T0)
    member = (await store.read(squad.agent, coder)).member_id  # type: ignore[union-attr]
    await store.write(squad.set_state, member, "QUARANTINED", "odd")
    assert await drain(store) == []
    await store.write(squad.set_state, member, "ACTIVE", None)
    assert await drain(store) == ["run"]


async def test_run_keeps_what_it_was_posted_with(store: Store) -> None:
    coder = await store.write(agent, "a")
    posted = message(coder, "run", cause_id="c", parent_run_id="p", model="m/x", simulated=True, labels=("untrusted",))
    await store.write(mailbox.post, posted, T0)
    [claim] = await take(store, 1)
    row = await store.read(traces.run, "run")
    assert row is not None
    assert row == claim.run
    assert (row.cause_id, row.parent_run_id, row.model, row.simulated) == ("c", "p", "m/x", True)
    assert (row.labels, row.payload, row.created_at, row.started_at) == (["untrusted"], {"n": "run"}, T0, after(1))
    assert row.created_at.utcoffset() == timedelta(0)
