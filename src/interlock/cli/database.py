"""`interlock db`: bringing the database to this version, backing it up while it is used, restoring a backup."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json
from interlock.core.text import amount

if TYPE_CHECKING:
    from interlock.app.maintenance import Restored

BEHIND = 3
"""Exit code of `upgrade --check` where there is something to do."""


def database() -> typer.Typer:
    """The commands under `db`."""
    group = typer.Typer(help="Upgrade, back up and restore the database.", no_args_is_help=True)
    for name, command in (("upgrade", upgrade), ("backup", backup), ("restore", restore)):
        group.command(name)(command)
    return group


def upgrade(
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit with 3 if an upgrade is needed.")] = (
        False
    ),
    as_json: Json = False,
) -> int:
    """Upgrade the database to this version's schema; workers may keep running."""
    from interlock.app import maintenance
    from interlock.cli import screen

    settings = opening.settings()
    found = opening.run(maintenance.revisions(settings) if check else maintenance.upgrade(settings))
    is_behind = found.found != found.now
    if as_json:
        screen.data({"from": found.found, "to": found.now, "changed": is_behind and not check})
    elif not is_behind:
        screen.line(f"{settings.database_name} is at revision {found.now}: nothing to do")
    else:
        verb = "would go" if check else "went"
        screen.line(f"{settings.database_name} {verb} from revision {found.found or 'none'} to {found.now}")
    return BEHIND if check and is_behind else 0


def backup(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write; it appears only when it is complete.")
    ],
    as_json: Json = False,
) -> None:
    """Write the whole state to one file; everything keeps running."""
    from interlock.app import maintenance
    from interlock.cli import screen

    settings = opening.settings()
    manifest = opening.run(maintenance.back_up(settings, file))
    if as_json:
        return screen.data({"file": str(file), "bytes": file.stat().st_size, **manifest.to_json()})
    size = f"{file.stat().st_size / 1024:,.0f} KiB"
    where = f"{settings.database_name} at revision {manifest.revision}"
    screen.line(f"{file}: {amount(manifest.rows, 'row')} of {where}, {size}")
    screen.note("it contains what people and agents wrote, but no keys: keep it where only you can read it")
    return None


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by `interlock db backup`.")],
    force: Annotated[
        bool,
        typer.Option("--force", help="Restore even though workers are connected to PostgreSQL; they are shut out."),
    ] = False,
    paused: Annotated[bool, typer.Option("--paused", help="Start nothing until `interlock resume`.")] = False,
    no_keep: Annotated[bool, typer.Option("--no-keep", help="Do not back up what is replaced.")] = False,
    as_json: Json = False,
) -> None:
    """Replace the database with a backup; no effect is repeated without asking a person."""
    from interlock.app import maintenance
    from interlock.cli import screen

    settings = opening.settings()
    found = opening.run(maintenance.begin_anew(settings, file, force=force, paused=paused, keep=not no_keep))
    if as_json:
        return screen.data(_as_json(found))
    when = f"{found.manifest.taken_at:%Y-%m-%d %H:%M} UTC"
    screen.line(f"{settings.database_name} is as it was at {when}, epoch {found.uncertain.epoch}")
    if found.replaced is not None:
        screen.line(f"what it replaced is in {found.replaced}")
    _tell(found)
    if paused:
        screen.note("nothing starts until `interlock resume`")
    return None


def _tell(found: "Restored") -> None:
    from interlock.cli import screen

    uncertain = found.uncertain
    screen.heading("What may have been done since")
    screen.table(
        ("WHAT", "ID", "~DETAILS"),
        [
            *(("call", c.id, f"{c.tool}: repeated where harmless, else you are asked") for c in uncertain.calls),
            *(("message", m.id, f"{m.surface} {m.channel}: {m.subject or m.kind}") for m in uncertain.messages),
            *(("request", s.key, f"of {s.identity}: not worked any more, say it again") for s in uncertain.said),
            *(("question", q.id, f"{q.kind}: asked again, whatever the answer was") for q in uncertain.questions),
            *(("run", r.id, f"{r.kind} of {r.mission_id or 'no mission'}: goes on from there") for r in uncertain.runs),
        ],
        empty="nothing was under way",
    )  # fmt: skip
    if uncertain.charged_microusd:
        booked = screen.dollars(uncertain.charged_microusd / 1e6)
        screen.line(f"{booked} set aside for open model calls was booked in full")
    if uncertain.undone:
        screen.heading("What was stopped since, and is so no more")
        screen.table(("WHAT", "ID", "~DETAILS"), uncertain.undone, empty="nothing")
    if uncertain.messages:
        screen.note("send a message with `interlock outbox retry ID`; it may arrive twice")


def _as_json(found: "Restored") -> dict[str, Any]:
    uncertain = asdict(found.uncertain)
    for name in ("runs", "calls", "messages", "said", "questions", "undone"):
        uncertain[name] = [row._asdict() for row in getattr(found.uncertain, name)]
    return {
        "taken_at": found.manifest.taken_at, "revision": found.manifest.revision, "rows": found.manifest.rows,
        "replaced": found.replaced, "uncertain": uncertain,
    }  # fmt: skip
