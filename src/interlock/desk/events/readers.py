"""A reader of live events, with its filter and a bounded queue; it never blocks publishers.

Each surface transports the events.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from interlock.agents.events import JOINED_FROM, LONGEST_PIECE
from interlock.core.events import ASSISTANT, Event
from interlock.store.messages.feed import EVERYWHERE

MOST_WAITING = 1_000
MOST_CHARS = 1 << 20
"""The maximum size of a reader's queue in characters, approximately."""
LAG_S = 30.0
"""How long an event may wait in a queue that is not read."""
USUAL_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """A filter for events; None: any."""

    project: str | None = None
    run: str | None = None
    mission: str | None = None
    channel: str | None = None

    def covers(self, event: Event) -> bool:
        """Whether an event passes the filter."""
        return (
            (self.project is None or event.project_id == self.project or event.project_id == EVERYWHERE)
            and (self.run is None or event.run_id == self.run)
            and (self.mission is None or event.mission_id == self.mission)
            and (self.channel is None or self.channel in (event.channel_id, event.payload.get("channel_id")))
        )


@dataclass(slots=True, eq=False)
class QueuedEvent:
    """An event in readers' queues. `encoded` is a cache shared by all readers."""

    event: Event
    encoded: bytes | None = None

    @property
    def weight(self) -> int:
        """Its approximate size in characters."""
        return len(self.event.payload["delta"]) if self.event.name == ASSISTANT else USUAL_CHARS


@dataclass(slots=True, eq=False)
class Reader:
    """A bounded queue of events. If it overflows, or is not read for too long, it is dropped: the reader `has_lagged`.

    A lagged reader can resume from the last id that it has seen.
    """

    interest: Interest
    begins: int = 0
    """Feed events with greater ids are published to the reader."""
    after: int = 0
    """Feed events with ids up to this are skipped."""
    has_missed: bool = False
    """Whether some of the requested events have been pruned."""
    has_lagged: bool = False
    has_ended: bool = False
    """Whether the process is stopping, so that no more events follow."""
    since: float | None = None
    """Monotonic time since when the queue has not been empty."""
    _waiting: deque[QueuedEvent] = field(default_factory=deque)
    _chars: int = 0
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """Whether there are no more events."""
        return self.has_lagged or self.has_ended

    def put(self, queued: QueuedEvent) -> None:
        """Enqueues an event, if it passes the filter."""
        event = queued.event
        if self.has_lagged or not self.interest.covers(event) or (event.id is not None and event.id <= self.after):
            return
        if not self._waiting:
            self.since = monotonic()
        if len(self._waiting) < JOINED_FROM or not self._joined(event):
            self._waiting.append(queued)
        self._chars += queued.weight
        if len(self._waiting) > MOST_WAITING or self._chars > MOST_CHARS:
            self.lag()
        self._came.set()

    def lag(self) -> None:
        """Drops the queue: the reader is too far behind."""
        self.has_lagged = True
        self._waiting.clear()
        self._came.set()

    def end(self) -> None:
        """Closes the queue; queued events can still be read."""
        self.has_ended = True
        self._came.set()

    async def take(self, timeout_s: float) -> Sequence[QueuedEvent]:
        """The queued events, as soon as there are any; empty after `timeout_s` or at the end."""
        if not self._came.is_set():
            try:
                async with asyncio.timeout(timeout_s):
                    await self._came.wait()
            except TimeoutError:
                return ()
        found = list(self._waiting)
        self._waiting.clear()
        self._chars, self.since = 0, None
        if not self.is_over:
            self._came.clear()
        return found

    def _joined(self, event: Event) -> bool:
        last = self._waiting[-1].event
        if event.name != ASSISTANT or last.name != ASSISTANT or last.run_id != event.run_id:
            return False
        text = last.payload["delta"] + event.payload["delta"]
        if len(text) > LONGEST_PIECE:
            return False
        self._waiting[-1] = QueuedEvent(replace(last, payload={**last.payload, "delta": text}))
        return True
