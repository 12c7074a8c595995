"""A store in whose every write a duty's fence is shown, so that who lost the duty can no longer write for it.

How a duty is held is leadership's job.
"""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from interlock.store import leaders
from interlock.store.engine import Store
from interlock.store.tx import Tx

P = ParamSpec("P")
T = TypeVar("T")


class FencedStore(Store):
    """An open store for the work of one duty; it is neither opened nor closed by itself."""

    def __init__(self, store: Store, duty: str, fence: int) -> None:
        self.__dict__.update(vars(store))
        self._store, self._duty, self._fence = store, duty, fence

    async def open(self) -> "FencedStore":
        """Itself: the store behind it is open."""
        return self

    async def close(self) -> None:
        """Nothing: the store behind it stays open."""

    async def write(self, unit: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A unit under the fence.

        Raises LeadershipLost if another process has the duty, whatever the unit raises, and StoreUnavailable.
        """

        def fenced(tx: Tx) -> T:
            leaders.check(tx, self._duty, self._fence)
            return unit(tx, *args, **kwargs)

        return await self._store.write(fenced)

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As the store behind it: who only looks needs no fence."""
        return await self._store.read(fn, *args, **kwargs)

    async def wait_for_work(self, timeout_s: float) -> None:
        """As the store behind it."""
        await self._store.wait_for_work(timeout_s)
