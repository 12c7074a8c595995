"""A local server that answers model calls from a script, whatever protocol they are in.

`messages_api` and `chat_api` make it speak one; what it can answer is in their scripts.
"""

import argparse
import asyncio
import hmac
import importlib
import inspect
import json
import socket
import struct
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from interlock.testing.messages_script import Ending, HangUp, Raw, Refusal

_MAX_BODY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came: its number from 1, its headers in lower case, its JSON."""

    number: int
    headers: dict[str, str]
    body: dict[str, Any]


class Told(Protocol):
    """An answer that a protocol can tell in pieces."""

    @property
    def ending(self) -> Ending:
        """How its stream ends."""

    @property
    def events_before_ending(self) -> int | None:
        """For an ending other than WHOLE: events sent before it; None for all but the last."""

    @property
    def pause_s(self) -> float:
        """Between events."""


class ScriptedApi(ABC):
    """The server; an async context manager.

    With `api_key` only that key is let in, by bearer token or x-api-key; else any. `requests` holds all that
    was asked, `connection_count` how many connections were made, `hanging` the numbers of requests whose stream has
    stopped on the way (`Ending.HANG`), `answered` of those that were answered whole, `abandoned` of those whose client
    went away before the end. With `journal` each request and its outcome becomes a line of JSON.
    """

    def __init__(
        self,
        script: Callable[[dict[str, Any], int], Any],
        *,
        api_key: str | None = None,
        port: int = 0,
        journal: Path | None = None,
    ) -> None:
        self.requests: list[Request] = []
        self.hanging: list[int] = []
        self.answered: list[int] = []
        self.abandoned: list[int] = []
        self.connection_count = 0
        self._script, self._api_key, self._port, self._journal = script, api_key, port, journal
        self._changed = asyncio.Condition()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    path: str
    """Where model calls go."""

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._port}"

    @property
    @abstractmethod
    def base_url(self) -> str:
        """What the base URL of a provider must be."""

    @abstractmethod
    def whole(self, answer: Any, request: Request) -> bytes:
        """The answer as one JSON body."""

    @abstractmethod
    def events(self, answer: Any, request: Request) -> list[bytes]:
        """The answer as events, each as it goes over the wire."""

    @abstractmethod
    def refused(self, refusal: Refusal) -> Raw:
        """How the protocol says no."""

    def headers(self, request: Request) -> dict[str, str]:
        """Of an answer that is a stream."""
        return {"request-id": f"req_{request.number}"}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def until(self, happened: Callable[[Self], bool]) -> None:
        """Waits until `happened` is true of this server; it is asked after each request and each ending."""
        async with self._changed:
            await self._changed.wait_for(lambda: happened(self))

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        task = asyncio.get_running_loop().create_task(_Connection(self, reader, writer).serve())
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def received(self, headers: dict[str, str], body: dict[str, Any]) -> Request:
        """Records a request."""
        request = Request(len(self.requests) + 1, headers, body)
        await self._note({"number": request.number, "event": "request", "body": body})
        async with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        return request

    async def stopped(self, request: Request) -> None:
        """Records that a stream goes no further."""
        await self._note({"number": request.number, "event": "hanging"})
        async with self._changed:
            self.hanging.append(request.number)
            self._changed.notify_all()

    async def ended(self, request: Request, *, abandoned: bool) -> None:
        """Records how a request ended."""
        await self._note({"number": request.number, "event": "abandoned" if abandoned else "answered"})
        async with self._changed:
            (self.abandoned if abandoned else self.answered).append(request.number)
            self._changed.notify_all()

    async def answer(self, request: Request) -> Any:
        """What the script says, or a refusal where the key is wrong."""
        given = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        if not given or (self._api_key and not hmac.compare_digest(given.encode(), self._api_key.encode())):
            return Refusal(401, "authentication_error", "invalid API key")
        scripted = self._script(request.body, request.number)
        return await scripted if inspect.isawaitable(scripted) else scripted

    async def _note(self, entry: dict[str, Any]) -> None:
        if self._journal is not None:
            await asyncio.to_thread(_append, self._journal, json.dumps(entry) + "\n")


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line)


class _Connection:
    """One keep-alive connection: requests one after the other."""

    def __init__(self, api: ScriptedApi, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._api, self._reader, self._writer = api, reader, writer

    async def serve(self) -> None:
        try:
            while await self._one():
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._writer.transport.abort()

    async def _one(self) -> bool:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        size = int(headers.get("content-length", "0"))
        if method != "POST" or path.split("?")[0] != self._api.path or size > _MAX_BODY_BYTES:
            await self._whole(self._api.refused(Refusal(404, "not_found_error", f"no {method} {path} here")))
            return False
        body = json.loads(await self._reader.readexactly(size))
        request = await self._api.received(headers, body)
        answered = False
        try:
            answered = await self._reply(request, await self._api.answer(request))
        finally:
            await self._api.ended(request, abandoned=not answered)
        return answered

    async def _reply(self, request: Request, scripted: Any) -> bool:
        """True if all was sent and the connection can go on."""
        match scripted:
            case Refusal():
                await self._whole(self._api.refused(scripted))
            case Raw():
                await self._whole(scripted)
            case HangUp(reset, wait):
                if wait:
                    await self._reader.read()
                self._end(reset=reset)
                return False
            case _ if request.body.get("stream"):
                return await self._stream(request, scripted)
            case _:
                await self._whole(Raw(self._api.whole(scripted, request), "application/json"))
        return True

    async def _stream(self, request: Request, answer: Told) -> bool:
        events = self._api.events(answer, request)
        self._writer.write(_head(200, "text/event-stream; charset=utf-8", self._api.headers(request)))
        ending = answer.ending
        whole = ending is Ending.WHOLE
        count = len(events) - 1 if answer.events_before_ending is None else answer.events_before_ending
        for event in events if whole else events[:count]:
            await self._chunk(event)
            if answer.pause_s:
                await asyncio.sleep(answer.pause_s)
        match ending:
            case Ending.CUT_JSON:
                await self._chunk(events[count][:-8])
            case Ending.RESET:
                self._end(reset=True)
                return False
            case Ending.HANG:
                await self._api.stopped(request)
                await self._reader.read()
                return False
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return True

    async def _chunk(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._writer.drain()

    async def _whole(self, raw: Raw) -> None:
        length = {"content-length": str(len(raw.body))}
        self._writer.write(_head(raw.status, raw.content_type, {**length, **raw.headers}) + raw.body)
        await self._writer.drain()

    def _end(self, *, reset: bool) -> None:
        if reset:
            peer: socket.socket = self._writer.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()
        else:
            self._writer.close()


def _head(status: int, content_type: str, headers: Mapping[str, str]) -> bytes:
    def lines() -> Iterator[str]:
        yield f"HTTP/1.1 {status} scripted"
        yield f"content-type: {content_type}"
        if "content-length" not in headers:
            yield "transfer-encoding: chunked"
        yield from (f"{name}: {value}" for name, value in headers.items())

    return ("\r\n".join(lines()) + "\r\n\r\n").encode("latin-1")


async def serve(api: ScriptedApi) -> None:
    """Serves until it is killed, after one line that says where."""
    async with api:
        sys.stdout.write(f"listening on {api.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def run(api: type[ScriptedApi], argv: list[str] | None = None) -> None:
    """Serves as the command line says, until it is killed."""
    parser = argparse.ArgumentParser(prog=f"python -m {api.__module__}")
    parser.add_argument("--script", required=True, help="module:function, called with a request's JSON and its number")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key", default=None, help="the only key that is let in")
    parser.add_argument("--journal", type=Path, default=None, help="a file of JSON lines, one for each request and end")
    options = parser.parse_args(argv)
    module, _, function = options.script.partition(":")
    script = getattr(importlib.import_module(module), function)
    asyncio.run(serve(api(script, api_key=options.api_key, port=options.port, journal=options.journal)))
