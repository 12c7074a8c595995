"""A local server that speaks Slack's Web API, response URLs and Socket Mode, with Slack's limits and its moods.

`async with SlackApi() as slack:` and `slack.base_url`. What Slack sends to an app is in `slack_payloads`.

Source: https://docs.slack.dev/reference/methods and https://docs.slack.dev/apis/events-api/using-socket-mode.
"""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import WSMsgType, web

from interlock.testing.slack_limits import fault
from interlock.testing.slack_payloads import APP, Signed, signed
from interlock.testing.slack_workspace import Json, Workspace


@dataclass(frozen=True, slots=True)
class Fault:
    """How the server behaves badly at one call."""

    error: str | None = None
    """Answers with this error code."""
    retry_after_s: float | None = None
    """Refuses as too many, for so long; Slack says whole seconds."""
    status: int | None = None
    """Answers with this HTTP status and no JSON."""
    is_silent: bool = False
    """Never answers; the client must give up."""
    hangs_up: bool = False
    """Closes the connection instead of answering."""
    does_it: bool = False
    """Does what was asked all the same before it behaves badly."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it came."""

    method: str
    body: Json


class SlackApi(Workspace):
    """The server; an async context manager.

    Only `bot_token` may call the Web API, and only `app_token` may open a line. `calls` holds what was asked,
    `messages` what stands in the channels, `private` what one person alone was told, `views` the forms that were
    opened, `homes` the Home tabs of users, `acknowledged` by envelope what an app answered in Socket Mode.
    """

    def __init__(
        self,
        *,
        bot_token: str = "xoxb-test",
        app_token: str = "xapp-test",
        signing_secret: str = "a-signing-secret",
        channels: tuple[str, ...] = ("C0GENERAL", "D0ANA"),
    ) -> None:
        super().__init__(channels)
        self.bot_token, self.app_token, self.signing_secret = bot_token, app_token, signing_secret
        self.calls: list[Call] = []
        self.acknowledged: dict[str, Json] = {}
        self.lines: list[web.WebSocketResponse] = []
        self.line_count = 0
        self._wires: list[asyncio.Transport] = []
        self._spoiled: str | None = None
        self._faults: defaultdict[str, deque[Fault | None]] = defaultdict(deque)
        self._tickets: set[str] = set()
        self._urls: dict[str, int] = {}
        self._changed = asyncio.Condition()
        self._stopping = asyncio.Event()
        self._port = 0
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        """What `slack.base_url` must be."""
        return f"http://127.0.0.1:{self._port}/api"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=4 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_post("/respond/{number}", self._respond)
        app.router.add_get("/link", self._link)
        self._runner = web.AppRunner(app, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        await self.drop()
        if self._runner is not None:
            await self._runner.cleanup()

    def fail(self, method: str, *faults: Fault | None) -> None:
        """Has the next calls of a method go wrong; None lets one pass.

        `respond` and `link` are the response URLs and the Socket Mode line.
        """
        self._faults[method].extend(faults)

    def asked(self, method: str) -> list[Json]:
        """What a method was called with."""
        return [call.body for call in self.calls if call.method == method]

    def response_url(self, uses: int = 5) -> str:
        """An address for replies, good for `uses`."""
        number = str(self.number())
        self._urls[number] = uses
        return f"http://127.0.0.1:{self._port}/respond/{number}"

    def signed(self, payload: Mapping[str, Any], *, at: float | None = None, retry: int = 0) -> Signed:
        """A request of this Slack to an app."""
        return signed(self.signing_secret, payload, at=at, retry=retry)

    async def until(self, happened: Callable[["SlackApi"], Any]) -> None:
        """Waits until `happened` is true of this server; it is asked after all that happens here."""
        async with self._changed:
            await self._changed.wait_for(lambda: happened(self))

    async def envelope(self, payload: Mapping[str, Any], *, retry: int = 0) -> str:
        """Sends a payload by the line, whose type it tells; returns what the envelope is called."""
        kind = {"event_callback": "events_api"}.get(payload.get("type", ""), "interactive")
        kind = "slash_commands" if "command" in payload else kind
        ident = f"envelope-{self.number()}"
        sent: Json = {"envelope_id": ident, "type": kind, "payload": payload, "accepts_response_payload": True}
        if kind == "events_api":
            sent |= {"retry_attempt": retry, "retry_reason": "timeout" if retry else ""}
        await self.lines[-1].send_json(sent)
        return ident

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Asks the app to open another line."""
        await self.lines[-1].send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}})

    def spoil(self) -> str:
        """Has the address that is given next lead nowhere, as one does that was used; returns its ticket."""
        self._spoiled = str(self.number())
        return self._spoiled

    async def drop(self) -> None:
        """Breaks all lines without a word."""
        for transport in self._wires:
            transport.abort()

    def _fault(self, method: str) -> Fault | None:
        faults = self._faults[method]
        return faults.popleft() if faults else None

    async def _note(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        body = await _body(request)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ") or body.pop("token", "")
        self.calls.append(Call(method, body))
        found = self._fault(method)
        answer = self._answer(method, token, body) if found is None or found.does_it else {}
        await self._note()
        if found is not None:
            return await self._behave(request, found)
        return web.json_response(answer)

    async def _behave(self, request: web.Request, found: Fault) -> web.StreamResponse:
        if found.is_silent:
            await self._stopping.wait()
        if found.is_silent or found.hangs_up:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if found.retry_after_s is not None:
            headers = {"Retry-After": str(found.retry_after_s)}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
        if found.status is not None:
            return web.Response(status=found.status, text="<html>no</html>", content_type="text/html")
        return web.json_response({"ok": False, "error": found.error})

    def _answer(self, method: str, token: str, body: Json) -> Json:
        opens = method == "apps.connections.open"
        if token != (self.app_token if opens else self.bot_token):
            return {"ok": False, "error": "invalid_auth"}
        if not opens:
            return self.do(method, body)
        ticket, is_good, self._spoiled = self._spoiled or str(self.number()), self._spoiled is None, None
        if is_good:
            self._tickets.add(ticket)
        return {"ok": True, "url": f"ws://127.0.0.1:{self._port}/link?ticket={ticket}&app_id={APP}"}

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        number, body = request.match_info["number"], json.loads(await request.text())
        self.calls.append(Call("respond", body))
        found = self._fault("respond")
        wrong = fault(body)
        if found is None and self._urls.get(number, 0) > 0 and not wrong:
            self._urls[number] -= 1
            self.private.append(body)
        else:
            found = found or Fault(status=400 if wrong else 404)
        await self._note()
        return await self._behave(request, found) if found else web.Response(text="ok")

    async def _link(self, request: web.Request) -> web.StreamResponse:
        """A line. Its address is good once."""
        self.calls.append(Call("link", dict(request.query)))
        found = self._fault("link")
        await self._note()
        if found is not None:
            return await self._behave(request, found)
        if request.query.get("ticket") not in self._tickets:
            return web.Response(status=408)
        self._tickets.discard(request.query["ticket"])
        line = web.WebSocketResponse()
        await line.prepare(request)
        if request.transport is not None:
            self._wires.append(request.transport)
        self.lines.append(line)
        self.line_count += 1
        hello = {"type": "hello", "num_connections": 1, "connection_info": {"app_id": APP}}
        await line.send_json({**hello, "debug_info": {"host": "applink-1", "approximate_connection_time": 18060}})
        await self._note()
        try:
            async for message in line:
                if message.type is WSMsgType.TEXT:
                    said = json.loads(message.data)
                    self.acknowledged[said["envelope_id"]] = said.get("payload") or {}
                    await self._note()
        finally:
            self.lines.remove(line)
            await self._note()
        return line


async def _body(request: web.Request) -> Json:
    """What a call says, in whichever of the ways that Slack takes it."""
    if request.content_type == "application/json":
        return dict(json.loads(await request.text()))
    return {**request.query, **{key: str(value) for key, value in (await request.post()).items()}}
