"""The store: units of work written by one thread a process, reads on connections of their own.

What the units do is in the modules beside this one; how a database is driven, in `sqlite` and `postgres`.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

from interlock.core.telemetry import SILENT, Telemetry
from interlock.store.errors import StoreUnavailable
from interlock.store.postgres import PostgresDriver
from interlock.store.sqlite import SqliteDriver, Work
from interlock.store.tx import Observed, Tx
from interlock.store.watch import watch

P = ParamSpec("P")
T = TypeVar("T")
READERS = 2
ROOM = 20_000

Driver = SqliteDriver | PostgresDriver


def driver_for(url: str, *, pooled: bool = False, direct_url: str | None = None) -> Driver:
    """The driver of a database URL: `sqlite:///PATH` or `postgresql://…`.

    `pooled` where the URL leads to a transaction pooler; `direct_url` leads past it, to listen for news.

    Raises StoreUnavailable for any other.
    """
    if url.startswith("sqlite:///"):
        return SqliteDriver(Path(url.removeprefix("sqlite:///")))
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresDriver(url, pooled=pooled, direct_url=direct_url)
    scheme = url.partition("://")[0]
    raise StoreUnavailable(f"`{scheme}` is no database interlock knows: use `sqlite:///PATH` or `postgresql://…`")


class Listener:
    """Hears that something may have changed; what it was not waiting for, it hears at the next wait."""

    def __init__(self) -> None:
        self._heard = asyncio.Event()

    def tell(self) -> None:
        """Ends the wait, or the next one."""
        self._heard.set()

    async def wait(self, timeout_s: float) -> None:
        """Returns when something may have changed since the last wait, or after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._heard.wait()
        except TimeoutError:
            return
        self._heard.clear()


class Store:
    """An open database. One object a process; close it, or use it as an async context.

    `telemetry` is told of what transactions have brought about; it stays the caller's to close.
    """

    def __init__(
        self, url: str, telemetry: Telemetry = SILENT, *, pooled: bool = False, direct_url: str | None = None
    ) -> None:
        self.url, self.telemetry = url, telemetry
        self.driver = driver_for(url, pooled=pooled, direct_url=direct_url)
        self._queue: queue.SimpleQueue[tuple[Work, asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(ROOM)
        self._local = threading.local()
        self._readers: list[Any] = []
        self._wake = Listener()
        self._listeners = WeakSet({self._wake})
        self._closed = True

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.driver.name

    async def open(self) -> "Store":
        """Connects.

        Raises StoreUnavailable where the database cannot be reached or used.
        """
        self._loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = self._loop.create_future()
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="store-read")
        self._thread = threading.Thread(target=self._writer, args=(ready,), name="store-write")
        self._closed = False
        self._thread.start()
        try:
            await ready
        except BaseException:
            self._closed = True
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
            self._pool.shutdown()
            raise
        self._watcher = asyncio.create_task(watch(self.driver, self.wake), name="store-watch")
        return self

    async def close(self) -> None:
        """Finishes what was handed in, then disconnects."""
        if self._closed:
            return
        self._closed = True
        self._watcher.cancel()
        await asyncio.gather(self._watcher, return_exceptions=True)
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._pool.shutdown)
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
            raise StoreUnavailable("the store is closed")
        await self._room.acquire()
        if self._closed:
            self._room.release()
            raise StoreUnavailable("the store is closed")
        done: asyncio.Future[Any] = self._loop.create_future()
        done.add_done_callback(self._release)
        if not self.telemetry.listens:
            self._queue.put(((unit, args, kwargs), done))
            result: T = await asyncio.shield(done)
            return result
        done.add_done_callback(self._telling(monotonic()))
        self._queue.put(((Observed(unit, self.telemetry.place()), args, kwargs), done))
        result, _ = await asyncio.shield(done)
        return result

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a function that only reads, over one snapshot, beside the writer."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        return await self._loop.run_in_executor(self._pool, self._read, fn, args, kwargs)

    async def wait_for_work(self, timeout_s: float) -> None:
        """Returns when something may have become ready, here or in another process, or after `timeout_s`."""
        await self._wake.wait(timeout_s)

    def listener(self) -> "Listener":
        """A wait of its own for who needs to hear of every change; `wait_for_work` is the worker's."""
        made = Listener()
        self._listeners.add(made)
        return made

    def check(self) -> None:
        """Raises StoreGone where the open database is no longer the one that its URL leads to."""
        if isinstance(self.driver, SqliteDriver):
            self.driver.check()

    def wake(self) -> None:
        """Makes `wait_for_work` and every listener's wait return."""
        for listener in list(self._listeners):
            listener.tell()

    def _release(self, done: asyncio.Future[Any]) -> None:
        self._room.release()
        if not done.cancelled():
            done.exception()

    def _telling(self, begun: float) -> "Callable[[asyncio.Future[Any]], None]":
        """Tells telemetry the facts of a unit that was committed, also where nobody waits for it any more."""

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

    def _writer(self, ready: "asyncio.Future[None]") -> None:
        try:
            self.driver.open_writer()
        except BaseException as error:  # noqa: BLE001 (handed to whoever waits for the unit)
            self._loop.call_soon_threadsafe(self._resolve, [ready], [(None, error)], False)
            return
        self._loop.call_soon_threadsafe(self._resolve, [ready], [(None, None)], False)
        while batch := self._next_batch():
            works = [work for work, _ in batch]
            try:
                outcomes, wake = self.driver.commit(works)
            except BaseException as error:  # noqa: BLE001 (handed to whoever waits for the unit)
                outcomes, wake = [(None, error) for _ in batch], False
            futures = [done for _, done in batch]
            self._loop.call_soon_threadsafe(self._resolve, futures, outcomes, wake)
            if wake and isinstance(self.driver, PostgresDriver):
                self.driver.notify()
        self.driver.close_writer()

    def _next_batch(self) -> list[tuple[Work, "asyncio.Future[Any]"]]:
        first = self._queue.get()
        if first is None:
            return []
        batch = [first]
        while len(batch) < self.driver.batch_limit:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                self._queue.put(None)
                break
            batch.append(item)
        return batch

    def _resolve(self, futures: list["asyncio.Future[Any]"], outcomes: list[Any], wake: bool) -> None:
        for done, (result, error) in zip(futures, outcomes, strict=True):
            if done.done():
                continue
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)
        if wake:
            self.wake()
