"""When garbage is looked for, and among what."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator, Iterator

import pytest

from interlock.app import garbage


class Knot:
    """Holds itself: only a look for garbage finds it."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.collect()
    gc.freeze()


def test_what_is_loaded_is_not_looked_at_again() -> None:
    before, loaded = gc.get_freeze_count(), len(gc.get_objects())
    garbage.spare_loaded()
    assert gc.get_freeze_count() - before > 0.9 * loaded
    assert len(gc.get_objects()) < 0.1 * loaded


def survivor() -> "weakref.ref[Knot]":
    """Something to throw away that has survived the looks at what is new."""
    knot = Knot()
    gc.collect(0)
    gc.collect(1)
    return weakref.ref(knot)


@contextlib.asynccontextmanager
async def tidying(*, idle: bool, every_s: float) -> AsyncIterator[None]:
    task = asyncio.create_task(garbage.collect(lambda: idle, idle_s=0.001, every_s=every_s))
    await asyncio.sleep(0)
    yield
    task.cancel()


@pytest.mark.parametrize(("idle", "every_s"), [(True, 60.0), (False, 0.002)], ids=["idle", "busy for long"])
async def test_what_outlived_its_use_is_found_when_nothing_is_in_hand_and_after_a_while(
    *, idle: bool, every_s: float
) -> None:  # fmt: skip
    garbage.spare_loaded()
    async with tidying(idle=idle, every_s=every_s), asyncio.timeout(20):
        thrown = survivor()
        while thrown() is not None:
            await asyncio.sleep(0.001)


async def test_runs_are_not_held_up_by_a_look_at_everything() -> None:
    garbage.spare_loaded()
    async with tidying(idle=False, every_s=60.0):
        thrown = survivor()
        looks = gc.get_stats()[2]["collections"]
        kept = [[number] for number in range(20 * garbage.THRESHOLDS[0])]
        await asyncio.sleep(0.05)
        assert gc.get_stats()[2]["collections"] == looks
    assert thrown() is not None
    assert kept
