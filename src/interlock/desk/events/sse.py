"""Server-sent events: encoding, and streaming them over ASGI, without a framework."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import asdict
from typing import Any, TypeVar

from interlock.core.errors import InterlockError
from interlock.core.events import Event
from interlock.desk.agents.conversation import Reply
from interlock.desk.context import is_outage, outage_message
from interlock.desk.events.readers import QueuedEvent

_log = logging.getLogger(__name__)
T = TypeVar("T")
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
GIVE_UP_S = 60.0
"""How long a client may stop reading."""
HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no"}
HELLO = b"retry: 2000\n\n"
STILL_HERE = b": still here\n\n"
LAGGED = "lagged"
"""The last event for a reader that was too slow, or the first if the requested events have been pruned."""
DONE = "done"


def frame(name: str, payload: Mapping[str, Any], ident: int | None = None) -> bytes:
    """One event as text/event-stream."""
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), default=str)
    head = f"id: {ident}\n" if ident is not None else ""
    return f"{head}event: {name}\ndata: {data}\n\n".encode("utf-8", "replace")


def of_event(event: Event) -> bytes:
    """A published event, encoded."""
    return frame(event.name, event.payload, event.id)


def encoded(queued: QueuedEvent) -> bytes:
    """The same, cached for all readers."""
    if queued.encoded is None:
        queued.encoded = of_event(queued.event)
    return queued.encoded


def answer(reply: Reply) -> dict[str, Any]:
    """The JSON of a chat reply, streamed or not. Source: row J6."""
    return asdict(reply)


async def conversation_frames(
    said: AsyncIterator[str | Event | Reply], keep_alive_s: float
) -> AsyncGenerator[bytes, None]:
    """A chat as frames: its events, then `done` with the reply, or `error`; keep-alive comments in between."""
    yield HELLO
    try:
        async with contextlib.aclosing(paced(said, keep_alive_s)) as items:
            async for item in items:
                if item is None:
                    yield STILL_HERE
                elif isinstance(item, Event):
                    yield of_event(item)
                elif isinstance(item, Reply):
                    yield frame(DONE, answer(item))
    except InterlockError as error:
        if is_outage(error):
            _log.warning("a conversation could not be followed: %s", error)
        yield frame("error", {"detail": outage_message(error)})


async def paced(items: AsyncIterator[T], every_s: float) -> AsyncGenerator[T | None, None]:
    """The items, with None after each interval without any."""
    coming: asyncio.Task[T] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(items))
            done, _ = await asyncio.wait((coming,), timeout=every_s)
            if not done:
                yield None
                continue
            found, coming = coming, None
            try:
                yield found.result()
            except StopAsyncIteration:
                return
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        if (close := getattr(items, "aclose", None)) is not None:
            await close()


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)


async def stream(
    frames: AsyncGenerator[bytes, None], headers: Mapping[str, str], receive: Receive, send: Send, *,
    gone: Callable[[], Awaitable[object]] | None = None,
) -> None:  # fmt: skip
    """Sends frames until they end, the client disconnects, or reads nothing for `GIVE_UP_S`; calls `gone` in the last
    two cases.
    """
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in {**HEADERS, **headers}.items()]
    await send({"type": "http.response.start", "status": 200, "headers": lines})
    sending = asyncio.create_task(_send(frames, send))
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        came_of_it, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
    if came_of_it is None:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    elif not isinstance(came_of_it, (asyncio.CancelledError, OSError)):
        raise came_of_it
    elif gone is not None:
        await gone()


async def _send(frames: AsyncGenerator[bytes, None], send: Send) -> None:
    async with contextlib.aclosing(frames):
        async for body in frames:
            async with asyncio.timeout(GIVE_UP_S):
                await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
