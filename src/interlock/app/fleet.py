"""A box of one part of a fleet, which waits for its database: parts start in any order; no command line here."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from interlock.app.box import Interlock
from interlock.app.local import directly
from interlock.desk.reading.views import View
from interlock.settings import Settings
from interlock.store import blobs
from interlock.store.drivers.postgres import CommitUnknown, Unreachable
from interlock.store.engine import Store
from interlock.store.mailboxes import leases
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate

REACH_S = 2.0
"""How often a server that cannot be reached is tried."""


async def workers(settings: Settings) -> list[View] | None:
    """The workers of a server's database; None if it is not at this version's schema. Nothing is migrated."""
    names = ("id", "host", "pid", "version", "concurrency", "capabilities", "started_at", "beat_at")
    return await _read(settings, leases.live, names)


async def files(settings: Settings) -> list[View] | None:
    """How many current files each project has, and their bytes; None as for `workers`."""
    return await _read(settings, blobs.sizes, ("project_id", "count", "bytes"))


async def _read(settings: Settings, fn: Callable[[Tx], Sequence[Any]], names: Sequence[str]) -> list[View] | None:
    direct, pooled = settings.database_direct_url, settings.database_pooler
    url, pooled_too = directly(settings)
    if await asyncio.to_thread(migrate.revision, url, pooled=pooled_too) != migrate.HEAD:
        return None
    async with Store(settings.database_url, pooled=pooled, direct_url=direct) as store:
        rows = await store.read(fn)
    return [{name: getattr(row, name) for name in names} for row in rows]


class ToldToStop(Exception):
    """Somebody wanted the process to end before its database could be reached."""


@contextlib.asynccontextmanager
async def opened(asked: asyncio.Event, tell: Callable[[str], object], **overrides: Any) -> AsyncIterator[Interlock]:
    """An open `Interlock`, as soon as its database can be reached; `tell` gets a line when waiting begins.

    Raises ToldToStop if `asked` is set meanwhile, and what opening a box raises; so if the server can be reached
    and will not have it.
    """
    async with contextlib.AsyncExitStack() as stack:
        reported = None
        while True:
            try:
                box = await stack.enter_async_context(Interlock.open(**overrides))
                break
            except (Unreachable, CommitUnknown) as error:
                if error.is_final:
                    raise
                if str(error) != reported:
                    tell(f"{error}; waiting for it")
                reported = str(error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asked.wait(), REACH_S)
                raise ToldToStop
        yield box
