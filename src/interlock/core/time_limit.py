"""Time limits for work that hardly ever reaches them: setting one and lifting it touches no timer of the event loop.

`asyncio.timeout` makes a timer each time. Here all limits of a loop share one timer, set to the earliest of them; when
it fires, it looks which of those that are still running have passed. A run has nine limits, nearly all of minutes.
"""

import asyncio
import math
from operator import attrgetter
from types import TracebackType
from typing import Self
from weakref import WeakKeyDictionary


class TimeLimit:
    """Ends the work inside it after so many seconds, as `asyncio.timeout` does.

    The task is cancelled, and the cancellation becomes TimeoutError where it leaves the `with` block. One that comes
    from somewhere else stays a cancellation.
    """

    __slots__ = ("_before", "_limits", "_seconds", "_task", "at_s", "has_passed")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.has_passed = False
        """Whether it was reached."""

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a time limit is for a task")
        self._task, self._before = task, task.cancelling()
        loop = task.get_loop()
        self.at_s = loop.time() + self._seconds
        """When it is reached, by the loop's clock."""
        limits = _LIMITS.get(loop)
        if limits is None:
            limits = _LIMITS[loop] = _Limits()
        self._limits = limits
        limits.set(self, loop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.has_passed:
            del self._limits.running[self]
        elif self._task.uncancel() <= self._before and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def reach(self) -> None:
        """Cancels the task."""
        self.has_passed = True
        self._task.cancel()


class _Limits:
    """The limits of one loop that have been set and not lifted."""

    __slots__ = ("next_s", "running")

    def __init__(self) -> None:
        self.running: dict[TimeLimit, None] = {}
        self.next_s = math.inf
        """When the timer fires; timers that were set for later before it then find nothing to do."""

    def set(self, limit: TimeLimit, loop: asyncio.AbstractEventLoop) -> None:
        self.running[limit] = None
        if limit.at_s < self.next_s:
            self.next_s = limit.at_s
            loop.call_at(limit.at_s, self._look, limit.at_s)

    def _look(self, at_s: float) -> None:
        """At a time for which the timer was set."""
        if at_s != self.next_s:
            return
        loop = asyncio.get_running_loop()
        now = max(at_s, loop.time())
        for limit in sorted((limit for limit in self.running if limit.at_s <= now), key=attrgetter("at_s")):
            del self.running[limit]
            limit.reach()
        self.next_s = min((limit.at_s for limit in self.running), default=math.inf)
        if self.running:
            loop.call_at(self.next_s, self._look, self.next_s)


_LIMITS: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Limits]" = WeakKeyDictionary()
