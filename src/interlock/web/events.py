"""`GET /api/events` and streamed conversations, as text/event-stream; events are not interpreted here."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from interlock.core.errors import InterlockError, UsageError
from interlock.desk.events import sse
from interlock.desk.events.readers import Interest, QueuedEvent
from interlock.desk.identities.gate import Caller
from interlock.web.dependencies import Here, Services, Who, project_of, token_of

LAGGED = sse.frame(sse.LAGGED, {"detail": "too much happened while nothing was read: ask again from the last id"})
FORGOTTEN = sse.frame(sse.LAGGED, {"detail": "what came right after that id is no longer kept: look at how things are"})


class EventStream(Response):
    """A response that sends frames until they end or the client disconnects; then calls `gone`."""

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: AsyncGenerator[bytes, None],
        headers: Mapping[str, str] | None = None,
        gone: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        super().__init__()
        self.frames, self.more, self.gone = frames, dict(headers or {}), gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await sse.stream(self.frames, self.more, receive, send, gone=self.gone)


async def while_good(here: Services, token: str, frames: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Frames for as long as the request's token is valid; while that cannot be checked, they wait."""
    async with contextlib.aclosing(frames):
        async for each in frames:
            if not await here.gate.lasts(token):
                return
            yield each


def add_to(router: APIRouter) -> None:
    """Adds `/api/events`."""
    router.add_api_route("/api/events", events, methods=["GET"], status_code=200, response_class=EventStream)


async def events(
    request: Request,
    here: Here,
    who: Who,
    run: str | None = None,
    mission: str | None = None,
    channel: str | None = None,
    project: str | None = None,
    after: str | None = None,
) -> Response:
    """Streams events from now on, or those after an id (`Last-Event-ID`, or `after`); other parameters filter."""
    interest = Interest(project=await project_of(here, who, project), run=run, mission=mission, channel=channel)
    return await following(
        here, who, token_of(request) or "", interest, request.headers.get("last-event-id") or after
    )  # fmt: skip


async def following(here: Services, who: Caller, token: str, interest: Interest, last: str | None) -> EventStream:
    """The events that interest a caller, from now on or after the id `last`; ends when the token is revoked.

    Raises UsageError if `last` is not an id.
    """
    frames = _frames(here, who, token, interest, _begin(last))
    first = await anext(frames)
    return EventStream(_then(first, frames))


async def _then(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        yield first
        async for each in rest:
            yield each
    finally:
        await rest.aclose()


def _begin(given: str | None) -> int | None:
    if given is None or not given.strip():
        return None
    if not given.strip().isdecimal() or len(given) > 18:
        raise UsageError("`Last-Event-ID` is not the id of an event: send the last one that came, or none")
    return int(given)


async def _frames(
    here: Services, who: Caller, token: str, interest: Interest, after: int | None
) -> AsyncGenerator[bytes, None]:
    """The frames of a stream, the first one once it is subscribed; they end when the token is revoked.

    INVARIANT: an event is sent if the reader's role allows it at that moment, not when the stream began.
    """
    async with here.live.reading(interest, after=after) as reader:
        yield sse.HELLO + (FORGOTTEN if reader.has_missed else b"")
        try:
            async for queued in here.live.backlog(reader):
                if (now := await here.gate.still(token)) is None:
                    return
                if await here.live.may_see(now.person, queued.event):
                    yield sse.encoded(queued)
            while not reader.is_over:
                batch = await reader.take(here.live.runtime.settings.http.keep_alive_s)
                if (now := await here.gate.still(token)) is None:
                    return
                who = now
                if body := await _visible(here, who, batch):
                    yield body
                elif not batch and not reader.is_over:
                    yield sse.STILL_HERE
            if body := await _visible(here, who, await reader.take(0)):
                yield body
            if reader.has_lagged:
                yield LAGGED
        except InterlockError:
            return


async def _visible(here: Services, who: Caller, batch: Sequence[QueuedEvent]) -> bytes:
    return b"".join([sse.encoded(queued) for queued in batch if await here.live.may_see(who.person, queued.event)])
