"""An outside service that counts effects by call and by idempotency token; it is called by `victim`."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True)
class Asked:
    """A request for an effect."""

    tool: str
    token: str
    args: dict[str, Any]
    process: int
    """Who asked."""


class Effects:
    """The server; an async context manager. The hooks in `at` for `before` and `after` are awaited, and may raise."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.done: list[Asked] = []
        self.at: dict[str, Callable[[Asked], Awaitable[None]]] = {}
        self.port = 0
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/do/{tool}", self._do)
        app.router.add_get("/done/{tool}", self._ask)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def calls(self, tool: str) -> int:
        """How many requests of a tool had an effect, whatever their tokens."""
        return sum(one.tool == tool for one in self.done)

    def effects(self, tool: str) -> Counter[str]:
        """The number of effects of a tool by token; if it honours tokens, a repeated request has none."""
        return Counter(one.token for one in self.done if one.tool == tool)

    async def _do(self, request: web.Request) -> web.Response:
        tool, token = request.match_info["tool"], request.headers["idempotency-key"]
        process = int(request.headers["process"])
        asked = Asked(tool, token, json.loads(await request.read()), process)
        self.asked.append(asked)
        await self._moment("before", asked)
        if tool != "set_stock" or all((one.tool, one.token) != (tool, token) for one in self.done):
            self.done.append(asked)
        await self._moment("after", asked)
        return web.json_response({"ok": True})

    async def _ask(self, request: web.Request) -> web.Response:
        return web.json_response({"done": self.calls(request.match_info["tool"])})

    async def _moment(self, moment: str, asked: Asked) -> None:
        if moment in self.at:
            await self.at[moment](asked)
