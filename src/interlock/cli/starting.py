"""`init`, `doctor` and `demo`: the commands to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from interlock.cli import opening
from interlock.cli.options import Json


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The folder to write to; the working directory by default.")
    ] = Path(),
) -> None:
    """Write settings, a policy, personas and instructions for you to edit; never overwrites a file."""
    from interlock.cli import screen
    from interlock.cli.starter import write_starter

    outcomes = write_starter(folder)
    for path, was_written in outcomes:
        screen.line(f"{'wrote' if was_written else 'kept '}  {path}")
    screen.line()
    screen.line("policy.yaml     what agents may do on their own, and what a person must approve")
    screen.line("personas/       who they are; a file here replaces the built-in one of the same name")
    screen.line("AGENTS.md       what all agents are told; so are TOOLS.md, USER.md, SOUL.md and MEMORY.md")
    screen.line("HEARTBEAT.md    what an agent looks after every half hour")
    screen.line("interlock.yaml  everything else: model, budgets, e-mail, search")
    screen.line()
    at = "" if folder == Path() else f"cd {folder} && "
    screen.line(f'next: {at}export ANTHROPIC_API_KEY=…  and  interlock run "GOAL"')
    screen.line(f'or, free of charge: {at}interlock run --model rehearsal/offline "GOAL"')


def doctor(as_json: Json = False) -> None:
    """Check the installation, and say what to do about each problem."""
    from interlock.cli import screen
    from interlock.cli.checkup import examine

    findings = opening.run(examine())
    if as_json:
        screen.data(findings)
    else:
        screen.table(
            ("CHECK", "STATE", "+FOUND"), [(f.check, screen.state(f.state), f.found) for f in findings], empty=""
        )
    raise typer.Exit(1 if any(f.state == "error" for f in findings) else 0)


def demo(
    home: Annotated[
        Path | None, typer.Option("--home", metavar="DIR", help="The home of the demo; a new folder by default.")
    ] = None,
) -> None:
    """Run a complete mission at no cost: plan, work, a held RED call and its sign-off, deliverable."""
    from interlock.cli.demonstration import demonstrate

    raise typer.Exit(opening.run(demonstrate(home)))
