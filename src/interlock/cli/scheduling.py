"""`scheduler`: a process that fires the jobs, for fleets; and the list of jobs."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext
    from interlock.desk.reading.views import View


def scheduler(
    as_list: Annotated[
        bool, typer.Option("--list", help="Print the jobs and which process fires them, and exit.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fire the scheduled jobs until Ctrl-C or SIGTERM; one of several such processes leads, the others stand by."""
    if as_list or as_json:
        _show(as_json)
        return
    opening.load_everything()
    opening.run(_scheduling())


async def _scheduling() -> None:
    from interlock.cli import screen
    from interlock.cli.serving import opened
    from interlock.desk.operations import duty
    from interlock.scheduler.runner import Scheduler

    with opening.stopping() as asked:
        async with opened(asked) as box:
            changes: asyncio.Queue[bool] = asyncio.Queue()
            firing = asyncio.create_task(Scheduler(box.runtime).run(on_change=changes.put_nowait))
            telling = asyncio.create_task(_tell(box.runtime, changes))
            stop = asyncio.create_task(asked.wait())
            try:
                await asyncio.wait({firing, telling, stop}, return_when=asyncio.FIRST_COMPLETED)
                for each in (firing, telling):
                    if each.done():
                        each.result()
            finally:
                for task in (firing, telling, stop):
                    task.cancel()
                await asyncio.gather(firing, telling, stop, return_exceptions=True)
            left = await duty.leader(box.runtime)
    screen.line("stopped" + (f"; {_who(left)}" if left else ""))


async def _tell(context: "DeskContext", changes: "asyncio.Queue[bool]") -> None:
    """Prints a line whenever this process begins to lead or to stand by."""
    from interlock.cli import screen
    from interlock.desk.operations import duty

    while True:
        leads = await changes.get()
        database = context.settings.database_name
        if leads:
            screen.news(f"fires the jobs of {database}; stop with Ctrl-C")
        else:
            screen.news(f"stands by for {database}: {_who(await duty.leader(context))}")


def _who(leader: "Mapping[str, Any] | None") -> str:
    if leader is None:
        return "no process fires the jobs: start `interlock up` or `interlock scheduler`"
    since = f"{leader['since'].astimezone():%Y-%m-%d %H:%M:%S}"
    return f"process {leader['pid']} on {leader['host']} fires the jobs since {since}"


def _next(job: "View", now: datetime) -> str:
    from interlock.cli import screen

    if not job["on_record"]:
        return "–"
    if (at := job["next_fire_at"]) is None:
        return "at the next start"
    return screen.ago(at, now) if at > now else "is due"


def _show(as_json: bool) -> None:
    from interlock.cli import screen
    from interlock.desk.operations import duty
    from interlock.scheduler.jobs import standard_jobs

    async def reading(context: "DeskContext", _: object) -> "tuple[View, datetime]":
        return await duty.duty(context, standard_jobs(context.settings)), context.clock.now()

    found, now = opening.at_desk(reading)
    if as_json:
        return screen.data(found)
    screen.table(
        ("JOB", ">EVERY", "LAST", "STATE", "NEXT", "+WHAT"),
        [
            (
                job["name"], screen.lasting(job["every_s"]) or "", screen.ago(job["last_fired_at"], now),
                screen.state(job["last_status"] or "–"),
                _next(job, now),
                job["what"] + (f" ({job['last_outcome']})" if job["last_outcome"] else ""),
            )
            for job in found["jobs"]
        ],
        empty="no jobs",
    )  # fmt: skip
    return screen.note(_who(found["leader"]))
