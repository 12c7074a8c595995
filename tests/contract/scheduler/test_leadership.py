"""A duty is one process's at a time: held, shown, taken over from the silent and the dead, lost for good."""

import asyncio
import os
from datetime import timedelta

import pytest

from interlock.scheduler.fencing import FencedStore
from interlock.scheduler.leadership import Leadership
from interlock.store.auditing import audit
from interlock.store.duties import leaders
from interlock.store.duties.leaders import Candidate, LeadershipLost
from interlock.store.engine import Store
from interlock.store.mailboxes import processes
from interlock.store.tx import Tx
from interlock.testing import FakeClock

TAKEOVER_S = 45.0
ELSEWHERE = Candidate("other", "elsewhere", 1, "1")


def claimant(store: Store, clock: FakeClock, name: str = "duty") -> Leadership:
    return Leadership(store, clock, name, takeover_s=TAKEOVER_S)


async def test_first_one_leads_and_the_others_stand_by(store: Store) -> None:
    clock = FakeClock()
    first, second, other = claimant(store, clock), claimant(store, clock), claimant(store, clock, "another")
    assert await first.hold()
    assert not await second.hold()
    assert await other.hold()
    assert (first.fence, first.leads, second.fence, second.leads) == (1, True, 0, False)


async def test_of_many_at_once_exactly_one_leads(migrated_url: str, store: Store) -> None:
    clock = FakeClock()
    async with Store(migrated_url) as another:
        crowd = [claimant(each, clock) for each in (store, another) * 8]
        assert sum(await asyncio.gather(*(each.hold() for each in crowd))) == 1


async def test_silent_leader_is_followed_after_its_time_whatever_the_wall_clock_says(store: Store) -> None:
    clock = FakeClock()
    assert await store.write(leaders.take, "duty", None, ELSEWHERE, clock.now()) == 1
    follower = claimant(store, clock)
    for jump in (timedelta(hours=1), timedelta(hours=-2), timedelta(0)):
        assert not await follower.hold()
        clock.jump_to(clock.now() + jump)
    clock.advance(TAKEOVER_S - 1)
    assert not await follower.hold()
    clock.advance(1)
    assert await follower.hold()
    assert follower.fence == 2


async def test_sign_of_life_begins_the_wait_anew(store: Store) -> None:
    clock = FakeClock()
    await store.write(leaders.take, "duty", None, ELSEWHERE, clock.now())
    follower = claimant(store, clock)
    for _ in range(3):
        assert not await follower.hold()
        clock.advance(TAKEOVER_S - 1)
        assert await store.write(leaders.renew, "duty", ELSEWHERE.who, 1)
    assert not await follower.hold()


@pytest.mark.parametrize(("pid", "began"), [(2**22 + 1, "1"), (os.getpid(), "another start")])
async def test_dead_process_of_this_machine_is_followed_at_once(store: Store, pid: int, began: str) -> None:
    clock = FakeClock()
    await store.write(leaders.take, "duty", None, Candidate("dead", processes.host(), pid, began), clock.now())
    assert await claimant(store, clock).hold()


async def test_leader_that_was_cut_off_comes_back_without_its_duty(store: Store) -> None:
    clock = FakeClock()
    before, after = claimant(store, clock), claimant(store, clock)
    assert await before.hold()
    fenced = FencedStore(store, "duty", before.fence)
    await fenced.write(raise_alert, "while it led", clock)
    assert not await after.hold()
    clock.advance(TAKEOVER_S)
    assert not before.leads
    assert await after.hold()
    with pytest.raises(LeadershipLost):
        await fenced.write(raise_alert, "too late", clock)
    assert not await before.hold()
    assert [row.text for row in await store.read(audit.alerts)] == ["while it led"]
    assert await after.hold()


async def test_leader_keeps_its_duty_where_nobody_took_it_meanwhile(store: Store) -> None:
    clock = FakeClock()
    leader = claimant(store, clock)
    assert await leader.hold()
    clock.advance(10 * TAKEOVER_S)
    assert not leader.leads
    assert await leader.hold()
    assert (leader.leads, leader.fence) == (True, 1)


async def test_duty_that_was_given_back_is_free_at_once_and_its_fence_is_spent(store: Store) -> None:
    clock = FakeClock()
    before, after = claimant(store, clock), claimant(store, clock)
    assert await before.hold()
    spent = before.fence
    await before.release()
    with pytest.raises(LeadershipLost):
        await store.write(leaders.check, "duty", spent)
    assert await after.hold()
    assert not await before.hold()


async def test_holder_that_stirs_at_the_last_moment_is_not_unseated(store: Store) -> None:
    clock = FakeClock()
    await store.write(leaders.take, "duty", None, ELSEWHERE, clock.now())
    row = await store.read(leaders.leader, "duty")
    assert row is not None
    await store.write(leaders.renew, "duty", ELSEWHERE.who, 1)
    mine = Candidate("me", "here", 2, "2")
    assert await store.write(leaders.take, "duty", (row.fence, row.beat), mine, clock.now()) is None


def raise_alert(tx: Tx, text: str, clock: FakeClock) -> None:
    audit.alert(tx, clock.now(), project_id="p", severity="info", kind="TEST", text=text, key=text)
