"""Relays transient events between processes that have readers; not needed on SQLite, with its single process.

Events that must not be lost are in the feed, which each process reads by itself.
"""

import asyncio
import contextlib
import json
from collections.abc import Sequence
from secrets import token_hex
from time import monotonic
from typing import Any

from interlock.agents.events import Listener
from interlock.agents.runtime import Runtime
from interlock.core.events import ASSISTANT, Event
from interlock.store.drivers.broadcast import LONGEST, Broadcast

GATHER_S = 0.02
"""The interval between two messages; events in between are batched."""
BEACON_S = 5.0
"""How often a process with readers announces that."""
WANTED_S = 16.0
"""How long after an announcement others send their events."""
SPREAD_S = 0.2
"""How long the start of a reader waits until others know of it."""
BEACON = "live:"
LARGEST = 200_000
"""The maximum size of an event in characters; long fields of larger ones are dropped."""
SHORT = 1_000
MOST_UNFINISHED = 64
_HEAD = 40


class Relay:
    """Sends local events to processes with readers, and receives theirs while there are local readers."""

    def __init__(self, runtime: Runtime) -> None:
        self._events, self._store = runtime.events, runtime.store
        self._broadcast = Broadcast(runtime.store)
        self._name = token_hex(8)
        self._own = Listener(lambda event: not event.is_relayed)
        self._wanted = asyncio.Event()
        self._wanted_until = 0.0
        self._read, self._listens = asyncio.Event(), asyncio.Event()
        self._sequence = 0
        self._parts: dict[str, dict[int, str]] = {}
        self._shone_at: float | None = None

    def listen(self) -> None:
        """Subscribes to other processes, so that the first local reader misses nothing."""
        self._listens.set()

    async def run(self) -> None:
        """Relays until cancelled."""
        self._store.beacons.add(self._hear_beacon)
        self._events.audience.add(self._audience_changed)
        self._events.spread = self._beacon
        self._audience_changed()
        try:
            await asyncio.gather(self._tell(), self._hear(), self._shine())
        finally:
            self._store.beacons.discard(self._hear_beacon)
            self._events.audience.discard(self._audience_changed)
            self._events.spread = None
            await self._broadcast.close()

    def _hear_beacon(self, note: str) -> None:
        if note.startswith(BEACON) and note != BEACON + self._name:
            self._wanted_until = monotonic() + WANTED_S
            if not self._wanted.is_set():
                self._wanted.set()

    def _audience_changed(self) -> None:
        if self._events.has_others_than(self._own):
            self._read.set()
            self._listens.set()
        else:
            self._read.clear()

    async def _beacon(self) -> None:
        """Announces to other processes that there are readers here, before reading starts."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SPREAD_S):
                await self._broadcast.is_listening.wait()
                if self._shone_at is None or monotonic() - self._shone_at > BEACON_S:
                    await self._send_beacon()

    async def _shine(self) -> None:
        while True:
            await self._read.wait()
            await self._send_beacon()
            await asyncio.sleep(BEACON_S)

    async def _send_beacon(self) -> None:
        self._shone_at = monotonic()
        if not await self._broadcast.send([BEACON + self._name], wakes=True):
            self._shone_at = None

    async def _tell(self) -> None:
        while True:
            await self._wanted.wait()
            self._own.ready()
            with self._events.subscribed(self._own):
                while (left_s := self._wanted_until - monotonic()) > 0:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(left_s):
                            await self._own.wait()
                    if events := self._own.ready():
                        await self._broadcast.send(self._notes(joined(events)))
                        await asyncio.sleep(GATHER_S)
                self._wanted.clear()
            await self._broadcast.close()

    async def _hear(self) -> None:
        await self._listens.wait()
        await self._broadcast.listen(self._take)

    def _notes(self, events: Sequence[Event]) -> list[str]:
        self._sequence += 1
        text = json.dumps([_packed(event) for event in events], separators=(",", ":"), default=str)
        step = LONGEST - _HEAD
        pieces = [text[at : at + step] for at in range(0, len(text), step)]
        head = f"{self._name}.{self._sequence}"
        return [f"{head}:{place}:{len(pieces)}:{piece}" for place, piece in enumerate(pieces)]

    def _take(self, note: str) -> None:
        """Receives a fragment from another process; publishes the event once it is complete. Ignores invalid ones."""
        with contextlib.suppress(ValueError, TypeError, KeyError):
            key, place, count, piece = note.split(":", 3)
            pieces = self._parts.setdefault(key, {})
            pieces[int(place)] = piece
            while len(self._parts) > MOST_UNFINISHED:
                self._parts.pop(next(iter(self._parts)))
            if len(pieces) == int(count):
                self._parts.pop(key, None)
                for packed in json.loads("".join(pieces[at] for at in range(len(pieces)))):
                    self._events.tell(Event(**packed, is_relayed=True))


def joined(events: Sequence[Event]) -> list[Event]:
    """Events in order, with consecutive deltas of one text merged."""
    out: list[Event] = []
    for event in events:
        last = out[-1] if out else None
        if last is not None and event.name == last.name == ASSISTANT and event.run_id == last.run_id:
            payload = {**last.payload, "delta": last.payload["delta"] + event.payload["delta"]}
            out[-1] = Event(**{**_fields(last), "payload": payload})
        else:
            out.append(event)
    return out


def _fields(event: Event) -> dict[str, Any]:
    names = ("name", "payload", "project_id", "run_id", "agent_id", "channel_id", "person_id", "mission_id")
    return {name: value for name in names if (value := getattr(event, name)) is not None}


def _packed(event: Event) -> dict[str, Any]:
    packed = _fields(event)
    if len(json.dumps(packed["payload"], default=str)) > LARGEST:
        short = {k: v for k, v in event.payload.items() if not isinstance(v, (dict, list)) and len(str(v)) <= SHORT}
        packed["payload"] = {**short, "is_cut": True}
    return packed
