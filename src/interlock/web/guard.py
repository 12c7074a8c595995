"""Checks before every request: assigns its id, authenticates it, and limits the size and duration of its body.

How a request is authenticated is up to `admission`, which `api` provides.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlock.core.ids import new_id

OURS = "/api/"
"""The paths that need authentication and may have bodies; of other requests, no body is read."""
Admission = Callable[[Scope], Awaitable[Response | None]]
"""The response that refuses a request, before its body is read; None to admit it."""
_SANE = re.compile(r"[A-Za-z0-9._:-]{1,80}")


class Guard:
    """An application behind these checks. A request's id is the client's `X-Request-Id` if that is well-formed.

    INVARIANT: the body of a request that `admission` refuses is not read.
    """

    def __init__(self, app: ASGIApp, admission: Admission, *, most_bytes: int, body_s: float) -> None:
        self.app, self.admission, self.most_bytes, self.body_s = app, admission, most_bytes, body_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get(b"x-request-id", "")
        ident = given if _SANE.fullmatch(given) else new_id("req")
        scope.setdefault("state", {})["request_id"] = ident
        send = _with_id(send, ident)
        if not scope["path"].startswith(OURS):
            await self.app(scope, receive, send)
            return
        if (refusal := await self.admission(scope)) is not None:
            await refusal(scope, receive, send)
            return
        try:
            body = await self._body(headers, receive)
        except _Refused as refused:
            await _refuse(send, refused.status, refused.detail, ident)
            return
        if body is not None:
            await self.app(scope, _given(body, receive), send)

    async def _body(self, headers: dict[bytes, str], receive: Receive) -> bytes | None:
        """The whole body; None if the client has disconnected."""
        length = headers.get(b"content-length", "")
        if length.isdecimal() and int(length[:20]) > self.most_bytes:
            raise _Refused(413, f"the body is larger than {self.most_bytes:,} bytes")
        found = bytearray()
        try:
            async with asyncio.timeout(self.body_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    found += message.get("body", b"")
                    if len(found) > self.most_bytes:
                        raise _Refused(413, f"the body is larger than {self.most_bytes:,} bytes")
                    if not message.get("more_body", False):
                        return bytes(found)
        except TimeoutError:
            raise _Refused(408, f"the body took longer than {self.body_s:g} s") from None


class _Refused(Exception):
    def __init__(self, status: int, detail: str) -> None:
        self.status, self.detail = status, detail


def _given(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    is_given = False

    async def give() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def _with_id(send: Send, ident: str) -> Send:
    async def send_with_id(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", ident.encode("latin-1"))]
        await send(message)

    return send_with_id


async def _refuse(send: Send, status: int, detail: str, ident: str) -> None:
    body: dict[str, Any] = {
        "type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail,
        "request_id": ident,
    }  # fmt: skip
    headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
