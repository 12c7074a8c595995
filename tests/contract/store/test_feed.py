"""What those who watch are told stands in the transaction that makes it so, and no id is ever given twice."""

from datetime import timedelta
from typing import Any

from interlock.core.clock import Clock
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.mailboxes import controls
from interlock.store.mailboxes.controls import Mode
from interlock.store.messages import feed
from interlock.store.tx import Tx
from interlock.testing.clock import FakeClock


def tell(tx: Tx, clock: Clock, names: list[str]) -> None:
    for name in names:
        feed.append(tx, name, clock.now(), project_id="default", payload={})


async def test_old_events_are_forgotten_and_the_last_of_them_keeps_the_place(store: Store) -> None:
    clock = FakeClock()
    await store.write(tell, clock, ["a", "b", "c"])
    [_, _, third] = await store.read(feed.after, 0, 10)
    clock.advance(90_000)
    before = clock.now() - timedelta(days=1)
    assert await store.write(feed.prune, before) == 2
    assert await store.write(feed.prune, before) == 0
    await store.write(tell, clock, ["d"])
    rows = await store.read(feed.after, 0, 10)
    assert [row.name for row in rows] == ["c", "d"]
    assert rows[1].id > third.id, "no id is given out twice"
    assert await store.read(feed.has_forgotten, 0, before)
    assert not await store.read(feed.has_forgotten, third.id - 1, before)
    assert not await store.read(feed.has_forgotten, third.id, before)


async def test_many_old_events_go_in_bites(store: Store) -> None:
    clock = FakeClock()
    await store.write(tell, clock, [str(number) for number in range(9)])
    clock.advance(90_000)
    gone = [await store.write(feed.prune, clock.now(), 3) for _ in range(4)]
    assert gone == [3, 3, 2, 0]


async def test_what_is_forgotten_of_a_person_leaves_no_id_to_be_given_again(store: Store) -> None:
    def say(tx: Tx, *texts: str) -> None:
        for text in texts:
            feed.append(tx, "said", FakeClock().now(), project_id="default", payload={"text": text})

    await store.write(say, "by Olga", "100", "50 %", "by Olga")
    last = await store.read(feed.last)
    await store.write(feed.forget, "Olga")
    assert [row.payload for row in await store.read(feed.after, 0, 10)] == [{"text": "100"}, {"text": "50 %"}, {}]
    await store.write(say, "later")
    assert [row.payload for row in await store.read(feed.after, last, 10)] == [{"text": "later"}]
    await store.write(feed.forget, "%")
    assert [row.payload for row in await store.read(feed.after, 0, 10)] == [{"text": "100"}, {}, {"text": "later"}]


async def test_who_writes_is_seen_until_the_commit(store: Store) -> None:
    assert await store.read(feed.writers) == frozenset()

    def within(tx: Tx, clock: Clock) -> Any:
        tell(tx, clock, ["a"])
        return feed.writers(tx)

    seen = await store.write(within, FakeClock())
    assert len(seen) == (1 if store.dialect == "postgresql" else 0)
    assert await store.read(feed.writers) == frozenset()


async def test_alert_and_control_are_told_once(store: Store) -> None:
    now = FakeClock().now()

    def raise_it(tx: Tx) -> None:
        audit.alert(tx, now, project_id="default", severity="warning", kind="TEST", text="look", key="k")

    await store.write(raise_it)
    await store.write(raise_it)
    await store.write(controls.set_mode, Mode.PAUSED, "per_1", "a test", now)
    await store.write(controls.set_mode, Mode.PAUSED, "per_1", "a test", now)
    rows = await store.read(feed.after, 0, 10)
    assert [(row.name, row.project_id) for row in rows] == [("alert_raised", "default"), ("control_changed", "")]
    assert rows[1].payload["mode"] == str(Mode.PAUSED)
