"""Jobs are fired by who leads, each time once, on record first, whatever happens to clocks, jobs and processes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.runtime import Runtime
from interlock.core.clock import Clock, SystemClock
from interlock.core.values import SYSTEM
from interlock.scheduler import runner
from interlock.scheduler.jobs import Job, prune, slot_at
from interlock.scheduler.leadership import Leadership
from interlock.scheduler.runner import DUTY, Scheduler
from interlock.scheduler.timer import Timer
from interlock.settings import load_settings
from interlock.store.auditing import audit
from interlock.store.drivers.postgres import Unreachable
from interlock.store.duties import firings, leaders
from interlock.store.duties.firings import FIRINGS
from interlock.store.duties.leaders import Candidate
from interlock.store.engine import Store
from interlock.store.errors import StoreGone
from interlock.store.tx import Tx
from interlock.testing import FakeClock
from interlock.testing.runtime import runtime_over
from interlock.testing.scripted import ScriptedModel
from tests.contract.runner.stage import until

Work = Callable[[Runtime], Awaitable[object]]


def runtime_of(store: Store, home: Path, clock: Clock) -> Runtime:
    settings = load_settings(home, {}, {"home": home, "database_url": store.url})
    return runtime_over(store, settings, ScriptedModel(), clock=clock)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def runtime(store: Store, tmp_path: Path, clock: FakeClock) -> Runtime:
    return runtime_of(store, tmp_path, clock)


@pytest.fixture
async def leading(runtime: Runtime) -> Scheduler:
    """A scheduler that leads and whose jobs are fired by the test."""
    scheduler = Scheduler(runtime, ())
    assert await scheduler.leadership.hold()
    return scheduler


def job(work: Work, every_s: float = 10.0) -> Job:
    return Job("job", every_s, work, "what it does")


async def fired(store: Store) -> list[Any]:
    return await store.read(lambda tx: tx.rows(FIRINGS.select().order_by(FIRINGS.c.id)))


async def nothing(runtime: Runtime) -> None:
    pass


async def test_each_time_is_fired_once_and_on_record_before_the_work(
    store: Store, leading: Scheduler, clock: FakeClock
) -> None:
    seen: list[list[str]] = []

    async def work(runtime: Runtime) -> str:
        seen.append([row.status for row in await fired(store)])
        return "looked at 3 things"

    each = job(work)
    assert [await leading.fire(each) for _ in range(3)] == [True, False, False]
    clock.advance(9.9)
    assert not await leading.fire(each)
    clock.advance(0.1)
    assert await leading.fire(each)
    assert seen == [["started"], ["done", "started"]]
    first, second = await fired(store)
    assert second.fire_at - first.fire_at == timedelta(seconds=10)
    assert (first.status, first.outcome, first.fence) == ("done", "looked at 3 things", leading.leadership.fence)


async def test_every_job_of_an_installation_does_its_work_on_an_empty_database(
    store: Store, runtime: Runtime, clock: FakeClock
) -> None:
    scheduler = Scheduler(runtime)
    assert await scheduler.leadership.hold()
    names = [each.name for each in scheduler.jobs]
    assert len(set(names)) == len(names)
    for each in scheduler.jobs:
        assert await scheduler.fire(each)
    recorded = [each.name for each in scheduler.jobs if each.on_record]
    assert [(row.job, row.status) for row in await fired(store)] == [(name, "done") for name in recorded]


async def test_two_processes_never_fire_the_same_time(migrated_url: str, leading: Scheduler, clock: FakeClock) -> None:
    count = 0

    async def work(runtime: Runtime) -> None:
        nonlocal count
        count += 1

    async with Store(migrated_url) as another:
        standing_by = Scheduler(runtime_of(another, leading.runtime.settings.home, clock), ())
        assert not await standing_by.leadership.hold()
        for _ in range(5):
            await asyncio.gather(*(each.fire(job(work)) for each in (leading, standing_by) * 3))
            clock.advance(10)
        await leading.leadership.release()
        assert await standing_by.leadership.hold()
        await asyncio.gather(leading.fire(job(work)), standing_by.fire(job(work)))
    assert count == 6
    assert [row.fence for row in await fired(leading.runtime.store)] == [1, 1, 1, 1, 1, 3]


async def test_leader_that_was_cut_off_fires_nothing_and_its_job_writes_nothing(
    store: Store, runtime: Runtime, leading: Scheduler, clock: FakeClock
) -> None:
    begun, goes_on, wrote = asyncio.Event(), asyncio.Event(), []

    async def slow(runtime: Runtime) -> None:
        begun.set()
        await goes_on.wait()
        await runtime.store.write(raise_alert, clock)
        wrote.append(True)

    cut_off = asyncio.create_task(leading.fire(job(slow)))
    await begun.wait()
    successor = Scheduler(runtime, ())
    assert not await successor.leadership.hold()
    clock.advance(runtime.settings.times.leader_takeover_s)
    assert await successor.leadership.hold()
    goes_on.set()
    assert not await cut_off
    assert not wrote
    assert not await leading.fire(job(nothing))
    assert [row.status for row in await fired(store)] == ["started"]
    assert await successor.fire(job(nothing))
    assert [(row.status, row.outcome) for row in await fired(store)] == [
        ("failed", "cut off: its process ended"), ("done", None),
    ]  # fmt: skip
    assert await store.read(audit.alerts) == []


async def test_job_that_fails_is_on_record_with_one_alert_and_is_fired_again(
    store: Store, leading: Scheduler, clock: FakeClock
) -> None:
    async def broken(runtime: Runtime) -> None:
        raise RuntimeError("the disk is on fire")

    for _ in range(3):
        assert await leading.fire(job(broken))
        clock.advance(10)
    assert {(row.status, row.outcome) for row in await fired(store)} == {
        ("failed", "RuntimeError: the disk is on fire")
    }
    (alert,) = await store.read(audit.alerts)
    assert (alert.kind, alert.subject) == ("JOB_FAILED", "job")
    assert "the disk is on fire" in alert.text


@pytest.mark.parametrize("on_record", [True, False])
async def test_alert_about_a_job_is_settled_by_the_firing_that_works_whoever_leads_then(
    store: Store, runtime: Runtime, leading: Scheduler, clock: FakeClock, on_record: bool
) -> None:
    works = [False, True, True, False, False, True]

    async def sometimes(runtime: Runtime) -> None:
        if not works.pop(0):
            raise RuntimeError("the disk is on fire")

    each, leader, counts = replace(job(sometimes), on_record=on_record), leading, []
    for number in range(6):
        if number == 5:
            await leading.leadership.release()
            leader = Scheduler(runtime, ())
            assert await leader.leadership.hold()
        assert await leader.fire(each)
        counts.append(len(await store.read(audit.alerts)))
        clock.advance(10)
    assert counts == [1, 0, 0, 1, 1, 0]
    assert {row.acked_by for row in await store.read(lambda tx: audit.alerts(tx, open_only=False))} == {SYSTEM.id}


async def test_job_whose_connection_is_lost_is_on_record_without_an_alert(store: Store, leading: Scheduler) -> None:
    async def cut_off(runtime: Runtime) -> None:
        raise Unreachable("PostgreSQL went away")

    assert await leading.fire(job(cut_off))
    assert [(row.status, row.outcome) for row in await fired(store)] == [
        ("failed", "Unreachable: PostgreSQL went away")
    ]
    assert await store.read(audit.alerts) == []


def _hand_on(tx: Tx, mine: Leadership, now: datetime) -> None:
    leaders.release(tx, DUTY, mine.id, mine.fence)
    row = leaders.leader(tx, DUTY)
    assert row is not None
    assert leaders.take(tx, DUTY, (row.fence, row.beat), Candidate("another", "elsewhere", 1, "then"), now)


async def test_who_stands_by_is_told_that_another_leads_now(
    store: Store, runtime: Runtime, leading: Scheduler, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "RENEW_S", 0.01)
    told: list[bool] = []

    async def heard(times: int) -> None:
        async with asyncio.timeout(60):
            while len(told) < times:
                await asyncio.sleep(0.01)

    standing_by = asyncio.create_task(Scheduler(runtime, ()).run(on_change=told.append))
    await heard(1)
    await asyncio.sleep(0.1)
    assert told == [False]
    await store.write(_hand_on, leading.leadership, clock.now())
    await heard(2)
    assert told == [False, False]
    standing_by.cancel()
    await asyncio.gather(standing_by, return_exceptions=True)


async def test_database_that_is_away_is_complained_of_once_and_once_more_the_next_time(
    migrated_url: str, tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(migrated_url)
    scheduler = Scheduler(runtime_of(store, tmp_path, clock), ())
    for _ in range(2):
        async with store:
            assert await scheduler.look()
            assert await scheduler.fire(job(nothing))
        for _ in range(3):
            clock.advance(10)
            await scheduler.look()
            assert not await scheduler.fire(job(nothing))
    away = [
        "the scheduler cannot show its duty: the store is closed",
        "job job could not be recorded: the store is closed",
    ]
    assert caplog.messages == away * 2


@pytest.mark.parametrize("hours", [-24 * 400, -1, 1, 24 * 400])
async def test_wall_clock_that_jumps_delays_no_job_and_doubles_none(
    leading: Scheduler, clock: FakeClock, hours: int
) -> None:
    each = job(nothing)
    assert await leading.fire(each)
    clock.advance(10)
    assert await leading.fire(each)
    clock.jump_to(clock.now() + timedelta(hours=hours))
    done = 0
    for _ in range(60):
        clock.advance(1)
        done += await leading.fire(each)
    assert 5 <= done <= 7


async def test_new_leader_does_not_fire_again_what_the_last_one_fired(
    runtime: Runtime, leading: Scheduler, clock: FakeClock
) -> None:
    daily = job(nothing, 86_400)
    assert await leading.fire(daily)
    await leading.leadership.release()
    clock.advance(3600)
    successor = Scheduler(runtime, ())
    assert await successor.leadership.hold()
    assert not await successor.fire(daily)
    clock.advance(86_400)
    assert await successor.fire(daily)


async def test_old_firings_are_forgotten_and_recent_ones_kept(
    store: Store, runtime: Runtime, leading: Scheduler, clock: FakeClock
) -> None:
    fence, now = leading.leadership.fence, clock.now()
    for age_h in (0.5, 2, 30):
        at = slot_at(now - timedelta(hours=age_h), 10)
        for name in ("waits", "prune"):
            await store.write(firings.begin, "scheduler", fence, name, at, now)
    await prune(runtime)
    kept = [(row.job, round((now - row.fire_at).total_seconds() / 3600, 1)) for row in await fired(store)]
    assert kept == [("waits", 0.5), ("prune", 0.5), ("prune", 2.0), ("prune", 30.0)]


async def test_scheduler_fires_by_the_real_clock_until_it_is_stopped_and_gives_its_duty_back(
    store: Store, tmp_path: Path
) -> None:
    count, overlapping, at_once = 0, 0, 0
    changes: list[bool] = []

    async def work(runtime: Runtime) -> None:
        nonlocal count, overlapping, at_once
        at_once += 1
        overlapping = max(overlapping, at_once)
        await asyncio.sleep(0.15)
        at_once -= 1
        count += 1

    scheduler = Scheduler(runtime_of(store, tmp_path, SystemClock()), [job(work, 0.1)])
    running = asyncio.create_task(scheduler.run(on_change=changes.append))
    await until(lambda: count >= 4)
    running.cancel()
    await asyncio.wait({running})
    assert (overlapping, changes) == (1, [True])
    rows = await fired(store)
    assert len({row.fire_at for row in rows}) == len(rows)
    assert {row.status for row in rows} == {"done"}
    found = await store.read(leaders.leader, "scheduler")
    assert found is not None
    assert found.holder is None


async def test_scheduler_that_is_told_to_stop_lets_a_short_job_end(store: Store, tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), []

    async def work(runtime: Runtime) -> None:
        begun.set()
        await asyncio.sleep(0.05)
        ended.append(True)

    scheduler = Scheduler(runtime_of(store, tmp_path, SystemClock()), [job(work, 3600)])
    running = asyncio.create_task(scheduler.run())
    await begun.wait()
    running.cancel()
    await asyncio.wait({running})
    assert ended == [True]
    assert [row.status for row in await fired(store)] == ["done"]


async def test_what_was_due_while_nobody_led_is_fired_once(
    store: Store, runtime: Runtime, leading: Scheduler, clock: FakeClock
) -> None:
    assert await leading.fire(job(nothing))
    clock.advance(3600)
    assert [await leading.fire(job(nothing)) for _ in range(2)] == [True, False]
    assert len(await fired(store)) == 2


def raise_alert(tx: Tx, clock: FakeClock) -> None:
    audit.alert(tx, clock.now(), project_id="p", severity="info", kind="TEST", text="t", key="k")


async def test_a_job_that_takes_longer_than_its_period_is_not_complained_of(caplog: pytest.LogCaptureFixture) -> None:
    fired: list[str] = []
    enough, may_end = asyncio.Event(), asyncio.Event()

    async def fire(each: Job) -> None:
        fired.append(each.name)
        if fired.count("short") >= 5:
            enough.set()
        if each.name == "long":
            await may_end.wait()

    timer = Timer([Job("long", 0.01, nothing, "x"), Job("short", 0.01, nothing, "x")], fire, SystemClock())
    async with asyncio.timeout(30):
        await enough.wait()
    may_end.set()
    timer.stop()
    assert fired.count("long") == 1
    assert caplog.text == ""


async def test_job_that_meets_a_database_that_was_taken_away_leaves_it_to_the_process_to_say_so(
    leading: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    async def looks(_: Runtime) -> None:
        raise StoreGone("interlock.db")

    for each in (job(looks), replace(job(looks), on_record=False)):
        assert not await leading.fire(each)
    assert caplog.text == ""
