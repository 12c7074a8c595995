"""Waits for what comes of messages, with one look for all who wait in this process, and tells what happens meanwhile.

How a message is posted is `conversation`'s matter, and how a run is worked the worker's.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from time import monotonic
from typing import Protocol

from interlock.agents.events import Events, Listener
from interlock.core.errors import NotFound
from interlock.core.events import LIFECYCLE, Event
from interlock.core.ids import new_id
from interlock.desk.conversation import Reply, reply_of
from interlock.desk.office import Office, Stopping
from interlock.store import queues
from interlock.store.errors import StoreError, StoreGone

POLL_S = 0.25
"""How often is looked where nothing is heard of changes."""
REST_S = 0.005
"""Between two looks, however much is heard."""
MISSED_S = 1.0
"""How often runs are looked for that are there no more."""
LAST_WORDS_S = 0.25
"""How long is waited, once a reply is there, for what was told of its run at the end."""


class Answers:
    """What comes of runs: their reply, or what they wait for. Lost connections are sat out.

    `check` raises what ended the worker of this process, if anything did.
    """

    def __init__(self, office: Office, check: Callable[[], None] = lambda: None) -> None:
        self._office, self._check = office, check
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def of(self, run_id: str) -> Reply:
        """The reply to a message, once there is one or the run waits for a person.

        Raises NotFound for a run that there is not, and what ended the worker of this process.
        """
        while True:
            with contextlib.suppress(StoreError):
                if (found := await reply_of(self._office, run_id)) is not None:
                    return found
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(run_id, []).append(done)
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look(), name="answers")
            try:
                await done
            finally:
                self._forget(run_id, done)

    async def close(self) -> None:
        """Ends looking; who still waits is told so."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        self._fail(Stopping())

    async def _look(self) -> None:
        news, missed_at = self._office.store.listener(), monotonic() + MISSED_S
        while self._waiting:
            try:
                self._check()
                for row in await self._office.store.read(queues.ended, list(self._waiting), or_waiting=True):
                    self._tell(row.id, None)
                if monotonic() >= missed_at:
                    for run_id in await self._office.store.read(queues.missing, list(self._waiting)):
                        self._tell(run_id, NotFound("run", run_id))
                    missed_at = monotonic() + MISSED_S
            except StoreGone as error:
                self._fail(error)
            except StoreError:
                await asyncio.sleep(POLL_S)
            except Exception as error:  # noqa: BLE001 (handed to whoever waits)
                self._fail(error)
            await asyncio.sleep(REST_S)
            await news.wait(POLL_S)

    def _tell(self, run_id: str, error: BaseException | None) -> None:
        for done in self._waiting.pop(run_id, ()):
            if not done.done():
                done.set_result(None) if error is None else done.set_exception(error)

    def _fail(self, error: BaseException) -> None:
        for run_id in list(self._waiting):
            self._tell(run_id, error)

    def _forget(self, run_id: str, done: "asyncio.Future[None]") -> None:
        others = [each for each in self._waiting.get(run_id, ()) if each is not done]
        if others:
            self._waiting[run_id] = others
        else:
            self._waiting.pop(run_id, None)


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
