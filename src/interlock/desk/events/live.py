"""Live events for readers in this process: rows of the feed, and transient events, each in order.

Visibility is decided by `may_see`; each surface encodes events.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial
from time import monotonic

from interlock.agents.runtime import Runtime
from interlock.core.events import Event
from interlock.desk.context import Person, Stopping
from interlock.desk.events.following import PAGE, Follower, event_of
from interlock.desk.events.readers import LAG_S, Interest, QueuedEvent, Reader
from interlock.desk.identities import visibility
from interlock.desk.workspace_chat import room_views
from interlock.store.errors import StoreUnavailable
from interlock.store.messages import feed
from interlock.store.signoff.approvals import ROLES_THAT_ANSWER
from interlock.store.tx import Tx

_log = logging.getLogger(__name__)
MEMBERS_S = 1.0
"""How long permissions are cached."""
MOST_REMEMBERED = 10_000
READY_S = 10.0
"""How long a new reader waits for the database before it is rejected."""
SWEEP_S = 2.0
KEPT_S = 86_400.0
"""The minimum retention of the feed. Source: `scheduler.jobs`."""


class Live:
    """The readers of this process. Publishing is non-blocking, to all readers at once."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._readers: set[Reader] = set()
        self._waiting = 0
        self._pending: list[Event] = []
        self._follower = Follower(runtime.store, self._deliver)
        self._task: asyncio.Task[None] | None = None
        self._subscription: contextlib.AbstractContextManager[None] | None = None
        self._members: dict[tuple[str, str], tuple[bool, float]] = {}
        self.is_closed = False

    @contextlib.asynccontextmanager
    async def reading(self, interest: Interest, *, after: int | None = None) -> AsyncIterator[Reader]:
        """A reader of events from now on; with `after`, the events since that id are its `backlog`.

        Raises StoreUnavailable if the database cannot be reached, Stopping.
        """
        follower = await self._following()
        reader = Reader(interest)
        self._readers.add(reader)
        if len(self._readers) == 1:
            self._subscription = self.runtime.events.subscribed(self)
            self._subscription.__enter__()
        reader.begins = reader.after = follower.position
        try:
            if after is not None:
                await self._resume(reader, after)
            if self.runtime.events.spread is not None:
                await self.runtime.events.spread()
            yield reader
        finally:
            self._readers.discard(reader)
            if not self._readers and self._subscription is not None:
                self._subscription.__exit__(None, None, None)
                self._subscription = None

    async def backlog(self, reader: Reader) -> AsyncIterator[QueuedEvent]:
        """The events between the id after which a reader starts, and the first one published to it."""
        at = reader.after
        while at < reader.begins:
            rows = await self.runtime.store.read(feed.between, at, reader.begins, PAGE)
            for row in rows:
                if reader.interest.covers(event := event_of(row)):
                    yield QueuedEvent(event)
            at = rows[-1].id if rows else reader.begins

    async def _resume(self, reader: Reader, after: int) -> None:
        """Lets a reader start after an id, unless the id is not from this database, as after a restore.

        If the reader comes from another process that is ahead of this one, events it has seen are not repeated.
        """
        store, reader.after = self.runtime.store, after
        if after > reader.begins and after > await store.read(feed.last):
            reader.after, reader.has_missed = reader.begins, True
            return
        before = self.runtime.clock.now() - timedelta(seconds=KEPT_S)
        reader.has_missed = await store.read(feed.has_forgotten, after, before)

    async def _following(self) -> Follower:
        """The follower of the feed, started with the first reader."""
        if self.is_closed:
            raise Stopping
        if self._task is None or self._task.done():
            self._follower = Follower(self.runtime.store, self._hand_on)
            self._waiting += 1
            self._task = asyncio.create_task(self._run(self._follower), name="live")
        else:
            self._waiting += 1
        try:
            async with asyncio.timeout(READY_S):
                await self._follower.is_ready.wait()
        except TimeoutError as error:
            raise StoreUnavailable("the database cannot be reached: ask again") from error
        finally:
            self._waiting -= 1
        return self._follower

    async def _run(self, follower: Follower) -> None:
        """Follows while there are readers, and ends those that lag too far behind."""
        swept = monotonic()

        def goes_on() -> bool:
            nonlocal swept
            if monotonic() - swept > SWEEP_S:
                swept = monotonic()
                self._sweep(swept)
            return bool(self._readers or self._waiting)

        try:
            await follower.run(goes_on)
        except Exception:  # noqa: BLE001 (who reads is told to come again)
            _log.exception("the feed could not be followed")
            for reader in self._readers:
                reader.lag()

    def _sweep(self, now_s: float) -> None:
        for reader in self._readers:
            if reader.since is not None and now_s - reader.since > LAG_S:
                reader.lag()

    async def may_see(self, person: Person, event: Event) -> bool:
        """Whether a person may see an event: events of a channel only if they may read it; viewers no events of other
        people's chats with agents, nor of runs or votes that result from these.
        """
        if event.person_id not in (None, person.id) and person.role not in ROLES_THAT_ANSWER:
            return False
        if event.channel_id is not None and not await self._known(
            person, event.channel_id, partial(room_views.may_see, person_id=person.id, channel_id=event.channel_id)
        ):
            return False
        run_id = event.run_id
        if event.id is not None or run_id is None or event.mission_id is not None or visibility.reads_all(person):
            return True
        return await self._known(person, run_id, lambda tx: not visibility.hidden_runs(tx, person, [run_id]))

    async def _known(self, person: Person, ident: str, look: Callable[[Tx], bool]) -> bool:
        """A cached permission of a person."""
        key, now = (person.id, ident), monotonic()
        known = self._members.get(key)
        if known is None or now - known[1] > MEMBERS_S:
            if len(self._members) >= MOST_REMEMBERED:
                self._members.clear()
            self._members[key] = known = await self.runtime.store.read(look), now
        return known[0]

    async def close(self) -> None:
        """Ends all readers, after their queued events."""
        self.is_closed = True
        for reader in tuple(self._readers):
            reader.end()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def take(self, event: Event) -> None:
        """Receives a published event; the publisher is not delayed by the number of readers."""
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._spread)
        self._pending.append(event)

    def _spread(self) -> None:
        events, self._pending = self._pending, []
        for event in events:
            self._deliver(event)

    def _hand_on(self, event: Event) -> None:
        """Publishes a row of the feed, after transient events that preceded it."""
        self._spread()
        self._deliver(event)

    def _deliver(self, event: Event) -> None:
        queued = QueuedEvent(event)
        for reader in self._readers:
            reader.put(queued)
