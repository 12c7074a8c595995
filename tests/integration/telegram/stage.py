"""A home at work with a Telegram bot, put together as `interlock up` does it; no test of its own."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from interlock import Interlock
from interlock.app.serving import Served, served
from interlock.desk.identities import people
from interlock.desk.reading import listings
from interlock.desk.reading.views import View
from interlock.desk.signoff import signing
from interlock.store.messages import inbox
from interlock.testing.telegram_api import TelegramApi
from interlock.testing.telegram_state import Sent

GOAL = "Compare A and B and e-mail the result to board@example.com"
ANA, VIC, EVE = 42, 43, 66
"""An operator, a viewer and a stranger."""
LOOK_S = 0.02
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stage:
    """A home whose bot is reached by `api`."""

    api: TelegramApi
    box: Interlock
    door: Served

    async def sent(self, pattern: str) -> Sent:
        """The newest message whose text begins so, as soon as it is there."""
        await self.api.until(lambda server: any(re.match(pattern, sent.text) for sent in server.sent))
        return [sent for sent in self.api.sent if re.match(pattern, sent.text)][-1]

    async def held(self, *, chat: int | None = None, text: str = f"/run {GOAL}") -> tuple[Sent, View]:
        """A mission's question on its card, and as the desk sees it."""
        await self.api.say(text, user=ANA, chat=chat)
        return await self.question()

    async def question(self) -> tuple[Sent, View]:
        """The question that waits, on its card and as the desk sees it."""
        card = await self.sent("🔴 To sign off")
        (ident,) = {data.partition(":")[2] for _, data in card.buttons}
        return card, await signing.approval(self.box.runtime, ident)

    async def finished(self) -> Sent:
        """How the mission ended, after Ana has approved whatever else was asked."""
        tapped: set[int] = set()

        def is_open(sent: Sent) -> bool:
            return bool(sent.buttons) and sent.message_id not in tapped

        while not any(sent.text.startswith("🟢 Done: ") for sent in self.api.sent):
            for card in filter(is_open, self.api.sent):
                tapped.add(card.message_id)
                await self.api.tap(card.buttons[0][1], on=card, user=ANA)
            await self.api.until(lambda server: any(is_open(m) or m.text.startswith("🟢 Done: ") for m in server.sent))
        return await self.sent("🟢 Done: ")

    async def settled(self, ident: str, status: str) -> View:
        """An approval once it has this status."""
        look: Callable[[], Awaitable[View]] = lambda: signing.approval(self.box.runtime, ident)  # noqa: E731
        return await eventually(look, lambda view: view["status"] == status)

    async def missions(self) -> list[View]:
        """The missions."""
        return await listings.missions(self.box.runtime)

    async def idle(self) -> None:
        """Returns once every update is confirmed and nothing that was taken in is left to do."""
        await self.api.until(lambda server: not server.updates)
        await eventually(lambda: self.box.runtime.store.read(inbox.waiting), lambda found: not found)


async def eventually(look: Callable[[], Awaitable[T]], good: Callable[[T], bool]) -> T:
    """What `look` finds, once it is `good`."""
    async with asyncio.timeout(60):
        while not good(seen := await look()):
            await asyncio.sleep(LOOK_S)
        return seen


@contextlib.asynccontextmanager
async def at_work(api: TelegramApi, home: Path, **more: Any) -> AsyncIterator[Stage]:
    """A home with the offline model, at work until the context ends."""
    telegram = {"base_url": api.base_url, "bot_token": api.token, **more}
    async with Interlock.open(cwd=home, env={}, model="rehearsal/offline", telegram=telegram) as box:
        known = {person["name"] for person in await people.people(box.runtime)}
        for name, role, user in (("Ana", "operator", ANA), ("Vic", "viewer", VIC)):
            if name not in known:
                await people.add(box.runtime, box.person, name, role=role)
                await people.link(box.runtime, box.person, name, f"telegram:{user}")
        async with served(box, "127.0.0.1", 0, always=False) as door:
            assert await box.start()
            yield Stage(api, box, door)
