"""A crowd of runs that are ready at once: a few of them in each round of the loop, in order; cancelled as ever."""

import asyncio
from collections import Counter
from itertools import count

import pytest

from interlock.worker.fairness import Pace

CROWD, STEPS = 40, 3
A_STEP_S = 0.004
"""By the fake timer, which is asked before and after each step: a round of 0.015 s has four of them."""
MOST_A_ROUND = 5


class Rounds:
    """Counts the rounds of the running loop."""

    def __init__(self) -> None:
        self.now, self._is_over = 0, False
        self._turn()

    def _turn(self) -> None:
        self.now += 1
        if not self._is_over:
            asyncio.get_running_loop().call_soon(self._turn)

    def end(self) -> None:
        """Counts no more."""
        self._is_over = True


@pytest.fixture
def pace() -> Pace:
    """Over a timer by which every step takes as long."""
    ticks = count()
    return Pace(lambda: True, timer=lambda: next(ticks) * A_STEP_S)


async def stepping(rounds: Rounds, seen: list[tuple[int, int]], number: int) -> int:
    """Gets on whenever it may; notes in which round each of its steps was."""
    for _ in range(STEPS):
        await asyncio.sleep(0)
        seen.append((rounds.now, number))
    return number


async def seen_of(pace: Pace) -> list[tuple[int, int]]:
    """The rounds in which a crowd gets on, each with who did."""
    rounds, seen = Rounds(), list[tuple[int, int]]()
    assert await asyncio.gather(*(pace.keep(stepping(rounds, seen, n)) for n in range(CROWD))) == list(range(CROWD))
    rounds.end()
    assert len(seen) == CROWD * STEPS
    return seen


async def test_few_get_on_in_each_round_and_all_come_to_their_end_in_order(pace: Pace) -> None:
    seen = await seen_of(pace)
    in_round = [sum(at == one for at, _ in seen) for one in {at for at, _ in seen}]
    assert max(in_round) <= MOST_A_ROUND
    assert [number for _, number in seen] == list(range(CROWD)) * STEPS


async def test_steps_that_take_longer_than_those_before_wait_for_rounds_of_their_own_in_order() -> None:
    clock, short_s = [0.0], A_STEP_S / 100
    pace, rounds, seen = Pace(lambda: True, timer=lambda: clock[0]), Rounds(), list[tuple[int, int]]()

    async def quick_then_long(number: int) -> None:
        for _ in range(10):
            clock[0] += short_s
            await asyncio.sleep(0)
        clock[0] += A_STEP_S
        seen.append((rounds.now, number))
        await asyncio.sleep(0)

    await asyncio.gather(*(pace.keep(quick_then_long(n)) for n in range(CROWD)))
    rounds.end()
    assert [number for _, number in seen] == list(range(CROWD))
    assert max(Counter(at for at, _ in seen).values()) <= MOST_A_ROUND


async def test_where_there_is_no_crowd_all_get_on_in_one_round() -> None:
    seen = await seen_of(Pace(lambda: False, round_s=1e-9))
    assert len({at for at, _ in seen}) == STEPS


async def test_one_that_is_cancelled_in_the_line_or_at_work_hears_of_it_and_may_tidy_up(pace: Pace) -> None:
    heard: list[int] = []

    async def waiting(number: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            heard.append(number)
            raise

    tasks = [asyncio.create_task(pace.keep(waiting(number))) for number in range(CROWD)]
    for _ in range(4):
        await asyncio.sleep(0)
    assert pace._line, "some are still in line"
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in ended)
    assert sorted(heard) == sorted(set(heard))
    assert 0 < len(heard) < CROWD


async def test_what_it_awaits_and_what_it_raises_pass_through(pace: Pace) -> None:
    async def failing() -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(done.set_exception, LookupError("there is none"))
        with pytest.raises(LookupError, match="there is none"):
            await done
        async with asyncio.timeout(0.001) as limit:
            with pytest.raises(asyncio.CancelledError):
                await asyncio.Event().wait()
        assert limit.expired()
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await pace.keep(failing())
