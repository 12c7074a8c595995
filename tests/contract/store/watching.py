"""A store that records the statements of readers and writers; no test is here."""

from collections.abc import Callable
from typing import Any, cast

from interlock.store.engine import Store
from interlock.store.schema import table

ONE = frozenset({"run", "must", "must_see", "run_and_wake", "count", "rows", "one", "ones"})
"""What asks one statement, which comes first; `ones` is one round trip to a server."""
NEW = frozenset({"add", "add_new", "add_many"})


class _Tx:
    def __init__(self, tx: Any, asked: list[Any], fetched: Callable[[int], None]) -> None:
        vars(self).update(_tx=tx, _asked=asked, _fetched=fetched)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._tx, name, value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._tx, name)
        if name in ONE:
            return self._noted(found, lambda core: [core])
        if name in NEW:
            return self._noted(found, lambda model: [table(model).insert()])
        if name == "gather":
            return self._noted(found, lambda asked: [each[0] for each in asked if each is not None])
        return found

    def _noted(self, call: Callable[..., Any], asks: Callable[[Any], list[Any]]) -> Callable[..., Any]:
        def noted(first: Any, *args: Any, **kwargs: Any) -> Any:
            self._asked.extend(asks(first))
            found = call(first, *args, **kwargs)
            self._fetched(len(found) if isinstance(found, list) else 0)
            return found

        return noted


class Watched:
    """A recording wrapper of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.reads: list[Any] = []
        self.writes: list[Any] = []
        self.units = 0
        """Transactions that wrote, or might have."""
        self.trips = 0
        """Calls that read: to a server each is one round trip, however many statements it asks together."""
        self.fetched = 0
        """Rows that came back in lists."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _count(self, rows: int) -> None:
        self.trips += 1
        self.fetched += rows

    async def read(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await self._store.read(lambda tx: fn(_Tx(tx, self.reads, self._count), *args, **kwargs))

    async def write(self, unit: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.units += 1
        return await self._store.write(lambda tx: unit(_Tx(tx, self.writes, self._count), *args, **kwargs))


def watched(store: Store) -> tuple[Any, Watched]:
    """A store for the code under test, and its recorder."""
    found = Watched(store)
    return cast("Any", found), found
