"""Fairness on the event loop: when hundreds of runs are ready, only a few advance per iteration of the loop.

Knows nothing of what a run does.
"""

import asyncio
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from time import perf_counter
from typing import Any, TypeVar

T = TypeVar("T")
ROUND_S = 0.005
"""Time for runs per iteration of the loop; the rest is for commits, connections and whatever else is ready."""
FIRST_STEP_S, WEIGHT = 0.0005, 0.05
"""Initial estimate of a step's duration, and the weight of each later measurement (moving average)."""


class Pace:
    """Limits the time that runs use per iteration of the event loop; measures only while `is_crowded()`.

    Runs that exceed the budget of an iteration wait for a later one, first come, first served.
    """

    def __init__(
        self, is_crowded: Callable[[], bool], *, round_s: float = ROUND_S, timer: Callable[[], float] = perf_counter
    ) -> None:
        self._is_crowded, self._round_s, self._timer = is_crowded, round_s, timer
        self._used_s, self._step_s, self._is_counting = 0.0, FIRST_STEP_S, False
        self._line: deque[asyncio.Future[None]] = deque()
        self._head: list[asyncio.Future[None]] = []
        """Runs that had their turn in this iteration, but no time was left of it: they are first in the next one."""

    async def keep(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits `work`, and defers it to a later iteration whenever the current budget is used up. It may be cancelled
        at any point, as if it were awaited directly.
        """
        return await self._kept(work)

    @types.coroutine
    def _kept(self, work: Coroutine[Any, Any, T]) -> Generator[Any, None, T]:
        thrown: BaseException | None = None
        while True:
            try:
                if thrown is None and (self._line or self._head or self._used_s >= self._round_s):
                    yield from self._turn(self._line)
                    while self._used_s >= self._round_s:
                        yield from self._turn(self._head)
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001 (thrown on into the work)
                thrown = error
            began = self._timer()
            try:
                awaited = work.send(None) if thrown is None else work.throw(thrown)
            except StopIteration as ended:
                result: T = ended.value
                return result
            finally:
                self._count(self._timer() - began)
            thrown = None
            try:
                yield awaited
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001 (thrown on into the work)
                thrown = error

    def _turn(self, line: "deque[asyncio.Future[None]] | list[asyncio.Future[None]]") -> "asyncio.Future[None]":
        """A place at the end of a queue."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        return turn

    def _count(self, seconds: float) -> None:
        if not self._is_counting and not self._is_crowded():
            return
        self._used_s += seconds
        self._step_s += WEIGHT * (seconds - self._step_s)
        if not self._is_counting:
            self._is_counting = True
            asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        """Resumes as many waiting runs as should fit into the next iteration: steps that are ready together are often
        longer than usual ones, so those that do not fit wait again.
        """
        self._used_s = 0.0
        self._line.extendleft(reversed(self._head))
        self._head.clear()
        for _ in range(min(len(self._line), 1 + int(self._round_s / self._step_s))):
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
        self._is_counting = bool(self._line)
        if self._line:
            asyncio.get_running_loop().call_soon(self._next_round)
