"""A fake surface that stores posted messages, and fails on request; no test lives here."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.core.clock import Clock
from interlock.desk.chats.cards import Card
from interlock.desk.context import DeskContext
from interlock.integrations.contract import Message, Sender
from interlock.integrations.delivery import Deliverer
from interlock.policy.rules import Policy
from interlock.scheduler.leadership import Leadership
from interlock.settings import Settings, load_settings
from interlock.store.engine import Store
from interlock.store.messages import outbox
from interlock.store.schema import Outgoing, table
from interlock.store.tx import Tx
from interlock.testing.clock import FakeClock

LIMIT_S = 60.0


class Board:
    """A `Sender`. The exceptions in `faults`, by key of a message, are raised once each, before or after posting it."""

    surface = "board"

    def __init__(self, *, repeats: bool = True, tells: bool = True) -> None:
        self.repeats, self.tells = repeats, tells
        self.posted: list[Message] = []
        self.edited: list[Message] = []
        self.asked: list[str] = []
        self.faults: dict[str, list[Exception]] = {}
        self.lost: dict[str, list[Exception]] = {}
        """Raised once the message is there."""
        self.gates: dict[str, asyncio.Event] = {}
        """Messages that hang until their gate opens."""
        self.begun: list[str] = []
        self.open: list[str] = []
        self.most_open = 0
        self.closed = False

    async def post(self, message: Message) -> str:
        self.begun.append(message.key)
        self.open.append(message.key)
        self.most_open = max(self.most_open, len(self.open))
        try:
            if gate := self.gates.get(message.key):
                await gate.wait()
            self._fail(self.faults, message)
            self.posted.append(message)
            self._fail(self.lost, message)
            return f"m{len(self.posted)}"
        finally:
            self.open.remove(message.key)

    async def edit(self, message: Message) -> None:
        self._fail(self.faults, message)
        self.edited.append(message)

    async def find(self, message: Message) -> str | None:
        self.asked.append(message.key)
        found = [f"m{n}" for n, posted in enumerate(self.posted, 1) if posted.key == message.key]
        return found[0] if found and self.tells else None

    async def close(self) -> None:
        self.closed = True

    @property
    def keys(self) -> list[str]:
        """The keys of posted messages, in order."""
        return [message.key for message in self.posted]

    def _fail(self, faults: dict[str, list[Exception]], message: Message) -> None:
        waiting = faults.get(message.key)
        if waiting:
            raise waiting.pop(0)


@dataclass
class Desk:
    """What deliveries need: settings, a fake clock, the store, and a renderer of cards."""

    settings: Settings
    clock: Clock
    store: Store
    looks: dict[str, Card | None] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy.builtin)

    async def draw(self, context: DeskContext, subject: str) -> Card | None:
        """The card set by the test; otherwise a card with the subject as its title."""
        return self.looks.get(subject, Card(title=subject))

    @property
    def time(self) -> FakeClock:
        """The clock, to be advanced."""
        assert isinstance(self.clock, FakeClock)
        return self.clock

    async def rows(self) -> list[Any]:
        """Everything in the outbox, in order."""
        return await self.store.read(_rows)

    async def row(self, key: str) -> Any:
        """One row of the outbox."""
        found = await self.store.read(outbox.by_key, key)
        assert found is not None
        return found


def _rows(tx: Tx) -> list[Any]:
    return tx.rows(table(Outgoing).select().order_by(table(Outgoing).c.id))


def desk_over(store: Store, home: Path, **settings: Any) -> Desk:
    """A desk with a fake clock."""
    return Desk(load_settings(home, {}, {"home": home / ".interlock", **settings}), FakeClock(), store)


@contextlib.asynccontextmanager
async def delivering(desk: Desk, *senders: Sender) -> "AsyncIterator[asyncio.Task[None]]":
    """A running deliverer."""
    deliverer = Deliverer(
        desk, senders, lambda name: Leadership(desk.store, desk.clock, name, takeover_s=45), draw=desk.draw
    )  # fmt: skip
    task = asyncio.create_task(deliverer.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """Returns once a condition holds.

    Raises TimeoutError after a while.
    """
    async with asyncio.timeout(LIMIT_S):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)
