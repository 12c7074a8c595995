"""A time limit ends what takes too long exactly as `asyncio.timeout` does, over one timer for all."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from interlock.core.time_limit import TimeLimit

SOON_S, LONG_S = 0.01, 600.0


@asynccontextmanager
async def ours(seconds: float) -> AsyncIterator[None]:
    with TimeLimit(seconds):
        yield


@pytest.fixture(params=[ours, asyncio.timeout], ids=["ours", "asyncio"])
def limit(request: pytest.FixtureRequest) -> Callable[[float], AbstractAsyncContextManager[object]]:
    """Ours, and what it stands for."""
    return request.param  # type: ignore[no-any-return]


Limit = Callable[[float], AbstractAsyncContextManager[object]]


async def test_what_is_late_is_ended(limit: Limit) -> None:
    with pytest.raises(TimeoutError):
        async with limit(SOON_S):
            await asyncio.sleep(LONG_S)
    assert not asyncio.current_task().cancelling()  # type: ignore[union-attr]


async def test_no_time_at_all_ends_the_first_wait(limit: Limit) -> None:
    with pytest.raises(TimeoutError):
        async with limit(0):
            await asyncio.sleep(LONG_S)


async def test_what_is_in_time_goes_on(limit: Limit) -> None:
    async with limit(LONG_S):
        await asyncio.sleep(0)
    await asyncio.sleep(SOON_S)


async def test_its_own_errors_stay_what_they_are(limit: Limit) -> None:
    async def work() -> None:
        async with limit(SOON_S):
            try:
                await asyncio.sleep(LONG_S)
            except asyncio.CancelledError:
                raise ValueError("ours") from None

    with pytest.raises(ValueError, match="ours"):
        await work()


async def test_of_two_the_one_that_passed_tells(limit: Limit) -> None:
    async with limit(LONG_S):
        with pytest.raises(TimeoutError):
            async with limit(SOON_S):
                await asyncio.sleep(LONG_S)
        await asyncio.sleep(0)


async def test_the_outer_one_ends_the_inner_too(limit: Limit) -> None:
    reached = []

    async def work() -> None:
        async with limit(SOON_S):
            try:
                async with limit(LONG_S):
                    await asyncio.sleep(LONG_S)
            except BaseException as error:
                reached.append(type(error))
                raise

    with pytest.raises(TimeoutError):
        await work()
    assert reached == [asyncio.CancelledError]


async def test_a_cancellation_from_elsewhere_stays_one(limit: Limit) -> None:
    async def work() -> None:
        async with limit(LONG_S):
            await asyncio.sleep(LONG_S)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_that_comes_with_the_end_of_the_time_stays_one(limit: Limit) -> None:
    async def work() -> None:
        async with limit(SOON_S):
            try:
                await asyncio.sleep(LONG_S)
            finally:
                task.cancel()

    task = asyncio.create_task(work())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_many_end_in_the_order_of_their_times_whatever_the_order_in_which_they_were_set() -> None:
    ended: list[float] = []

    async def wait(number: int) -> None:
        with pytest.raises(TimeoutError), TimeLimit(SOON_S * number) as limit:
            await asyncio.sleep(LONG_S)
        ended.append(limit.at_s)

    await asyncio.gather(*(wait(number) for number in (4, 2, 6, 1, 5, 3)))
    assert ended == sorted(ended)
    assert len(ended) == 6


async def test_one_that_is_lifted_takes_no_later_one_with_it() -> None:
    with TimeLimit(SOON_S):
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError), TimeLimit(2 * SOON_S) as later:
        await asyncio.sleep(LONG_S)
    assert later.has_passed


async def test_setting_and_lifting_makes_one_timer_for_all() -> None:
    loop = asyncio.get_running_loop()
    set_at = []
    plain = loop.call_at
    loop.call_at = lambda when, *rest, **more: set_at.append(when) or plain(when, *rest, **more)  # type: ignore[method-assign, func-returns-value]
    for _ in range(1000):
        with TimeLimit(LONG_S):
            pass
    assert len(set_at) == 1


def test_a_loop_that_is_closed_is_let_go() -> None:
    async def work() -> "weakref.ref[asyncio.AbstractEventLoop]":
        with TimeLimit(LONG_S):
            return weakref.ref(asyncio.get_running_loop())

    gone = asyncio.run(work())
    gc.collect()
    assert gone() is None


async def test_it_is_for_tasks() -> None:
    refused = asyncio.get_running_loop().create_future()

    def outside() -> None:
        try:
            TimeLimit(LONG_S).__enter__()
        except RuntimeError as error:
            refused.set_result(str(error))

    asyncio.get_running_loop().call_soon(outside)
    assert "for a task" in await refused
