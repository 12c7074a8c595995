"""The HTTP server: health checks and webhooks, whose bodies are not interpreted here."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from interlock.core.errors import InterlockError

MOST_BYTES = 1 << 20
"""The maximum size of a body; the services that call webhooks send a few kilobytes."""
BODY_S = 5.0
"""How long a body may take to arrive."""
HEAD_S = 10.0
"""How long the head of a request may take to arrive before the connection is closed."""
KEEP_ALIVE_S = 75.0
"""How long an idle connection is kept: longer than proxies keep theirs, which is a minute. If this side closed first, a
request that is just under way would be lost."""
BACKLOG = 512
UNREAD_S = 120.0
"""How long a connection is kept whose client reads nothing of what was sent to it."""
STOP_S = 2.0
"""How long open requests may take when the server stops."""


class Answered(Protocol):
    """The response of a webhook."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""

    @property
    def body(self) -> bytes:
        """The body."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A path that a service posts to. `handle` gets the raw body, and the headers with lower-case names."""

    path: str
    handle: Callable[[bytes, Mapping[str, str]], Awaitable[Answered]]


def application(
    hooks: Sequence[Hook],
    ready: Callable[[], Awaitable[object]],
    *,
    api: ASGIApp | None = None,
    page: Sequence[BaseRoute] = (),
    body_s: float = BODY_S,
) -> Starlette:
    """The ASGI application: `/healthz`, `/readyz`, the hooks, the paths of the web page, and what `api` has for others.

    `ready` raises InterlockError if this process cannot work. A body that takes longer than `body_s` to arrive is
    refused.

    Source: interfaces, "HTTP".
    """

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        try:
            await ready()
        except InterlockError as error:
            return problem(503, str(error))
        return JSONResponse({"status": "ready"})

    routes = [Route("/healthz", healthz), Route("/readyz", readyz)]
    taken = [Route(hook.path, _taking(hook, body_s), methods=["POST"]) for hook in hooks]
    app = Starlette(routes=[*routes, *taken, *page])
    if api is not None:
        app.router.default = api
    return app


def _taking(hook: Hook, body_s: float) -> Callable[[Request], Awaitable[Response]]:
    async def take(request: Request) -> Response:
        try:
            body = await body_of(request, body_s)
        except BadBody as error:
            return problem(error.status, str(error))
        answered = await hook.handle(body, dict(request.headers))
        return Response(answered.body, answered.status, dict(answered.headers))

    return take


class BadBody(InterlockError):
    """A body that is too large, too late, or cut off; `status` is that of the response."""

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        super().__init__(detail)


async def body_of(request: Request, body_s: float = BODY_S, *, most_bytes: int = MOST_BYTES) -> bytes:
    """The whole body of a request; once it is larger than allowed, no more of it is read.

    Raises BadBody.
    """
    found = bytearray()
    try:
        async with asyncio.timeout(body_s):
            async for chunk in request.stream():
                found += chunk
                if len(found) > most_bytes:
                    raise BadBody(413, f"the body is larger than {most_bytes:,} bytes")
    except ClientDisconnect as error:
        raise BadBody(400, "the request ended before its body did") from error
    except TimeoutError as error:
        raise BadBody(408, f"the body took longer than {body_s:g} s") from error
    return bytes(found)


def problem(status: int, detail: str) -> Response:
    """An error as problem+json."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(body, status, media_type="application/problem+json")


class _Connection(H11Protocol):
    """Closes a connection on which the head of a request does not arrive within `head_s`.

    Otherwise, anybody who reaches the port could use up all connections of this process without a token.
    """

    def __init__(self, *, head_s: float, **given: Any) -> None:
        super().__init__(**given)
        self._head_s = head_s
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(self._head_s, self._end)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_between:
            self._forget()
        elif self._late is None:
            self._late = self.loop.call_later(self._head_s, self._end)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    @property
    def _is_between(self) -> bool:
        """Whether no request is being processed."""
        return self.cycle is None or self.cycle.response_complete

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self) -> None:
        self._late = None
        if self._is_between:
            self.transport.close()


class _Server(uvicorn.Server):
    """Does not handle signals: the process that it runs in does."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the system choose.

    Raises InterlockError if the address is unavailable.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InterlockError(f"`{host}` is not an address of this machine: give another `--host`") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise InterlockError(f"cannot listen on {host}:{port}: {reason}: give another `--port` or `--host`") from error
    listening.setblocking(False)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNREAD_S * 1000))
    return listening


@contextlib.asynccontextmanager
async def serving(
    app: Starlette, listening: socket.socket, *, keep_alive_s: float = KEEP_ALIVE_S, head_s: float = HEAD_S
) -> AsyncIterator[asyncio.Task[None]]:
    """Serves on a socket while the context is open; yields the server's task, which ends early only if that fails."""
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", server_header=False, proxy_headers=False, ws="none",
        timeout_graceful_shutdown=int(STOP_S), timeout_keep_alive=keep_alive_s,  # type: ignore[arg-type]
        backlog=BACKLOG, http=partial(_Connection, head_s=head_s),  # type: ignore[arg-type]
    )  # fmt: skip
    server = _Server(config)
    working = asyncio.create_task(server.serve(sockets=[listening]), name="http")
    try:
        yield working
    finally:
        server.should_exit = True
        await asyncio.wait({working}, timeout=STOP_S + 1)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        listening.close()
