"""One who reads what happens: what is wanted, and what waits until it is read; it never holds up who tells.

How the events get to a reader's machine is each surface's job.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from interlock.agents.events import JOINED_FROM, LONGEST_PIECE
from interlock.core.events import ASSISTANT, Event
from interlock.store.feed import EVERYWHERE

MOST_WAITING = 1_000
MOST_CHARS = 1 << 20
"""Of text that waits for one reader, about."""
LAG_S = 30.0
"""How long something may wait for a reader who does not come for it."""
USUAL_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """What is wanted of all that is told; None: of any."""

    project: str | None = None
    run: str | None = None
    mission: str | None = None
    channel: str | None = None

    def covers(self, event: Event) -> bool:
        """Whether an event is wanted."""
        return (
            (self.project is None or event.project_id == self.project or event.project_id == EVERYWHERE)
            and (self.run is None or event.run_id == self.run)
            and (self.mission is None or event.mission_id == self.mission)
            and (self.channel is None or self.channel in (event.channel_id, event.payload.get("channel_id")))
        )


@dataclass(slots=True, eq=False)
class Told:
    """An event on its way to readers. `encoded` is theirs: what one has made of it serves the others too."""

    event: Event
    encoded: bytes | None = None

    @property
    def weight(self) -> int:
        """How much it is, in characters, about."""
        return len(self.event.payload["delta"]) if self.event.name == ASSISTANT else USUAL_CHARS


@dataclass(slots=True, eq=False)
class Reader:
    """Events wait here, in order and bounded. Where there are too many, or for too long, none is kept: it `has_lagged`.

    What it missed then, it finds by asking anew from the last id that it has seen.
    """

    interest: Interest
    begins: int = 0
    """Rows of the feed with greater ids are told by themselves."""
    after: int = 0
    """Rows of the feed with ids up to this are not told at all."""
    has_missed: bool = False
    """Whether some of what was asked for is no longer kept."""
    has_lagged: bool = False
    has_ended: bool = False
    """Nothing more is told, since the process stops."""
    since: float | None = None
    """Monotonic time since when something waits."""
    _waiting: deque[Told] = field(default_factory=deque)
    _chars: int = 0
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self.has_lagged or self.has_ended

    def put(self, told: Told) -> None:
        """Keeps an event, if it is wanted."""
        event = told.event
        if self.has_lagged or not self.interest.covers(event) or (event.id is not None and event.id <= self.after):
            return
        if not self._waiting:
            self.since = monotonic()
        if len(self._waiting) < JOINED_FROM or not self._joined(event):
            self._waiting.append(told)
        self._chars += told.weight
        if len(self._waiting) > MOST_WAITING or self._chars > MOST_CHARS:
            self.lag()
        self._came.set()

    def lag(self) -> None:
        """Keeps nothing more: who reads is too far behind."""
        self.has_lagged = True
        self._waiting.clear()
        self._came.set()

    def end(self) -> None:
        """Lets what waits be read, and nothing more come."""
        self.has_ended = True
        self._came.set()

    async def take(self, timeout_s: float) -> Sequence[Told]:
        """What waits, at once or as soon as there is something; nothing after `timeout_s` or at the end."""
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
        self._waiting[-1] = Told(replace(last, payload={**last.payload, "delta": text}))
        return True
