"""`workflow`: listing workflows, and checking their files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json
from interlock.core.errors import ConfigError, placed

Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE…]", help="The files to check; all of them by default.", show_default=False),
]


def workflow() -> typer.Typer:
    """The commands under `workflow`."""
    group = typer.Typer(help="List workflows, and check their files.", no_args_is_help=True)
    group.command("list")(workflow_list)
    group.command("check")(workflow_check)
    return group


def workflow_list(as_json: Json = False) -> None:
    """List the workflows that a mission can follow with `run GOAL --workflow NAME`."""
    from interlock.app import config
    from interlock.cli import screen
    from interlock.desk.work import workflows

    settings = opening.settings()
    found = workflows.load(settings, config.load_all_personas(settings).personas)
    views = [workflows.view_of(each) for each in found.workflows.values()]
    if as_json:
        return screen.data(views)
    screen.table(
        ("NAME", "+TITLE", "~STEPS", "INPUTS", "FROM"),
        [(each["name"], each["title"], _steps(each), ", ".join(each["inputs"]), _origin(each)) for each in views],
        empty="no workflow loaded: see `interlock workflow check`",
    )
    for fault in found.faults:
        screen.note(fault)
    return None


def _steps(workflow: dict[str, Any]) -> str:
    reviewed = {step["name"]: f", reviewed by {step['review']}" for step in workflow["steps"] if step["review"]}
    return "; ".join(f"{s['name']} ({s['persona']}{reviewed.get(s['name'], '')})" for s in workflow["steps"])


def _origin(workflow: dict[str, Any]) -> str:
    from interlock.app import config

    return "built-in" if workflow["is_shipped"] else config.shown(Path(workflow["source"]).parent)


def workflow_check(files: Files = None, as_json: Json = False) -> None:
    """Report every mistake in the workflow files with its line."""
    from interlock.app import config
    from interlock.cli import screen
    from interlock.desk.work import workflows

    settings = opening.settings()
    personas = config.load_all_personas(settings).personas
    try:
        good = workflows.check(settings, personas, files or [])
    except ConfigError as error:
        if as_json:
            screen.data({"ok": False, "faults": [placed(fault) for fault in error.faults]})
            raise typer.Exit(error.exit_code) from None
        raise
    if as_json:
        return screen.data({"ok": True, "workflows": [workflows.view_of(each) for each in good]})
    screen.line(f"{len(good)} workflows are fine: {', '.join(each.name for each in good)}")
    return None
