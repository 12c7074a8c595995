"""A chat in front of the desk: what people write in it, and the replies. No surface's format is used here."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from interlock import Interlock
from interlock.desk.chats.cards import Card
from interlock.desk.chats.reception import Reception
from interlock.desk.chats.requests import Place, Request
from interlock.desk.identities import people
from interlock.store.messages import inbox, outbox

ANA, BEN, VIC = "slack:UANA", "telegram:7", "slack:UVIC"
HELD = "Compare A and B and e-mail the result to board@example.com"


async def until(happened: Callable[[], Awaitable[bool]]) -> None:
    """Waits until a condition holds."""
    while not await happened():
        await asyncio.sleep(0.002)


def request(
    text: str,
    key: str,
    who: str = ANA,
    fields: dict[str, Any] | None = None,
    name: str = "Somebody",
    said_at: float | None = None,
) -> Request:
    """A person writes `text`, or taps the button that it names."""
    surface, _, user = who.partition(":")
    command, _, words = text.partition(" ")
    return Request(
        key=f"{surface}:{key}", identity=who, name=name, place=Place(surface, "C1", user=user), command=command,
        words=words, fields=fields, said_at=said_at,
    )  # fmt: skip


@dataclass
class Front:
    """An open home with two operators and a viewer, and a reception that works while `open` lasts."""

    box: Interlock
    reception: Reception
    said: int = field(default=0)

    async def say(self, text: str, who: str = ANA, **more: Any) -> Card | None:
        """The reply to a message."""
        self.said += 1
        asked = request(text, more.pop("key", f"k{self.said}"), who, **more)
        await self.reception.accept(asked)
        await self.quiet(who)
        return await self.told(asked.key)

    async def tap(self, verb: str, target: str, who: str = ANA, **fields: Any) -> Card | None:
        """The reply to a tap on a card."""
        return await self.say(verb, who, fields={"id": target, **fields})

    async def told(self, key: str) -> Card | None:
        """The reply to a request; None if there is none."""
        row = await self.box.runtime.store.read(outbox.by_key, f"reply:{key}")
        return Card.from_json(row.payload["card"]) if row is not None else None

    async def quiet(self, who: str) -> None:
        """Waits until all requests of a person are handled."""

        async def nothing() -> bool:
            return await self.box.runtime.store.read(inbox.head, who) is None

        await until(nothing)


@asynccontextmanager
async def worked(reception: Reception) -> AsyncIterator[Reception]:
    """A running reception."""
    working = asyncio.create_task(reception.run())
    try:
        yield reception
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def link(box: Interlock, name: str, identity: str, role: str = "operator") -> str:
    """Adds a person with a chat identity; returns their id."""
    entered = await people.add(box.runtime, box.person, name, role=role)
    await people.link(box.runtime, box.person, entered["id"], identity)
    return str(entered["id"])


@asynccontextmanager
async def opened(box: Interlock) -> AsyncIterator[Front]:
    """A chat with the operators Ana and Ben, and the viewer Vic."""
    for name, identity, role in (("Ana", ANA, "operator"), ("Ben", BEN, "operator"), ("Vic", VIC, "viewer")):
        await link(box, name, identity, role)
    async with worked(Reception(box.runtime)) as reception:
        yield Front(box, reception)


def text_of(card: Card | None) -> str:
    """The whole text of a card."""
    assert card is not None
    facts = [f"{fact.label}: {fact.value}" for fact in card.facts]
    passages = [f"{p.heading or ''}\n{p.text}" for p in card.passages]
    return "\n".join([card.title, *facts, *passages, card.footer])
