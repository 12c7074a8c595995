"""`interlock schedule`: missions and messages at set times, and whether a process starts them."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json, Model

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person
    from interlock.desk.reading.views import View

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name from `interlock schedule list`.")]
InProject = Annotated[
    str | None,
    typer.Option("--project", metavar="P", help="The project it belongs to; the one in the settings by default."),
]
NOBODY = "no process fires schedules now: start `interlock up` or `interlock scheduler`"


def schedule() -> typer.Typer:
    """The commands under `schedule`."""
    group = typer.Typer(help="Start missions and send messages on a schedule.", no_args_is_help=True)
    commands: tuple[tuple[str, Callable[..., Any]], ...] = (
        ("add", add), ("list", listing), ("remove", remove), ("pause", pause), ("resume", resume),
    )  # fmt: skip
    for name, command in commands:
        group.command(name)(command)
    return group


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name that is unique in the project.")],
    message: Annotated[
        str | None, typer.Argument(metavar='["MESSAGE"]', help="The message that the persona gets each time.")
    ] = None,
    cron: Annotated[
        str | None,
        typer.Option("--cron", metavar='"M H D M W"', help='When, as a cron expression such as "0 9 * * 1-5".'),
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="T", help="The interval, such as 30m, 2h or 1d.")
    ] = None,
    goal: Annotated[
        str | None, typer.Option("--goal", metavar='"GOAL"', help="Start a mission with this goal each time.")
    ] = None,
    persona: Annotated[str | None, typer.Option("--persona", metavar="P", help="Who gets the message.")] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--tz", metavar="ZONE", help="The time zone, such as Europe/Berlin; the one in the settings by default."
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="USD", help="The most that each mission may cost.")
    ] = None,
    model: Model = None,
    project: InProject = None,
    as_json: Json = False,
) -> None:
    """Start a mission, or send a persona a message, at set times."""
    from interlock.cli import screen

    opening.load_everything()
    found = opening.run(_added(name, message, cron, every, goal, persona, zone, budget, model, project))
    if as_json:
        return screen.data(found)
    screen.line(f"{found['name']}: {_when(found)}, next {_moment(found['next_times'][0])}")
    return None


async def _added(
    name: str,
    message: str | None,
    cron: str | None,
    every: str | None,
    goal: str | None,
    persona: str | None,
    zone: str | None,
    budget: float | None,
    model: str | None,
    project: str | None,
) -> "View":
    from interlock.app.box import Interlock
    from interlock.core.clock import SystemClock
    from interlock.desk.operations import schedules
    from interlock.scheduler.timetable import timetable

    settings = opening.settings(project=project)
    times = timetable(
        cron=cron, every=every, timezone=settings.timezone if zone is None else zone, anchor_at=SystemClock().now()
    )  # fmt: skip
    await opening.tell_new_project(project)
    async with Interlock.open(surface="cli", project=project) as box:
        return await schedules.add(
            box.runtime, box.person, name, times, goal=goal, persona=persona, message=message, budget_usd=budget,
            model=model,
        )  # fmt: skip


def listing(project: InProject = None, as_json: Json = False) -> None:
    """List schedules: what each starts, when, and the outcome of the last time."""
    from interlock.cli import screen
    from interlock.desk.operations import duty, schedules
    from interlock.scheduler.timetable import stored

    async def reading(context: "DeskContext", _: "Person") -> "tuple[list[View], View | None, str, datetime]":
        rows = await schedules.listing(context, stored, project=project)
        return rows, await duty.leader(context), await schedules.squad_mode(context), context.clock.now()

    rows, leader, mode, now = opening.at_desk(reading, anew=True)
    if as_json:
        screen.data(rows)
    else:
        screen.table(
            ("NAME", "PROJECT", "WHEN", "STATE", "NEXT", "LAST", "+WHAT"),
            [
                (
                    row["name"], row["project_id"], _when(row), screen.state(row["state"]),
                    _moment(row["next_times"][0]) if row["next_times"] else "–",
                    screen.ago(row["last"]["fired_at"], now) if row["last"] else "–", _what(row),
                )
                for row in rows
            ],
            empty="nothing is scheduled",
        )  # fmt: skip
    if leader is None:
        screen.note(NOBODY)
    if mode != "running":
        screen.note(f"the squad is {mode}: what is due fires once after `interlock resume`")


def remove(name: Name, project: InProject = None, as_json: Json = False) -> None:
    """Remove a schedule; what it has started continues."""
    from interlock.desk.operations import schedules

    _changed(opening.at_desk(lambda o, p: schedules.remove(o, p, name, project=project)), "removed", as_json)


def pause(name: Name, project: InProject = None, as_json: Json = False) -> None:
    """Pause a schedule until it is resumed."""
    from interlock.desk.operations import schedules

    _changed(opening.at_desk(lambda o, p: schedules.pause(o, p, name, project=project)), "paused", as_json)


def resume(name: Name, project: InProject = None, as_json: Json = False) -> None:
    """Resume a schedule, from its next time on."""
    from interlock.desk.operations import schedules
    from interlock.scheduler.timetable import stored

    _changed(opening.at_desk(lambda o, p: schedules.resume(o, p, name, stored, project=project)), "active", as_json)


def _changed(found: "View", word: str, as_json: bool) -> None:
    from interlock.cli import screen

    if as_json:
        return screen.data(found)
    return screen.line(f"{found['name']}: {word}")


def _when(row: "View") -> str:
    if row["cron"] is not None:
        return f"{row['cron']} ({row['timezone']})"
    parts, left = [], float(row["every_s"])
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        parts += [f"{count:g} {unit}"] if count else []
    return f"every {' '.join(parts)}"


def _moment(text: str) -> str:
    return f"{datetime.fromisoformat(text):%a %Y-%m-%d %H:%M %z}"


def _what(row: "View") -> str:
    from interlock.core.text import visible

    what = "mission" if row["kind"] == "goal" else row["persona"]
    last = row["last"]
    standing = f" ({last['standing']})" if last and last["standing"] else ""
    failed = f"{last['status']}: " if last and last["status"] != "done" else ""
    came = f"; last: {failed}{last['outcome']}{standing}" if last else ""
    why = f"; {row['state_reason']}" if row["state_reason"] else ""
    return f"{what}: {visible(row['text'], one_line=True)}{came}{why}"
