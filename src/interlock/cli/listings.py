"""Commands that list and show records; they change nothing but the checks of a task."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Checks, ChecksFile, Ident, InMission, Json
from interlock.core.errors import UsageError

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person

Rows = list[dict[str, Any]]


def _read(work: Callable[["DeskContext"], Awaitable[Any]]) -> tuple[Any, datetime]:
    async def reading(context: "DeskContext", _: object) -> tuple[Any, datetime]:
        return await work(context), context.clock.now()

    return opening.at_desk(reading)


def missions(
    project: Annotated[str | None, typer.Option("--project", metavar="P", help="Only of this project.")] = None,
    as_json: Json = False,
) -> None:
    """List missions, newest first, with their progress and cost."""
    from interlock.cli import screen
    from interlock.desk.reading import listings

    async def reading(context: "DeskContext") -> tuple[Rows, str | None]:
        return await listings.missions(context, project=project), await listings.hindrance(context)

    (rows, hindrance), now = _read(reading)
    if as_json:
        return screen.listed(rows, listings.MOST_MISSIONS)
    screen.table(
        ("ID", "STATE", ">TASKS", ">WAITING", ">COST", ">BUDGET", "STARTED", "~GOAL"),
        [
            (
                r["id"], screen.state(r["status"]), f"{r['tasks_done']}/{r['tasks_total']}",
                r["approvals_pending"] or "", screen.dollars(r["cost_usd"]), screen.dollars(r["budget_usd"]),
                screen.ago(r["created_at"], now), ("(rehearsal) " if r["simulated"] else "") + r["goal"],
            )
            for r in rows
        ],
        empty='no missions yet: start one with `interlock run "GOAL"`',
    )  # fmt: skip
    screen.cut(rows, listings.MOST_MISSIONS)
    if hindrance is not None:
        screen.note(hindrance)
    return None


def tasks(
    status: Annotated[str | None, typer.Option("--status", metavar="S", help="Only in this state.")] = None,
    mission: InMission = None,
    as_json: Json = False,
) -> None:
    """List tasks, newest first."""
    from interlock.cli import screen
    from interlock.desk.reading import listings

    rows, now = _read(lambda context: listings.tasks(context, status=status, mission=mission))
    if as_json:
        return screen.listed(rows, listings.MOST_TASKS)
    screen.table(
        ("ID", "STATE", "WHO", "TYPE", ">COST", "CHANGED", "~TITLE"),
        [
            (
                r["id"], screen.state(r["status"]), r["persona"] or "–", r["type"], screen.dollars(r["cost_usd"]),
                screen.ago(r["updated_at"], now),
                r["title"] + (f" ({r['block_kind']}: {r['block_reason']})" if r["block_kind"] else ""),
            )
            for r in rows
        ],
        empty="no tasks" + (" in this state" if status else " yet"),
    )  # fmt: skip
    screen.cut(rows, listings.MOST_TASKS)
    return None


def task(
    ident: Ident,
    check: Checks = None,
    checks: ChecksFile = None,
    waive: Annotated[int | None, typer.Option("--waive", metavar="N", help="Waive its check N; needs --note.")] = None,
    note: Annotated[str | None, typer.Option("--note", metavar="T", help="Why the check is waived.")] = None,
    as_json: Json = False,
) -> None:
    """Show a task or mission: description, checks, transitions, thread, deliverable; or set or waive its checks."""
    from interlock.cli import details, screen
    from interlock.desk.reading.details import task as whole
    from interlock.desk.signoff import evidence

    if note is not None and waive is None:
        raise UsageError("`--note` is the reason of a waiver: give the number of a check with `--waive`")
    demanded = evidence.parse(check or (), checks) if check or checks else []
    found, now = opening.at_desk(lambda context, person: _changed(context, person, ident, demanded, waive, note, whole))
    if as_json:
        return screen.data(found)
    return details.show_task(found, now)


async def _changed(
    context: "DeskContext",
    person: "Person",
    ident: str,
    demanded: list[dict[str, Any]],
    waive: int | None,
    note: str | None,
    whole: Callable[["DeskContext", str], Awaitable[Any]],
) -> tuple[Any, datetime]:
    """The task, after changing its checks as requested."""
    from interlock.desk.signoff import evidence

    if demanded:
        await evidence.require(context, person, ident, demanded)
    if waive is not None:
        await evidence.waive(context, person, ident, waive, note=note or "")
    return await whole(context, ident), context.clock.now()


def agents(as_json: Json = False) -> None:
    """List agents, most recently active first."""
    from interlock.cli import screen
    from interlock.desk.reading import listings

    rows, now = _read(listings.agents)
    if as_json:
        return screen.listed(rows, listings.MOST_AGENTS, "most recently active")
    screen.table(
        ("ID", "PERSONA", "TRUST", "STATE", "DOES", "ACTIVE", "~FOR"),
        [
            (
                r["id"], r["persona"], r["trust"], screen.state(r["state"]), screen.state(r["runtime_status"]),
                screen.ago(r["last_active_at"], now), " ".join(f"{k}={v}" for k, v in sorted(r["works_for"].items())),
            )
            for r in rows
        ],
        empty="no agents yet: they are created when there is work",
    )  # fmt: skip
    screen.cut(rows, listings.MOST_AGENTS, "most recently active")
    return None


def trace(
    ident: Ident,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Show the prompt, layer by layer, with the tokens of each.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a run step by step: model calls, tool calls with their decisions, and cost."""
    from interlock.cli import details, screen
    from interlock.desk.reading.details import trace as whole

    found, now = _read(lambda context: whole(context, ident, prompt=prompt))
    if as_json:
        return screen.data(found)
    return details.show_trace(found, now)


def alerts(
    every: Annotated[bool, typer.Option("--all", help="Include acknowledged ones.")] = False, as_json: Json = False
) -> None:
    """List what a person should know about."""
    from interlock.cli import screen
    from interlock.desk.reading import listings

    rows, now = _read(lambda context: listings.alerts(context, open_only=not every))
    if as_json:
        return screen.listed(rows, listings.MOST_ALERTS)
    screen.table(
        ("ID", "SEVERITY", "KIND", "RAISED", "+WHAT"),
        [(r["id"], screen.state(r["severity"]), r["kind"], screen.ago(r["created_at"], now), r["text"]) for r in rows],
        empty="no alerts",
    )
    screen.cut(rows, listings.MOST_ALERTS)
    return None
