"""Waits for replies to messages, and streams events until then.

Posting is in `conversation`; the worker executes the run.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Protocol

from interlock.agents.events import Events, Listener
from interlock.core.events import LIFECYCLE, Event
from interlock.core.ids import new_id
from interlock.desk.agents.conversation import Reply, reply_of
from interlock.desk.context import DeskContext, Stopping
from interlock.desk.events.run_ends import RunWatcher
from interlock.store.errors import StoreError

LAST_WORDS_S = 0.25
"""How long to wait, after the reply, for the run's final events."""


class Answers:
    """Replies of runs, or what they wait for. Survives lost connections.

    `check` raises the error that ended this process's worker, if any.
    """

    def __init__(self, context: DeskContext, check: Callable[[], None] = lambda: None) -> None:
        self._context = context
        self._ends = RunWatcher(context.store, check, Stopping, or_waiting=True)

    async def of(self, run_id: str) -> Reply:
        """The reply to a message, as soon as it exists or the run waits for a person.

        Raises NotFound for an unknown run, and the error that ended this process's worker.
        """
        while True:
            with contextlib.suppress(StoreError):
                if (found := await reply_of(self._context, run_id)) is not None:
                    return found
            await self._ends.news(run_id)

    async def close(self) -> None:
        """Stops waiting; pending calls fail."""
        await self._ends.close()


class EventSource(DeskContext, Protocol):
    """A context whose process publishes the events of runs."""

    @property
    def events(self) -> Events:
        """The events of running runs."""


Post = Callable[[str], Awaitable[str]]
"""Posts a message whose run should have the given id; returns its actual id."""


@contextlib.asynccontextmanager
async def _posted(context: EventSource, post: Post) -> AsyncIterator[tuple[str, Listener]]:
    wanted = {"run": new_id("run")}
    with context.events.listening(lambda event: event.run_id == wanted["run"]) as listener:
        if context.events.spread is not None:
            await context.events.spread()
        wanted["run"] = await post(wanted["run"])
        yield wanted["run"], listener


async def stream_reply(context: EventSource, answers: Answers, post: Post) -> AsyncGenerator[str | Event | Reply, None]:
    """Posts a message and streams the outcome: the id of its run, its events as they happen, and the reply last.

    If the caller stops early, the run continues. Raises what posting and `Answers.of` raise.
    """
    async with _posted(context, post) as (run_id, listener):
        yield run_id
        reply = asyncio.create_task(answers.of(run_id))
        has_begun = has_ended = False
        try:
            while not reply.done():
                came = asyncio.create_task(listener.wait())
                await asyncio.wait((came, reply), return_when=asyncio.FIRST_COMPLETED)
                came.cancel()
                for event in listener.ready():
                    has_begun, has_ended = True, _is_last(event)
                    yield event
            if has_begun and not has_ended and reply.exception() is None and reply.result().stop_reason != "waiting":
                for event in await _last_words(listener):
                    yield event
            yield reply.result()
        finally:
            reply.cancel()
            await asyncio.gather(reply, return_exceptions=True)


async def _last_words(listener: Listener) -> list[Event]:
    """The remaining events of a run that has ended, up to its final event."""
    found: list[Event] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_S):
            while not found or not _is_last(found[-1]):
                await listener.wait()
                found += listener.ready()
    return found


def _is_last(event: Event) -> bool:
    return event.name == LIFECYCLE and event.payload["phase"] != "start"
