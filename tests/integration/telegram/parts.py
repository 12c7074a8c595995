"""What the tests of Telegram share: a reception that records, a duty that is had or not, a surface at work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from interlock.core.errors import InterlockError
from interlock.desk.chats.cards import Card
from interlock.desk.chats.requests import Request
from interlock.integrations.contract import Message
from interlock.integrations.telegram.polling import Pace
from interlock.integrations.telegram.surface import Telegram
from interlock.settings.services import TelegramSettings
from interlock.testing.telegram_api import TelegramApi

PACE = Pace(wait_s=1, hold_s=0.02, first_s=0.01, most_s=0.05)
SECRET = "s3cret_of_the_hook"


class Recording:
    """A reception that keeps what it is handed, each key once, and fails as often as it is told."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.failures = 0
        self.handed_in = 0
        self.operators = {"telegram:42"}
        self._changed = asyncio.Condition()

    async def accept(self, request: Request) -> bool:
        """Keeps a request."""
        async with self._changed:
            self.handed_in += 1
            self._changed.notify_all()
            if self.failures > 0:
                self.failures -= 1
                raise InterlockError("the database is away")
            if any(known.key == request.key for known in self.requests):
                return False
            self.requests.append(request)
            return True

    async def may_act(self, identity: str) -> bool:
        """Whether somebody is an operator."""
        return identity in self.operators

    async def until(self, happened: Callable[["Recording"], bool]) -> None:
        """Waits until `happened` is true of what was handed in."""
        async with self._changed:
            await self._changed.wait_for(lambda: happened(self))

    async def count(self, number: int) -> list[Request]:
        """The requests, once there are so many."""
        await self.until(lambda found: len(found.requests) >= number)
        return self.requests


class Turn:
    """A duty that this process has while `mine`."""

    def __init__(self, *, mine: bool = True) -> None:
        self.mine, self.names, self.released, self.count = mine, list[str](), 0, 0
        self._changed = asyncio.Condition()

    def __call__(self, name: str) -> "Turn":
        self.names.append(name)
        return self

    async def hold(self) -> bool:
        """Whether this process has it."""
        async with self._changed:
            self.count += 1
            self._changed.notify_all()
        return self.mine

    async def asked(self, more: int) -> None:
        """Waits until it has been asked for so many more times."""
        target = self.count + more
        async with self._changed:
            await self._changed.wait_for(lambda: self.count >= target)

    async def release(self) -> None:
        """Gives it back."""
        self.released += 1


def settings(api: TelegramApi, **more: Any) -> TelegramSettings:
    """Settings that lead to the local server."""
    return TelegramSettings.model_validate({"base_url": api.base_url, "bot_token": api.token, **more})


@contextlib.asynccontextmanager
async def at_work(api: TelegramApi, reception: Any, duty: Turn | None = None, **more: Any) -> AsyncIterator[Telegram]:
    """A surface that receives as long as the context lasts."""
    surface = Telegram(settings(api, **more), reception, duty or Turn(), pace=PACE)
    running = asyncio.create_task(surface.run())
    try:
        yield surface
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await surface.close()


def outgoing(card: Card, *, chat: int = 42, key: str = "approval:apr_1@telegram:42", **more: Any) -> Message:
    """A message of the outbox."""
    given = {"kind": "approval", "address": {}, "payload": {}, **more}
    return Message(key=key, channel=str(chat), card=card, **given)
