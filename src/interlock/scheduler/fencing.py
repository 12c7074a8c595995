"""A store that checks the fencing token of a duty in every write, so that a deposed leader can no longer write.

How a duty is acquired and renewed is in `leadership`.
"""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from interlock.store.duties import leaders
from interlock.store.engine import Store
from interlock.store.tx import Tx

P = ParamSpec("P")
T = TypeVar("T")


class FencedStore(Store):
    """Wraps an open store for the work of one duty; opening and closing it does nothing."""

    def __init__(self, store: Store, duty: str, fence: int) -> None:
        self.__dict__.update(vars(store))
        self._store, self._duty, self._fence = store, duty, fence

    async def open(self) -> "FencedStore":
        """Does nothing: the underlying store is open."""
        return self

    async def close(self) -> None:
        """Does nothing: the underlying store stays open."""

    async def write(self, unit: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a unit of work after checking the fencing token in the same transaction.

        Raises LeadershipLost if another process holds the duty, StoreUnavailable, and whatever the unit raises.
        """

        def fenced(tx: Tx) -> T:
            leaders.check(tx, self._duty, self._fence)
            return unit(tx, *args, **kwargs)

        return await self._store.write(fenced)

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As the underlying store: reads need no fencing."""
        return await self._store.read(fn, *args, **kwargs)

    async def wait_for_work(self, timeout_s: float) -> None:
        """As the underlying store."""
        await self._store.wait_for_work(timeout_s)
