"""`up`, and its parts for several machines, `serve` (chats and HTTP) and `worker`; all run until stopped."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.running import report_faults
from interlock.core.errors import InterlockError

if TYPE_CHECKING:
    from interlock.app.box import Interlock
    from interlock.app.serving import Served

ALERTS_S = 2.0
"""How often `up` looks for what a person should know."""
Host = Annotated[str | None, typer.Option("--host", metavar="H", help="Listen on this address; 127.0.0.1 by default.")]
Port = Annotated[
    int | None, typer.Option("--port", metavar="P", min=0, max=65535, help="Listen on this port; 8400 by default.")
]


def up(host: Host = None, port: Port = None) -> None:
    """Execute missions and serve chats, HTTP and schedules, until Ctrl-C or SIGTERM."""
    opening.load_everything()
    raise typer.Exit(opening.run(_up(host, port)))


def serve(host: Host = None, port: Port = None) -> None:
    """Serve chats and HTTP without executing anything, next to workers on other machines."""
    opening.load_everything()
    raise typer.Exit(opening.run(_serve(host, port)))


def worker(
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", metavar="N", min=1, max=10_000, help="The most runs at a time.")
    ] = None,
) -> None:
    """Execute missions and all other runs, without chats or HTTP; on PostgreSQL many workers share the work."""
    opening.load_everything()
    raise typer.Exit(opening.run(_worker(concurrency)))


async def _up(host: str | None, port: int | None) -> int:
    from interlock.app.box import Interlock
    from interlock.app.serving import served

    with opening.stopping() as asked:
        async with Interlock.open(surface="cli") as box:
            address, wanted = _address(box, host, port), host is not None or port is not None
            async with served(box, *address, always=wanted) as door:
                await _execute(box)
                _tell(door)
                await _until_stopped(box, asked, door)
                await _drained(box, asked, 0)
    _tell_end(box)
    return 0


async def _serve(host: str | None, port: int | None) -> int:
    from interlock.app.serving import delivering, served
    from interlock.cli import screen

    with opening.stopping() as asked:
        async with (
            opened(asked) as box,
            served(box, *_address(box, host, port), always=True) as door,
            delivering(box),
        ):
            _tell(door)
            await _until_stopped(box, asked, door)
    screen.line("stopped")
    return 0


async def _worker(concurrency: int | None) -> int:

    with opening.stopping() as asked:
        async with opened(asked, concurrency=concurrency) as box:
            await _execute(box)
            await _until_stopped(box, asked)
            await _drained(box, asked, box.runtime.settings.times.drain_s)
    _tell_end(box)
    return 0


@contextlib.asynccontextmanager
async def opened(asked: asyncio.Event, **overrides: Any) -> AsyncIterator["Interlock"]:
    """An open box for a part of a fleet; waits for a database server that cannot be reached.

    Raises typer.Exit if it is stopped meanwhile, and what opening a box raises.
    """
    from interlock.app import fleet
    from interlock.cli import screen

    async with contextlib.AsyncExitStack() as stack:
        try:
            box = await stack.enter_async_context(fleet.opened(asked, screen.news, surface="cli", **overrides))
        except fleet.ToldToStop as error:
            raise typer.Exit(0) from error
        yield box


async def _drained(box: "Interlock", asked: "opening.Stopping", patience_s: float) -> None:
    """Waits for a while until the current runs end their steps, unless another signal comes; then hands them back.

    A worker takes that time, since others continue meanwhile; `up` does not, since somebody waits at the terminal.
    """
    from interlock.cli import screen

    if box.in_hand and not asked.again.is_set():
        what = f"{box.in_hand} run{'s' if box.in_hand > 1 else ''}"
        how = f"may end the step within {patience_s:g} s" if patience_s else "handed back once its calls of tools end"
        screen.line(f"stopping: {what} {how}; once more stops at once")
    async with _side_by_side(box.drain(patience_s), asked.again.wait()) as tasks:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await box.stop(at_once=asked.again.is_set())


def _tell_end(box: "Interlock") -> None:
    """Prints what was handed back, and that it will be continued."""
    from interlock.cli import screen

    for run in box.handed_back:
        screen.line(f"handed back: {run.id} ({run.persona or run.kind})")
    screen.line("stopped; what was running goes on at the next start")


async def _execute(box: "Interlock") -> None:
    from interlock.app.local import what_is_executed
    from interlock.cli import screen

    report_faults(box)
    settings = box.runtime.settings
    if not await box.start():
        raise InterlockError(
            f"another process executes {what_is_executed(settings)} already: use that one, or stop it first"
        )
    screen.news(f"executing {settings.home} ({settings.database_name}); stop with Ctrl-C")


def _tell(door: "Served") -> None:
    from interlock.cli import screen

    for line in door.notices:
        screen.news(line)


def _address(box: "Interlock", host: str | None, port: int | None) -> tuple[str, int]:
    http = box.runtime.settings.http
    return host or http.host, http.port if port is None else port


async def _until_stopped(box: "Interlock", asked: "opening.Stopping", door: "Served | None" = None) -> None:
    """Waits for Ctrl-C, SIGTERM, or the end of what runs; prints alerts meanwhile.

    Raises what ended the worker or the HTTP server.
    """
    from interlock.app import garbage
    from interlock.policy.warming import warm

    await asyncio.to_thread(warm)
    garbage.spare_loaded()
    asked.is_patient = box.executes
    serving = door.task if door is not None else None
    beside = (box.executed(), asked.wait(), _tell_alerts(box), garbage.collect(lambda: not box.in_hand))
    async with _side_by_side(*beside) as tasks:
        await asyncio.wait([*tasks, serving] if serving else tasks, return_when=asyncio.FIRST_COMPLETED)
        box.check()
        if serving is not None and serving.done():
            serving.result()


@contextlib.asynccontextmanager
async def _side_by_side(*work: Coroutine[Any, Any, object]) -> AsyncIterator[list["asyncio.Task[Any]"]]:
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _tell_alerts(box: "Interlock") -> None:
    """Prints each alert once, including those that are open at the start; until cancelled."""
    from interlock.cli import screen
    from interlock.desk.reading import listings

    told_ids: set[str] = set()
    while True:
        with contextlib.suppress(InterlockError):
            for alert in reversed(await listings.alerts(box.runtime)):
                if alert["id"] not in told_ids:
                    told_ids.add(alert["id"])
                    screen.news(f"{alert['severity']}: {screen.plain(alert['text'], one_line=True)}")
        await asyncio.sleep(ALERTS_S)
