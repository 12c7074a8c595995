"""A worker that is cut off from the database and comes back after its lease is gone: it writes nothing, causes nothing.

Cut by a proxy here; in a network of its own by `namespaces`. Source: row E10.
"""

import asyncio
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web

from interlock.app.local import open_desk
from interlock.settings import load_settings
from interlock.store.schema import Deliverable, Run, Task
from tests.chaos.conftest import Databases
from tests.chaos.effects import Asked
from tests.chaos.siege import Siege, check_result
from tests.chaos.wire import Wire
from tests.e2e.books import check_books, rows

TIMES = {
    "heartbeat_s": 0.5, "stuck_s": 1.5, "graceful_stop_s": 2.5, "reassign_s": 4.0, "leader_takeover_s": 4.0,
}  # fmt: skip
"""Long enough that a process that a busy machine gives no processor for a second or two is not taken for lost."""


class Line(Protocol):
    """A way to the database over TCP that can be cut without either end hearing of it."""

    host: str
    port: int

    def cut(self) -> None:
        """Nothing arrives from now on."""

    def mend(self) -> None:
        """What was lost or held back arrives, if it is still wanted."""


async def check_cut_off(folder: Path, url: str, wire: Line) -> None:
    """Cuts a worker off in the middle of an effect, over the wire, until another has done all its work."""
    siege = Siege(folder / "siege", url)
    held, fenced = asyncio.Event(), asyncio.Event()

    async def hold(asked: Asked) -> None:
        """The first effect is done, but its answer comes only when another worker has done all the work."""
        if not held.is_set():
            held.set()
            await fenced.wait()
            raise web.HTTPServiceUnavailable

    siege.effects.at = {"after": hold}
    async with siege.outside():
        through = url.replace("postgres@/", f"postgres@{wire.host}:{wire.port}/").partition("?")[0]
        quick: dict[str, Any] = {"times": TIMES, "standstill_ms": 2000}
        lost = siege.launch("lost", with_clerk=False, database_url=through, **quick)
        await held.wait()
        wire.cut()
        other = siege.launch("other", **quick)
        assert await siege.end_of(other, "other") == 0, siege.said("other")
        asked = len(siege.effects.asked)
        fenced.set()
        wire.mend()
        assert await siege.end_of(lost, "lost") == 0, siege.said("lost")
        assert len(siege.effects.asked) == asked
    assert [one.tool for one in siege.effects.asked if one.process == lost.pid] == ["set_stock"]
    assert {name: siege.effects.calls(name) for name in ("pay", "ship")} == {"pay": 1, "ship": 1}
    settings = load_settings(siege.folder, {}, siege.overrides())
    async with open_desk(settings, surface="cli") as (context, _):
        await check_result(context)
        await check_books(context, killed=False)
        handed_in = [row.task_id for row in await rows(context, Deliverable)]
        assert len(handed_in) == len(set(handed_in)) == len(await rows(context, Task))
        runs = await rows(context, Run)
        assert {run.status for run in runs if run.stop_reason != "lost"} == {"completed"}
        assert any(run.stop_reason == "lost" for run in runs)


async def test_worker_that_was_cut_off_writes_nothing_and_causes_no_effect_once_its_lease_is_gone(
    postgresql_databases: Databases, postgres_server: str, tmp_path: Path
) -> None:
    async with Wire(postgres_server) as wire:
        await check_cut_off(tmp_path, postgresql_databases(), wire)
