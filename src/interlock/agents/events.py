"""The listeners of this process to live events.

What must survive a crash is a row of the feed; how events get to other processes or browsers is no matter of this
module.
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
    """One who listens; events wait for it in order.

    It never holds up who tells. Where it does not come for a while, pieces of one text are joined, and where it does
    not come for too long the oldest events are lost: `lost` counts them.
    """

    wanted: Wanted
    lost: int = 0
    _waiting: deque[Event] = field(default_factory=deque)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, event: Event) -> None:
        """Keeps an event for this one, if it is wanted."""
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
        """What waits, without waiting for more."""
        found = list(self._waiting)
        self._waiting.clear()
        self._came.clear()
        return found

    async def wait(self) -> None:
        """Returns when something waits."""
        await self._came.wait()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            await self._came.wait()
            for event in self.ready():
                yield event


class Subscriber(Protocol):
    """What events are given to."""

    def take(self, event: Event) -> None:
        """Hears of an event; it neither waits nor fails."""


class Events:
    """Where the parts of a process tell what happens. Telling nobody costs next to nothing."""

    def __init__(self) -> None:
        self._listeners: set[Subscriber] = set()
        self.audience: set[Callable[[], object]] = set()
        """Called when somebody begins or ceases to listen."""
        self.spread: Callable[[], Awaitable[None]] | None = None
        """Has other processes know that somebody listens here, where they can."""

    @property
    def has_listeners(self) -> bool:
        """Whether anybody listens, so that something need be gathered for them."""
        return bool(self._listeners)

    def tell(self, event: Event) -> None:
        """Gives an event to all who want it, at once; it never waits and never fails."""
        for listener in tuple(self._listeners):
            listener.take(event)

    @contextmanager
    def listening(self, wanted: Wanted = lambda _: True) -> Iterator[Listener]:
        """A listener to what is told as long as the context lasts."""
        listener = Listener(wanted)
        with self.subscribed(listener):
            yield listener

    @contextmanager
    def subscribed(self, hearer: Subscriber) -> Iterator[None]:
        """Gives what is told to `hearer` as long as the context lasts."""
        self._listeners.add(hearer)
        self._audience_changed()
        try:
            yield
        finally:
            self._listeners.discard(hearer)
            self._audience_changed()

    def has_others_than(self, hearer: Subscriber) -> bool:
        """Whether somebody else listens."""
        return bool(self._listeners - {hearer})

    def _audience_changed(self) -> None:
        for call in tuple(self.audience):
            call()
