"""How the units of one process are committed: collected, in groups, in order, one group at a time.

What a unit does is not known here, nor how a database commits; that is the driver's.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from interlock.store.drivers.postgres import PostgresDriver
from interlock.store.drivers.sqlite import Committed, Outcome, SqliteDriver
from interlock.store.drivers.sqlite import Work as Work
from interlock.store.tx import SqliteTx, Tx

Driver = SqliteDriver | PostgresDriver
Waiting = tuple[Work, "asyncio.Future[Any]"]
AT_ONCE = 64
"""Units that are committed at most while the event loop waits; fewer where they take long."""
ALONE = 8
"""Rounds in a row with one unit, after which the next is not kept waiting for others."""
WOKEN = 16
"""Tasks that are woken at most in one round of the event loop by what a group has committed."""
IN_A_ROW = 4
"""Units that one task has committed at most before others have their turn."""


class Taker(Protocol):
    """Who takes work as soon as there is some, and need not come for it: it is asked on the event loop."""

    def unit(self) -> Work | None:
        """The unit that takes it, where it has room for any; run with what made the work ready, in its transaction."""

    def took(self, found: Any) -> bool:
        """Given what its unit returned, once that is committed. Returns whether nothing is left to come for."""


class Writer:
    """Commits what is handed in during one round of the event loop as one group.

    On an embedded database whose disk answers quickly the loop commits by itself: two changes of thread would cost more
    than the commit. A slow disk, a database that another process has locked, and any server are waited for by a thread.
    Where one unit comes at a time, it is committed as it comes: the end of the round is a tenth of what it takes.
    INVARIANT: the loop commits only while the thread has nothing in hand.
    """

    def __init__(self, driver: Driver, wake: Callable[[bool], None]) -> None:
        """`wake` is told of commits that made work ready, and whether the taker has taken all of it."""
        self.driver, self.wake = driver, wake
        self.taker: Taker | None = None
        self._found: Any = None
        self._gathered: list[Waiting] = []
        self._ended: deque[tuple[asyncio.Future[Any], Outcome]] = deque()
        self._in_hand = 0
        self._alone = self._turns = 0
        self._whose: object = None
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()

    async def open(self) -> None:
        """Connects.

        Raises StoreUnavailable if the database cannot be reached or used.
        """
        self._loop = asyncio.get_running_loop()
        ready: asyncio.Future[Any] = self._loop.create_future()
        self._thread = threading.Thread(target=self._work, args=(ready,), name="store-write")
        self._thread.start()
        try:
            await ready
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Commits what was handed in, then disconnects."""
        self._hand_over()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        while self._ended:
            self._wake_some()

    @property
    def is_free(self) -> bool:
        """Whether the event loop may use the connection by itself now."""
        return not self._in_hand and isinstance(self.driver, SqliteDriver)

    def read(self, work: Work) -> Any:
        """Reads on the event loop, where that is free. The pages that were written last are at hand on this connection;
        any other has to read them again.
        """
        assert isinstance(self.driver, SqliteDriver)
        fn, args, kwargs = work
        return self.driver.read(self.driver.nearest(), fn, args, kwargs)

    def at_once(self, work: Work) -> Outcome | None:
        """What came of a unit that is committed here and now, where no other task writes in this round of the loop.

        None if others may come, or somebody else has the connection: then it is to be submitted.
        """
        if self._alone < ALONE or self._gathered or self._in_hand:
            return None
        driver, task = self.driver, asyncio.current_task()
        if not isinstance(driver, SqliteDriver) or not driver.is_quick or driver.wants_tidying:
            return None
        if not self._turns:
            self._loop.call_soon(self._next_round)
        elif self._turns == IN_A_ROW or task is not self._whose:
            return None
        self._turns, self._whose = self._turns + 1, task
        if (committed := self._commit_at_once(driver, [work])) is None:
            return None
        if committed[1]:
            self._tell()
        return committed[0][0]

    def _commit_at_once(self, driver: SqliteDriver, batch: list[Work]) -> Committed | None:
        """What became of units, and with those that made work ready, what the taker took of it."""
        self._found = None
        committed = driver.commit_at_once(batch, None if self.taker is None else self._take)
        if committed is None or not committed[1]:
            self._found = None
        return committed

    def _take(self, tx: SqliteTx) -> None:
        """Has the taker take it, where that has room."""
        if self.taker is not None and (work := self.taker.unit()) is not None:
            unit, args, kwargs = work
            self._found = unit(tx, *args, **kwargs)

    def _tell(self) -> None:
        """Work has become ready: hands the taker what it took, and tells those who have to come for it."""
        found, self._found = self._found, None
        self.wake(found is not None and self.taker is not None and self.taker.took(found))

    def _next_round(self) -> None:
        self._turns, self._whose = 0, None

    def submit(self, work: Work) -> "asyncio.Future[Any]":
        """What will have its result, or its error, once it is committed."""
        if self._turns and asyncio.current_task() is not self._whose:
            self._alone = 0
        done: asyncio.Future[Any] = self._loop.create_future()
        if not self._gathered:
            self._loop.call_soon(self._flush)
        self._gathered.append((work, done))
        return done

    def _flush(self) -> None:
        if not self._gathered or self._ended:
            return  # or when whoever waits for the last group has had a turn, so that the next one is as large
        if not isinstance(self.driver, SqliteDriver) or not self.driver.is_quick:
            self._hand_over()
            return
        if self._in_hand:
            return  # until the thread is through
        group, self._gathered = self._gathered[:AT_ONCE], self._gathered[AT_ONCE:]
        self._alone = self._alone + 1 if len(group) == 1 else 0
        committed: Committed | None = None
        try:
            committed = self._commit_at_once(self.driver, [work for work, _ in group])
        except BaseException as error:
            committed = [(None, error) for _ in group], False
            if not isinstance(error, Exception):
                raise
        finally:
            if committed is None:
                self._gathered = group + self._gathered
                self._hand_over()
            else:
                self._gathered = group[len(committed[0]) :] + self._gathered
                self._resolve(group[: len(committed[0])], *committed)
                self._go_on()

    def _go_on(self) -> None:
        """What waits is next; the thread has its turn first where the log has become long."""
        if isinstance(self.driver, SqliteDriver) and self.driver.wants_tidying:
            self.submit((_tidy, (), {}))
            self._hand_over()
        elif self._gathered:
            self._loop.call_soon(self._flush)

    def _hand_over(self) -> None:
        group, self._gathered = self._gathered, []
        self._in_hand += len(group)
        for waiting in group:
            self._queue.put(waiting)

    def _work(self, ready: "asyncio.Future[Any]") -> None:
        try:
            self.driver.open_writer()
        except BaseException as error:  # noqa: BLE001 (handed to whoever waits for it)
            self._loop.call_soon_threadsafe(_settle, ready, None, error)
            return
        self._loop.call_soon_threadsafe(_settle, ready, None, None)
        while batch := self._next_batch():
            outcomes, wake = self._committed(batch)
            self._loop.call_soon_threadsafe(self._through, batch, outcomes, wake)
            if wake and isinstance(self.driver, PostgresDriver):
                self.driver.notify()
        self.driver.close_writer()

    def _next_batch(self) -> list[Waiting]:
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

    def _committed(self, batch: list[Waiting]) -> tuple[list[Outcome], bool]:
        try:
            done = self.driver.commit([work for work, _ in batch])
        except BaseException as error:  # noqa: BLE001 (handed to whoever waits for the unit)
            return [(None, error) for _ in batch], False
        return done

    def _through(self, batch: list[Waiting], outcomes: list[Outcome], wake: bool) -> None:
        self._in_hand -= len(batch)
        self._resolve(batch, outcomes, wake)
        if not self._in_hand:
            self._flush()

    def _resolve(self, batch: list[Waiting], outcomes: list[Outcome], wake: bool) -> None:
        is_waking = bool(self._ended)
        self._ended.extend(zip([done for _, done in batch], outcomes, strict=True))
        if not is_waking:
            self._wake_some()
        if wake:
            self._tell()

    def _wake_some(self) -> None:
        """Settles what has ended, some of it in each round of the event loop: each task that waited goes on in the next
        one, and all of a large group at once would keep everybody else waiting.
        """
        for _ in range(min(WOKEN, len(self._ended))):
            done, (result, error) = self._ended.popleft()
            _settle(done, result, error)
        if self._ended:
            self._loop.call_soon(self._wake_some)
        elif self._gathered:
            self._loop.call_soon(self._flush)


def _settle(done: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


def _tidy(_: Tx) -> None:
    """Nothing: who commits it tidies up after each commit that asks for it."""
