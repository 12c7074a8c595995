"""A chat in front of the desk: what people say in it, and what they are told. No surface's format is known here."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from interlock import Interlock
from interlock.desk import people
from interlock.desk.cards import Card
from interlock.desk.reception import Reception
from interlock.desk.requests import Place, Request
from interlock.store import inbox, outbox

ANA, BEN, VIC = "slack:UANA", "telegram:7", "slack:UVIC"
HELD = "Compare A and B and e-mail the result to board@example.com"


async def until(happened: Callable[[], Awaitable[bool]]) -> None:
    """Waits until something is so."""
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
    """Somebody says `text`, or taps what it names."""
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
        """What somebody is told when they say this."""
        self.said += 1
        asked = request(text, more.pop("key", f"k{self.said}"), who, **more)
        await self.reception.accept(asked)
        await self.quiet(who)
        return await self.told(asked.key)

    async def tap(self, verb: str, target: str, who: str = ANA, **fields: Any) -> Card | None:
        """What somebody is told when they tap on a card."""
        return await self.say(verb, who, fields={"id": target, **fields})

    async def told(self, key: str) -> Card | None:
        """The reply to a request; None if there is none."""
        row = await self.box.runtime.store.read(outbox.by_key, f"reply:{key}")
        return Card.from_json(row.payload["card"]) if row is not None else None

    async def quiet(self, who: str) -> None:
        """Waits until nothing of theirs is open."""

        async def nothing() -> bool:
            return await self.box.runtime.store.read(inbox.head, who) is None

        await until(nothing)


@asynccontextmanager
async def worked(reception: Reception) -> AsyncIterator[Reception]:
    """A reception at work."""
    working = asyncio.create_task(reception.run())
    try:
        yield reception
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def link(box: Interlock, name: str, identity: str, role: str = "operator") -> str:
    """Enters somebody whom a chat knows; returns their id."""
    entered = await people.add(box.runtime, box.person, name, role=role)
    await people.link(box.runtime, box.person, entered["id"], identity)
    return str(entered["id"])


@asynccontextmanager
async def opened(box: Interlock) -> AsyncIterator[Front]:
    """A chat with Ana and Ben, who operate, and Vic, who looks."""
    for name, identity, role in (("Ana", ANA, "operator"), ("Ben", BEN, "operator"), ("Vic", VIC, "viewer")):
        await link(box, name, identity, role)
    async with worked(Reception(box.runtime)) as reception:
        yield Front(box, reception)


def text_of(card: Card | None) -> str:
    """Everything that a card says."""
    assert card is not None
    facts = [f"{fact.label}: {fact.value}" for fact in card.facts]
    passages = [f"{p.heading or ''}\n{p.text}" for p in card.passages]
    return "\n".join([card.title, *facts, *passages, card.footer])
