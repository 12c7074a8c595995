"""`interlock audit`: listing, verifying, exporting and sealing the audit log."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import InMission, Json
from interlock.core.errors import UsageError
from interlock.core.text import amount

if TYPE_CHECKING:
    from interlock.desk.operations.audit import Report

HeadsFile = Annotated[
    Path | None,
    typer.Option("--heads", metavar="FILE", help="A file of published heads; `audit.heads_file` by default."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="A file with the key, instead of the one in the settings."),
]


def audit() -> typer.Typer:
    """The commands under `audit`."""
    group = typer.Typer(help="Read, verify and export the audit log.")
    verbs: dict[str, Callable[..., Any]] = {
        "list": listed,
        "verify": verify,
        "export": export,
        "heads": heads,
        "seal": seal,
        "anew": anew,
    }
    for name, command in verbs.items():
        group.command(name)(command)
    return group


def listed(
    mission: InMission = None,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="Only of this task.")] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="Only of this run.")] = None,
    actor: Annotated[
        str | None,
        typer.Option("--actor", metavar="WHO", help="An id, a person's name, or one of human, agent, system."),
    ] = None,
    action: Annotated[
        str | None, typer.Option("--action", metavar="NAME", help="Only this action, such as BUDGET_RAISED.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="Only newer ones: `2h`, `3d`, or a date.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="The most to show.")] = 50,
    after: Annotated[
        int | None, typer.Option("--after", metavar="ID", help="Only those after this id, oldest first.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List who did what and when: the newest activities, oldest first."""
    from interlock.cli import screen
    from interlock.core.values import canonical_json
    from interlock.desk.operations import audit as desk

    wanted: dict[str, Any]
    wanted = {"mission": mission, "task": task, "run": run, "actor": actor, "action": action, "since": since}
    rows = opening.at_desk(lambda context, _: desk.activities(context, after=after, most=limit, **wanted))
    which = "newest" if after is None else "first"
    if as_json:
        return screen.listed(rows, limit, which)
    screen.table(
        (">ID", "WHEN", "ACTION", "WHO", "ABOUT", "~DETAILS"),
        [
            (
                r["id"], f"{r['created_at']:%Y-%m-%d %H:%M:%S}", r["action"], r["actor_id"],
                r["subject"] or r["run_id"] or r["task_id"] or r["mission_id"] or "–", canonical_json(r["data"]),
            )
            for r in rows
        ],
        empty="no matching activities" if any(wanted.values()) else "no activities yet",
    )  # fmt: skip
    screen.cut(rows, limit, which)
    return None


def verify(
    file: Annotated[
        Path | None, typer.Option("--file", metavar="EXPORT", help="Verify this export instead of the database.")
    ] = None,
    heads: HeadsFile = None,
    key_file: KeyFile = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Count remarks and unsealed activities as failures too.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Check that nobody has changed the audit log, and name the row if so; exits with 1 if there is a change."""
    from interlock.cli import screen
    from interlock.desk.operations import audit as desk

    if file is not None:
        found = desk.verify_export(opening.settings(), file, heads=heads, key_file=key_file)
    else:
        found = opening.at_desk(lambda context, _: desk.verify(context, heads=heads, key_file=key_file))
    is_whole = not found.faults and not (strict and (found.remarks or found.unsealed))
    if as_json:
        screen.data({"ok": is_whole, **asdict(found)})
    else:
        _tell(found)
    return 0 if is_whole else 1


def _tell(found: "Report") -> None:
    from interlock.cli import screen

    for fault in found.faults:
        screen.line(fault.text, style="red")
    if found.omitted:
        screen.line(f"and {found.omitted:,} more", style="red")
    for remark in found.remarks:
        screen.note(f"remark: {remark}")
    counts = [f"{found.sealed:,} of {found.rows:,} activities are as {found.links:,} links have sealed them"]
    if found.redacted:
        counts.append(f"{found.redacted:,} of them as an erasure changed them")
    if found.pruned:
        counts.append(f"{found.pruned:,} more were deleted by retention")
    screen.line(", ".join(counts))
    if found.unsealed:
        first = found.unsealed_first
        verb = "is" if found.unsealed == 1 else "are"
        screen.line(f"{found.unsealed:,} {verb} not sealed yet, from {first} on: changes there would not be noticed")
    if found.head is not None:
        screen.line(f"head {found.head['number']} of epoch {found.head['epoch']}: {found.head['head']}")
    if found.faults:
        count = len(found.faults) + found.omitted
        screen.line(f"the audit log was tampered with: {count:,} finding{'s' if count > 1 else ''}", style="bold red")


def export(
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to this file; standard output by default."),
    ] = None,
) -> None:
    """Write the whole log with its seals as JSON lines, which `audit verify --file` can check anywhere."""
    from interlock.cli import screen
    from interlock.desk.operations import audit as desk

    found = opening.at_desk(lambda context, person: desk.export(context, person, output))
    screen.note(f"{amount(found['activities'], 'activity', 'activities')} and {amount(found['links'], 'link')}")


def heads(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="The most to show.")] = 20,
    as_json: Json = False,
) -> None:
    """Print the newest heads, to keep where the owner of the database cannot write."""
    from interlock.cli import screen
    from interlock.desk.operations import audit as desk

    rows = opening.at_desk(lambda context, _: desk.heads(context, most=limit))
    if as_json:
        return screen.listed(rows, limit)
    screen.table(
        (">LINK", ">EPOCH", "KIND", ">ROWS", "SEALED", "KEY", "HEAD"),
        [
            (
                r["number"], r["epoch"], r["kind"], r["count"],
                f"{r['sealed_at']:%Y-%m-%d %H:%M:%S}" if r["sealed_at"] is not None else "–", r["key_id"], r["head"],
            )
            for r in rows
        ],
        empty="nothing is sealed yet: `interlock audit seal`",
    )  # fmt: skip
    screen.cut(rows, limit)
    return None


def seal(as_json: Json = False) -> None:
    """Seal now, instead of within the next minute."""
    from interlock.cli import screen
    from interlock.desk.operations import audit as desk

    return _sealed(opening.at_desk(desk.seal), as_json, screen)


def anew(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Continue with a new key because the old one is lost; what the old one sealed can no longer be verified."""
    from interlock.cli import screen
    from interlock.desk.operations import audit as desk

    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("what the lost key sealed can never be verified again: say with `--yes` to continue")
        typer.confirm("what the lost key sealed can never be verified again: continue with another key", abort=True)
    return _sealed(opening.at_desk(desk.anew), as_json, screen)


def _sealed(found: dict[str, Any], as_json: bool, screen: Any) -> None:
    if as_json:
        return screen.data(found)  # type: ignore[no-any-return]
    if (count := found.get("activities")) is not None:
        batches = amount(found["batches"], "batch", "batches")
        screen.line(f"{amount(count, 'activity', 'activities')} sealed in {batches}")
    if (head := found["head"]) is not None:
        screen.line(f"head {head['number']} of epoch {head['epoch']}: {head['head']}")
    return None
