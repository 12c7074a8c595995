"""The listeners of this process to live events.

What must survive a crash is a row of the feed; how events get to other processes or browsers is the
desk's job.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from interlock.core.events import ASSISTANT, Event

MOST_WAITING = 1_000
"""Events that are kept for a listener who does not come for them."""
JOINED_FROM = 8
"""Events that wait before pieces of one text are joined."""
LONGEST_PIECE = 16_384
Wanted = Callable[[Event], bool]


@dataclass(slots=True, eq=False)
class Listener:
    """A listener with a queue of its own, in order.

    It never holds up who tells. Where it does not come for a while, pieces of one text are joined, and where it does
    not come for too long the oldest events are lost: `lost` counts them.
    """

    wanted: Wanted
    lost: int = 0
    _waiting: deque[Event] = field(default_factory=deque)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, event: Event) -> None:
        """Queues an event, if this listener wants it."""
        if not self.wanted(event):
            return
        if len(self._waiting) >= JOINED_FROM and self._joined(event):
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self.lost += 1
        self._waiting.append(event)
        self._came.set()

    def _joined(self, event: Event) -> bool:
        last = self._waiting[-1]
        if event.name != ASSISTANT or last.name != ASSISTANT or last.run_id != event.run_id:
            return False
        text = last.payload["delta"] + event.payload["delta"]
        if len(text) > LONGEST_PIECE:
            return False
        self._waiting[-1] = replace(last, payload={**last.payload, "delta": text})
        return True

    def ready(self) -> list[Event]:
        """The queued events, without waiting for more."""
        found = list(self._waiting)
        self._waiting.clear()
        self._came.clear()
        return found

    async def wait(self) -> None:
        """Returns when at least one event is queued."""
        await self._came.wait()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            await self._came.wait()
            for event in self.ready():
                yield event


class Subscriber(Protocol):
    """An object that receives events."""

    def take(self, event: Event) -> None:
        """Receives an event; neither waits nor fails."""


class Events:
    """Publishes events within this process. Publishing to nobody costs next to nothing."""

    def __init__(self) -> None:
        self._listeners: set[Subscriber] = set()
        self.audience: set[Callable[[], object]] = set()
        """Called when somebody begins or ceases to listen."""
        self.spread: Callable[[], Awaitable[None]] | None = None
        """Has other processes know that somebody listens here, where they can."""

    @property
    def has_listeners(self) -> bool:
        """Whether anybody listens; if not, publishers need not gather anything."""
        return bool(self._listeners)

    def tell(self, event: Event) -> None:
        """Publishes an event to all who want it, at once; never waits and never fails."""
        for listener in tuple(self._listeners):
            listener.take(event)

    @contextmanager
    def listening(self, wanted: Wanted = lambda _: True) -> Iterator[Listener]:
        """A listener that receives events until the context ends."""
        listener = Listener(wanted)
        with self.subscribed(listener):
            yield listener

    @contextmanager
    def subscribed(self, hearer: Subscriber) -> Iterator[None]:
        """Passes events to `hearer` until the context ends."""
        self._listeners.add(hearer)
        self._audience_changed()
        try:
            yield
        finally:
            self._listeners.discard(hearer)
            self._audience_changed()

    def has_others_than(self, hearer: Subscriber) -> bool:
        """Whether anybody listens besides `hearer`."""
        return bool(self._listeners - {hearer})

    def _audience_changed(self) -> None:
        for call in tuple(self.audience):
            call()
