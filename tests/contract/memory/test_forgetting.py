"""The jobs that forget: memories fade once a day, what was put away goes after a while, and conversations in time."""

from datetime import timedelta
from pathlib import Path

import pytest

from interlock.memory import archive
from interlock.oversight import memory_decay, retention
from interlock.oversight.memory_decay import Faded
from interlock.store.engine import Store
from interlock.store.knowledge import memories, memory_versions
from interlock.testing import FakeClock
from tests.contract.memory.notes import ANN, NOW, after, found, keep, recalled
from tests.contract.oversight.test_retention import runtime_of


async def test_all_memories_fade_once_a_day_whoever_does_it(store: Store, tmp_path: Path) -> None:
    for number in range(memory_decay.PAGE + 20):
        await keep(store, f"kiosk number{number}", type="observation")
    runtimes = [runtime_of(store, tmp_path, after(1.5)) for _ in range(2)]
    assert [await memory_decay.sweep(runtime) for runtime in runtimes] == [Faded(memory_decay.PAGE + 20, 0), Faded()]
    assert {each.decay for each in await recalled(store, "kiosk", days=1.5, most=50)} == {0.9}
    clock = runtimes[0].clock
    assert isinstance(clock, FakeClock)
    clock.advance(timedelta(days=27.6).total_seconds())
    assert (await memory_decay.sweep(runtimes[0])).put_away == memory_decay.PAGE + 20
    assert await found(store, "kiosk") == []


async def test_settings_say_how_memories_fade(store: Store, tmp_path: Path) -> None:
    await keep(store, "kiosk", type="observation")
    runtime = runtime_of(store, tmp_path, after(2))
    slow = runtime.settings.memory.model_copy(update={"daily_decay": 0.5, "remove_below": 0.3})
    object.__setattr__(runtime, "settings", runtime.settings.model_copy(update={"memory": slow}))
    assert await memory_decay.sweep(runtime) == Faded(1, 1)


@pytest.mark.parametrize("days", [-300, 300])
async def test_a_clock_that_jumps_and_comes_back_costs_nothing_for_good(
    store: Store, tmp_path: Path, days: int
) -> None:  # fmt: skip
    kept = await keep(store, "kiosk", type="observation")
    await memory_decay.sweep(runtime_of(store, tmp_path, after(days)))
    await memory_decay.sweep(runtime_of(store, tmp_path, after(1)))
    await memory_decay.sweep(runtime_of(store, tmp_path, after(3)))
    if days > 0:
        await store.write(archive.restore, kept.id, 1, ANN, after(3))
    (left,) = await recalled(store, "kiosk", days=3)
    assert left.decay >= 0.9**3 - 1e-9


async def test_what_was_put_away_goes_with_its_versions_after_ninety_days(store: Store, tmp_path: Path) -> None:
    gone, kept = await keep(store, "kiosk blue"), await keep(store, "kiosk green")
    await store.write(archive.forget, gone.id, ANN, "wrong", NOW)
    await retention.prune(runtime_of(store, tmp_path, after(89)))
    assert await store.read(memories.memory, gone.id) is not None
    done = await retention.prune(runtime_of(store, tmp_path, after(91)))
    assert done == {"memories": 1}
    assert await store.read(memories.memory, gone.id) is None
    assert await store.read(memory_versions.of, gone.id) == []
    assert len(await store.read(memory_versions.of, kept.id)) == 1
    assert await found(store, "kiosk") == ["kiosk green"]


async def test_conversations_go_when_what_was_said_in_chats_does(store: Store, tmp_path: Path) -> None:
    await keep(store, "kiosk talk", type="conversation")
    await keep(store, "kiosk fact")
    assert await retention.prune(runtime_of(store, tmp_path, after(400))) == {}
    done = await retention.prune(runtime_of(store, tmp_path, after(8), messages_days=7))
    assert done == {"memories of conversations": 1}
    assert await found(store, "kiosk talk") == ["kiosk fact"]
