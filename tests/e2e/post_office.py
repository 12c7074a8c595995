"""A Postal server that counts letters and can be made to misbehave; a letter counts once it was taken."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Self

from aiohttp import web

Before = Callable[[], Awaitable[bool]]
"""Happens before a letter is taken; False turns it away."""


class PostOffice:
    """The server; an async context manager. What is in `before`, by address, happens once."""

    def __init__(self) -> None:
        self.letters: list[dict[str, Any]] = []
        self.before: dict[str, Before] = {}
        self.port = 0
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/api/v1/send/message", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @property
    def env(self) -> dict[str, str]:
        """What makes a home send its letters here."""
        return {
            "INTERLOCK_POSTAL__BASE_URL": f"http://127.0.0.1:{self.port}",
            "INTERLOCK_POSTAL__SENDER": "shop@example.com",
            "POSTAL_API_KEY": "postal-test",
        }

    def taken(self, address: str) -> int:
        """How many letters to an address were taken."""
        return sum(letter["to"] == [address] for letter in self.letters)

    async def _take(self, request: web.Request) -> web.Response:
        letter = json.loads(await request.read())
        before = self.before.pop(letter["to"][0], None)
        if before is not None and not await before():
            raise web.HTTPServiceUnavailable
        self.letters.append(letter)
        return web.json_response({"status": "success", "data": {"message_id": f"m{len(self.letters)}"}})
