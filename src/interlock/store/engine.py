"""The store: units of work go through one writer per process, reads use connections of their own.

The units themselves are in the other modules; the drivers are `sqlite` and `postgres`.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

from interlock.core.telemetry import SILENT, Telemetry
from interlock.core.time_limit import TimeLimit
from interlock.store.drivers.connection_watchdog import guard
from interlock.store.drivers.postgres import PostgresDriver
from interlock.store.drivers.sqlite import SqliteDriver
from interlock.store.drivers.watch import watch
from interlock.store.drivers.writer import Driver, Taker, Writer
from interlock.store.errors import StoreClosed, StoreUnavailable
from interlock.store.tx import Observed, Tx

P = ParamSpec("P")
T = TypeVar("T")
READERS = 2
ROOM = 20_000


def driver_for(url: str, *, pooled: bool = False, direct_url: str | None = None) -> Driver:
    """The driver of a database URL: `sqlite:///PATH` or `postgresql://…`.

    `pooled` if the URL leads to a transaction pooler; `direct_url` bypasses it, for LISTEN.

    Raises StoreUnavailable for any other URL.
    """
    if url.startswith("sqlite:///"):
        return SqliteDriver(Path(url.removeprefix("sqlite:///")))
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresDriver(url, pooled=pooled, direct_url=direct_url)
    scheme = url.partition("://")[0]
    raise StoreUnavailable(
        f"`{scheme}` is not a database that interlock supports: use `sqlite:///PATH` or `postgresql://…`"
    )


class Listener:
    """Waits for changes; a change between two waits ends the next one at once."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def tell(self) -> None:
        """Ends the current wait, or the next one."""
        self._changed.set()

    async def wait(self, timeout_s: float) -> None:
        """Returns when something may have changed since the last wait, or after `timeout_s`."""
        try:
            with TimeLimit(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()


class Store:
    """A database connection pool of one process; close it, or use it as an async context manager.

    `telemetry` receives the facts of committed transactions; the caller closes it.
    """

    def __init__(
        self, url: str, telemetry: Telemetry = SILENT, *, pooled: bool = False, direct_url: str | None = None
    ) -> None:
        self.url, self.telemetry = url, telemetry
        self.driver = driver_for(url, pooled=pooled, direct_url=direct_url)
        self._writer = Writer(self.driver, self._made_ready)
        self._room = asyncio.Semaphore(ROOM)
        self._local = threading.local()
        self._readers: list[Any] = []
        self._wake = Listener()
        self._listeners = WeakSet({self._wake})
        self._closed = True
        self.beacons: set[Callable[[str], object]] = set()
        """Called with each broadcast of another process; on PostgreSQL only."""

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.driver.name

    async def open(self) -> "Store":
        """Connects.

        Raises StoreUnavailable if the database cannot be reached or used.
        """
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="store-read")
        try:
            await self._writer.open()
        except BaseException:
            self._pool.shutdown()
            raise
        self._closed = False
        self._beside = [asyncio.create_task(watch(self.driver, self.wake, self._notify_beacons), name="store-watch")]
        if isinstance(self.driver, PostgresDriver):
            self._beside.append(asyncio.create_task(guard(self.driver), name="store-guard"))
        return self

    async def close(self) -> None:
        """Finishes submitted units, then disconnects. Does not wait forever for an unresponsive server."""
        if self._closed:
            return
        self._closed = True
        if isinstance(self.driver, PostgresDriver):
            self.driver.is_closing = True
        await self._writer.close()
        await asyncio.to_thread(self._pool.shutdown)
        for each in self._beside:
            each.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        for reader in self._readers:
            reader.connection.close()

    async def __aenter__(self) -> "Store":
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def write(self, unit: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a unit in a transaction and returns its result after the commit.

        Units may run twice (a failed group is replayed), so ids, times and randomness are arguments.
        Cancelling the wait does not undo the write.

        Raises whatever the unit raises, and StoreUnavailable.
        """
        if self._closed:
            raise StoreClosed
        if not self.telemetry.listens and (outcome := self._writer.at_once((unit, args, kwargs))) is not None:
            if outcome[1] is not None:
                raise outcome[1]
            return outcome[0]  # type: ignore[no-any-return]
        await self._room.acquire()
        if self._closed:
            self._room.release()
            raise StoreClosed
        if not self.telemetry.listens:
            try:
                found: T = await self._writer.submit((unit, args, kwargs))
                return found
            finally:
                self._room.release()
        begun = monotonic()
        done = self._writer.submit((Observed(unit, self.telemetry.place()), args, kwargs))
        done.add_done_callback(self._release)
        done.add_done_callback(self._telling(begun))
        result: T
        result, _ = await asyncio.shield(done)
        return result

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a read-only function over one snapshot, concurrently with the writer."""
        if self._closed:
            raise StoreClosed
        if getattr(fn, "small", False) and self._writer.is_free:
            found: T = self._writer.read((fn, args, kwargs))
            return found
        return await self._loop.run_in_executor(self._pool, self._read, fn, args, kwargs)

    async def wait_for_work(self, timeout_s: float) -> None:
        """Returns when something may have become ready, here or in another process, or after `timeout_s`."""
        await self._wake.wait(timeout_s)

    def listener(self) -> "Listener":
        """A separate listener, for callers that need to see every change; `wait_for_work` belongs to the worker."""
        made = Listener()
        self._listeners.add(made)
        return made

    @contextlib.contextmanager
    def taking(self, taker: Taker) -> Iterator[None]:
        """Registers a taker, which claims work in the transaction that makes it ready (if committed on the event loop).

        Whatever is not claimed this way is announced by `wait_for_work` as usual. A taker's units are not reported to
        telemetry: if telemetry is enabled, the taker is not used.
        """
        if not self.telemetry.listens:
            self._writer.taker = taker
        try:
            yield
        finally:
            if self._writer.taker is taker:
                self._writer.taker = None

    def check(self) -> None:
        """Raises StoreGone if the open database is no longer the one that its URL leads to."""
        if isinstance(self.driver, SqliteDriver):
            self.driver.check()

    def wake(self) -> None:
        """Makes `wait_for_work` and every listener's wait return."""
        for listener in list(self._listeners):
            listener.tell()

    def _made_ready(self, is_taken: bool) -> None:
        """Work has become ready. A taker that has already claimed all of it is not woken."""
        for listener in list(self._listeners):
            if not is_taken or listener is not self._wake:
                listener.tell()

    def _notify_beacons(self, note: str) -> None:
        for call in tuple(self.beacons):
            call(note)

    def _release(self, done: asyncio.Future[Any]) -> None:
        self._room.release()
        if not done.cancelled():
            done.exception()

    def _telling(self, begun: float) -> "Callable[[asyncio.Future[Any]], None]":
        """Reports the facts of a committed unit to telemetry, even if its caller no longer waits."""

        def tell(done: "asyncio.Future[Any]") -> None:
            if not done.cancelled() and done.exception() is None:
                self.telemetry.committed(done.result()[1], monotonic() - begun)

        return tell

    def _read(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tx: Any = getattr(self._local, "tx", None)
        if tx is None:
            tx = self._local.tx = self.driver.open_reader()
            self._readers.append(tx)
        return self.driver.read(tx, fn, args, kwargs)
