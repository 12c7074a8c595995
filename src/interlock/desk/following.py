"""Follows the feed: each event once, in the order of ids, none left out; who wants to hear of it is not known here."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from interlock.core.events import Event
from interlock.store import feed
from interlock.store.engine import Store
from interlock.store.errors import StoreError

PAGE = 500
POLL_S = 1.0
"""How often is looked where nothing is heard of changes."""
REST_S = 0.003
"""Between two looks, however much is heard."""
DOUBT_S = 0.02
"""Between two looks where an id is missing that somebody may still commit."""
BROKEN_S = 0.5


class Follower:
    """Reads what is told in rows, by this process or any other, and hands it on from `position` on.

    INVARIANT: an id is only passed over once nobody can commit it any more. On PostgreSQL a transaction takes its ids
    before it commits, so a greater id may be seen first; what comes after a missing one waits until every transaction
    that was at work then has ended.
    """

    def __init__(self, store: Store, deliver: Callable[[Event], None]) -> None:
        self._store, self._deliver = store, deliver
        self.position = 0
        """All events up to this id have been handed on, or were there before this began."""
        self.is_ready = asyncio.Event()
        self._settled = 0
        self._doubt: tuple[int, frozenset[str]] | None = None

    async def run(self, goes_on: Callable[[], bool]) -> None:
        """Follows as long as `goes_on` says so. A database that cannot be reached is waited for."""
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
        """Begins after what there is. What was at work meanwhile has ended then, so that it is before or after."""
        position = await self._store.read(feed.last)
        writers = await self._store.read(feed.writers)
        while writers:
            await asyncio.sleep(DOUBT_S)
            writers &= await self._store.read(feed.writers)
        self.position = self._settled = position
        self.is_ready.set()

    async def _look(self) -> float:
        """Hands on what may be; returns after how many seconds to look again where nothing is heard."""
        rows = await self._store.read(feed.after, self.position, PAGE)
        for row in rows:
            if row.id > max(self.position + 1, self._settled) and self._store.dialect == "postgresql":
                return await self._wait_for(rows[-1].id)
            self.position = row.id
            self._deliver(event_of(row))
        self._doubt = None
        return 0.0 if len(rows) == PAGE else POLL_S

    async def _wait_for(self, last_id: int) -> float:
        """An id is missing: it is given up once all who could have it are through."""
        writers = await self._store.read(feed.writers)
        last_id, writers = (last_id, writers) if self._doubt is None else (self._doubt[0], self._doubt[1] & writers)
        if writers:
            self._doubt = last_id, writers
            return DOUBT_S
        self._settled, self._doubt = last_id, None
        return 0.0


def event_of(row: Any) -> Event:
    """A row of the feed as it is told."""
    payload = row.payload if row.project_id == feed.EVERYWHERE else {"project_id": row.project_id, **row.payload}
    return Event(
        name=row.name, payload=payload, project_id=row.project_id, run_id=row.payload.get("run_id"),
        mission_id=row.payload.get("mission_id"), channel_id=row.channel_id, id=row.id,
    )  # fmt: skip
