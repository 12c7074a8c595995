"""An `Interlock` with its chats and its HTTP server: what `up` and `serve` keep running; no command line here."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.metadata import version

from interlock.app.box import Interlock
from interlock.app.senders import deliverer
from interlock.app.surfaces import Surfaces, attended
from interlock.core.complaint import Complaint
from interlock.core.errors import InterlockError
from interlock.desk.context import outage_message
from interlock.desk.identities import tokens
from interlock.store.duties import leaders

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """What is being served. `task` ends early only if the HTTP server fails, with the server's error."""

    notices: tuple[str, ...]
    """Lines for the operator: which chats, and where the door is."""
    task: "asyncio.Task[None] | None"


@contextlib.asynccontextmanager
async def served(box: Interlock, host: str, port: int, *, always: bool) -> AsyncIterator[Served]:
    """Serves the chats of an open `Interlock`, its outbox and its HTTP interface until the context ends.

    The door is opened where a chat needs it, or a program has a token, else where it is wanted `always`. Where the box
    does not execute, what is in the outbox is delivered all the same.

    Raises ConfigError if a chat is half set up, InterlockError if the address cannot be had.
    """
    async with contextlib.AsyncExitStack() as stack:
        surfaces = await stack.enter_async_context(attended(box.runtime))
        stack.push_async_callback(box.stop)
        box.outlets.extend(chat.surface.sender() for chat in surfaces.chats)
        notices = [chat.description for chat in surfaces.chats]
        task = None
        if surfaces.hooks or always or await tokens.are_there(box.runtime):
            url, task = await stack.enter_async_context(_door(box, surfaces, host, port))
            notices.append(f"listening at {url}")
        yield Served(tuple(notices), task)


@contextlib.asynccontextmanager
async def _door(
    box: Interlock, surfaces: Surfaces, host: str, port: int
) -> AsyncIterator[tuple[str, "asyncio.Task[None]"]]:
    from interlock.web.api import Gate, Live, Services, api
    from interlock.web.http import BODY_S, MOST_BYTES, Hook, application, listen, serving
    from interlock.web.page.site import Site

    complaint = Complaint(_log)

    async def ready() -> None:
        try:
            await box.runtime.store.read(leaders.leaders)
        except InterlockError as error:
            complaint.say("not ready: %s", error)
            raise InterlockError(outage_message(error)) from error
        complaint.over()

    box.relay(listens=True)
    services = Services(Live(box.runtime), box.answers, Gate(box.runtime))
    site = Site(Services(services.live, box.answers, services.gate.beside("web")))
    listening = listen(host, port)
    name, bound = listening.getsockname()[:2]
    hooks = [Hook(path, handle) for path, handle in surfaces.hooks.items()]
    within = api(services, version=version("interlock"), most_bytes=MOST_BYTES, body_s=BODY_S)
    async with serving(application(hooks, ready, api=within, page=site.routes()), listening) as task:
        try:
            yield f"http://{f'[{name}]' if ':' in name else name}:{bound}", task
        finally:
            await services.close()


@contextlib.asynccontextmanager
async def delivering(box: Interlock) -> AsyncIterator[None]:
    """Delivers the outbox for an `Interlock` that does not execute."""
    task = asyncio.create_task(deliverer(box.runtime, box.outlets).run(), name="deliverer")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
