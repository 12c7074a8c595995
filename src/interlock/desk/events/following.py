"""Follows the feed: delivers each event once, in id order, without gaps."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from interlock.core.events import Event
from interlock.store.engine import Store
from interlock.store.errors import StoreError
from interlock.store.messages import feed

PAGE = 500
POLL_S = 1.0
"""The poll interval if no change is notified."""
REST_S = 0.003
"""The minimum time between two queries."""
DOUBT_S = 0.02
"""The poll interval while an id is missing that may still be committed."""
BROKEN_S = 0.5


class Follower:
    """Reads events of all processes from the feed, from `position` on, and delivers them.

    INVARIANT: an id is skipped only once it can no longer be committed. On PostgreSQL, ids are taken before the commit,
    so a greater id may become visible first; events after a missing id wait until every transaction that was open at
    that time has ended.
    """

    def __init__(self, store: Store, deliver: Callable[[Event], None]) -> None:
        self._store, self._deliver = store, deliver
        self.position = 0
        """All events up to this id have been delivered, or existed before the start."""
        self.is_ready = asyncio.Event()
        self._settled = 0
        self._doubt: tuple[int, frozenset[str]] | None = None

    async def run(self, goes_on: Callable[[], bool]) -> None:
        """Follows while `goes_on()`. Waits for a database that cannot be reached."""
        news = self._store.listener()
        while not self.is_ready.is_set():
            try:
                await self._begin()
            except StoreError:
                await asyncio.sleep(BROKEN_S)
        while goes_on():
            again_s = BROKEN_S
            with contextlib.suppress(StoreError):
                again_s = await self._look()
            if again_s:
                await asyncio.sleep(REST_S)
                await news.wait(again_s)

    async def _begin(self) -> None:
        """Starts after the existing events, once the transactions that are open have ended."""
        position = await self._store.read(feed.last)
        writers = await self._store.read(feed.writers)
        while writers:
            await asyncio.sleep(DOUBT_S)
            writers &= await self._store.read(feed.writers)
        self.position = self._settled = position
        self.is_ready.set()

    async def _look(self) -> float:
        """Delivers what is ready; returns after how many seconds to poll if no change is notified."""
        rows = await self._store.read(feed.after, self.position, PAGE)
        for row in rows:
            if row.id > max(self.position + 1, self._settled) and self._store.dialect == "postgresql":
                return await self._wait_for(rows[-1].id)
            self.position = row.id
            self._deliver(event_of(row))
        self._doubt = None
        return 0.0 if len(rows) == PAGE else POLL_S

    async def _wait_for(self, last_id: int) -> float:
        """An id is missing: skips it once all transactions that could commit it have ended."""
        writers = await self._store.read(feed.writers)
        last_id, writers = (last_id, writers) if self._doubt is None else (self._doubt[0], self._doubt[1] & writers)
        if writers:
            self._doubt = last_id, writers
            return DOUBT_S
        self._settled, self._doubt = last_id, None
        return 0.0


def event_of(row: Any) -> Event:
    """The event of a feed row."""
    payload = row.payload if row.project_id == feed.EVERYWHERE else {"project_id": row.project_id, **row.payload}
    return Event(
        name=row.name, payload=payload, project_id=row.project_id, run_id=row.payload.get("run_id"),
        mission_id=row.payload.get("mission_id"), channel_id=row.channel_id, id=row.id,
    )  # fmt: skip
