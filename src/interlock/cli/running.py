"""`run`: starts a mission and follows it to its end."""

import asyncio
import contextlib
import re
import sys
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Approval, Checks, ChecksFile, Json, Model, Project, asks_here
from interlock.core.clock import SystemClock, moment_of
from interlock.core.errors import UsageError

if TYPE_CHECKING:
    from interlock.app.box import Interlock
    from interlock.cli.watching import Answerer
    from interlock.desk.reading.progress import Progress

STOPPED = 4
EXITS = {"done": 0, "waiting": 3, "stopped": STOPPED, "failed": 1}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def run(
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What the mission is to achieve.")],
    model: Model = None,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="USD", help="The most that the mission may cost.")
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option("--deadline", metavar="T", help="A time or a duration, such as 30m, 2h or 2026-12-24T18:00."),
    ] = None,
    workflow: Annotated[
        str | None,
        typer.Option("--workflow", metavar="W", help="Follow this workflow instead of a plan; see `workflow list`."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="An input of the workflow; may be repeated."),
    ] = None,
    project: Project = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Follow the mission to its end, or only start it.")
    ] = True,
    approve: Approval = None,
    check: Checks = None,
    checks: ChecksFile = None,
    as_json: Json = False,
) -> None:
    """Start a mission from a goal and follow it; exits with 0 when done, 3 if it waits for a person, 4 if stopped."""
    ends = None if deadline is None else moment(deadline, SystemClock().now().astimezone())
    opening.load_everything()
    demanded, given = _checks(check, checks), _inputs(inputs or [])
    asks = asks_here(approve, as_json=as_json)
    mission = _Mission(goal, model, budget, ends, project, wait, asks, as_json, demanded, workflow, given)
    raise typer.Exit(opening.run(mission.run()))


def _checks(texts: list[str] | None, file: Path | None) -> list[dict[str, Any]]:
    if not texts and file is None:
        return []
    from interlock.desk.signoff import evidence

    return evidence.parse(texts or (), file)


def _inputs(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"`{text[:60]}` is not an input: write NAME=VALUE")
        if name.strip() in found:
            raise UsageError(f"the input `{name.strip()[:60]}` is given twice")
        found[name.strip()] = value
    return found


def moment(text: str, now: datetime) -> datetime:
    """A point in time, from a span such as `30m` or an ISO time in the zone of `now`.

    Raises UsageError.
    """
    try:
        if found := _SPAN.fullmatch(text.strip().lower()):
            return (now + timedelta(seconds=float(found[1]) * _SECONDS[found[2]])).astimezone(UTC)
        return moment_of(text, now.tzinfo)
    except (ValueError, OverflowError):
        raise UsageError(f"`{text}` is not a time: write 30m, 2h, 1d or 2026-12-24T18:00") from None


class _Mission:
    """One `interlock run` from goal to exit code."""

    def __init__(
        self,
        goal: str,
        model: str | None,
        budget_usd: float | None,
        deadline: datetime | None,
        project: str | None,
        wait: bool,
        asks: bool,
        as_json: bool,
        checks: list[dict[str, Any]],
        workflow: str | None,
        inputs: dict[str, str],
    ) -> None:
        self.goal, self.model, self.budget_usd, self.deadline, self.project = goal, model, budget_usd, deadline, project
        self.wait, self.asks, self.as_json, self.checks = wait, asks, as_json, checks
        self.workflow, self.inputs = workflow, inputs

    async def run(self) -> int:
        from interlock.app.box import Interlock
        from interlock.cli import screen
        from interlock.cli.watching import Asking

        with opening.stopping() as asked:
            await opening.tell_new_project(self.project)
            async with Interlock.open(surface="cli", project=self.project) as box:
                report_faults(box)
                mission_id = await box.submit(
                    self.goal, budget_usd=self.budget_usd, model=self.model, deadline=self.deadline,
                    checks=self.checks, workflow=self.workflow, inputs=self.inputs,
                )  # fmt: skip
                if not self.wait:
                    return await _started(box, mission_id, self.as_json)
                if not self.as_json:
                    screen.line(f"mission {mission_id}", style="bold")
                executes = await box.start()
                if not executes and not self.as_json:
                    screen.note("another process executes this home: watching it from here")
                asking = Asking(box.runtime, box.person, set()) if self.asks else None
                watching = watch_mission(box, mission_id, asking, silent=self.as_json, to_the_end=executes)
                found = await until_asked(watching, asked)
                if found is None:
                    go_on = "it continues there" if not executes else "continue it with `interlock up`"
                    screen.note(f"stopped watching mission {mission_id}: {go_on}, see `interlock task {mission_id}`")
                    return STOPPED
                return await finish(box, found, self.as_json)


async def _started(box: "Interlock", mission_id: str, as_json: bool) -> int:
    from interlock.cli import screen
    from interlock.desk.operations import emergency

    if as_json:
        screen.data({"mission_id": mission_id})
    else:
        screen.line(mission_id)
        hindrance = await box.runtime.store.read(emergency.hindrance)
        if hindrance is not None:
            screen.note(f"it waits: {hindrance}")
        screen.note("it makes progress while `interlock up` runs; follow it with `interlock missions`")
    return 0


def report_faults(box: "Interlock") -> None:
    """Prints which persona files were rejected, and why; the others are loaded."""
    from interlock.cli import screen

    for fault in box.runtime.personas.faults:
        screen.note(f"{fault} (refused; the other personas were loaded)")


async def watch_mission(
    box: "Interlock", mission_id: str, asking: "Answerer | None", *, silent: bool, to_the_end: bool
) -> "Progress":
    """Shows a mission's progress, on a board or line by line, until nothing moves without a person."""
    from interlock.cli import watching

    async with contextlib.aclosing(box.follow(mission_id)) as news:
        if silent or not sys.stdout.isatty():
            board = watching.Silent() if silent else watching.Lines()
            return await watching.watch(news, board, asking, to_the_end=to_the_end)
        with watching.LiveBoard() as live:
            return await watching.watch(news, live, asking, to_the_end=to_the_end)


async def until_asked(work: Coroutine[Any, Any, "Progress"], asked: asyncio.Event) -> "Progress | None":
    """The result of `work`, or None if the operator stopped first."""
    working, stop = asyncio.create_task(work), asyncio.create_task(asked.wait())
    try:
        await asyncio.wait({working, stop}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for each in (working, stop):
            each.cancel()
        await asyncio.gather(working, stop, return_exceptions=True)


async def finish(box: "Interlock", found: "Progress", as_json: bool) -> int:
    """Prints the outcome of a mission; returns the exit code."""
    from interlock.cli import screen

    result = await box.result(found)
    code = EXITS[str(found.standing)]
    if as_json:
        screen.data(result)
        return code
    screen.line()
    if found.reason:
        screen.line(f"{found.standing}: {found.reason}")
    if result.deliverable is not None and code == 0:
        screen.line(result.deliverable)
    for ident in found.approvals:
        screen.line(f"interlock approve {ident}    or: interlock deny {ident} --reason …")
    spent = f"cost {screen.dollars(result.cost_usd)}"
    if result.estimate is not None:
        spent += f", about {screen.dollars(result.estimate['cost_usd'])} with {result.estimate['model']}"
    screen.note(f"{spent}; see `interlock task {found.mission_id}`")
    return code
