"""Waits for what comes of messages, and tells what happens meanwhile.

How a message is posted is `conversation`'s job, and how a run is worked the worker's.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Protocol

from interlock.agents.events import Events, Listener
from interlock.core.events import LIFECYCLE, Event
from interlock.core.ids import new_id
from interlock.desk.conversation import Reply, reply_of
from interlock.desk.ends import Ends
from interlock.desk.office import Office, Stopping
from interlock.store.errors import StoreError

LAST_WORDS_S = 0.25
"""How long is waited, once a reply is there, for what was told of its run at the end."""


class Answers:
    """What comes of runs: their reply, or what they wait for. Lost connections are sat out.

    `check` raises what ended the worker of this process, if anything did.
    """

    def __init__(self, office: Office, check: Callable[[], None] = lambda: None) -> None:
        self._office = office
        self._ends = Ends(office.store, check, Stopping, or_waiting=True)

    async def of(self, run_id: str) -> Reply:
        """The reply to a message, once there is one or the run waits for a person.

        Raises NotFound for a run that there is not, and what ended the worker of this process.
        """
        while True:
            with contextlib.suppress(StoreError):
                if (found := await reply_of(self._office, run_id)) is not None:
                    return found
            await self._ends.news(run_id)

    async def close(self) -> None:
        """Ends looking; who still waits is told so."""
        await self._ends.close()


class Speaking(Office, Protocol):
    """An office in whose process runs may be told of."""

    @property
    def events(self) -> Events:
        """What is told while it happens."""


Post = Callable[[str], Awaitable[str]]
"""Posts a message whose run is to have that id; returns the id that it has."""


@contextlib.asynccontextmanager
async def _posted(office: Speaking, post: Post) -> AsyncIterator[tuple[str, Listener]]:
    wanted = {"run": new_id("run")}
    with office.events.listening(lambda event: event.run_id == wanted["run"]) as listener:
        if office.events.spread is not None:
            await office.events.spread()
        wanted["run"] = await post(wanted["run"])
        yield wanted["run"], listener


async def spoken(office: Speaking, answers: Answers, post: Post) -> AsyncGenerator[str | Event | Reply, None]:
    """What comes of a message that is posted here: the id of its run, its events as they happen, and the reply last.

    Whoever leaves before the end leaves the run to go on. Raises what posting and `Answers.of` raise.
    """
    async with _posted(office, post) as (run_id, listener):
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
    """What is still told of a run that has ended, until its end is told."""
    found: list[Event] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_S):
            while not found or not _is_last(found[-1]):
                await listener.wait()
                found += listener.ready()
    return found


def _is_last(event: Event) -> bool:
    return event.name == LIFECYCLE and event.payload["phase"] != "start"
