"""`persona`: listing, checking and importing personas."""

from pathlib import Path
from typing import Annotated

import typer

from interlock.cli import opening
from interlock.cli.options import Json
from interlock.core.errors import ConfigError, placed

PACKAGE = Path(__file__).parents[1]
Foreign = Annotated[
    list[Path],
    typer.Argument(metavar="FILE…", help="Agents of CrewAI (.yaml) or Claude Code (.md), or a folder of them."),
]
File = Annotated[
    Path | None, typer.Argument(metavar="[FILE]", help="A file or folder, instead of the one in the settings.")
]


def persona() -> typer.Typer:
    """The commands under `persona`."""
    group = typer.Typer(help="List and check personas, and import agents from other programs.", no_args_is_help=True)
    group.command("list")(persona_list)
    group.command("check")(persona_check)
    group.command("import")(persona_import)
    return group


def persona_list(as_json: Json = False) -> None:
    """List the personas that would work here, and where each comes from."""
    from interlock.app import config
    from interlock.cli import screen

    found = config.load_all_personas(opening.settings())
    if as_json:
        return screen.data([{**p.to_json(), "source": found.sources[name]} for name, p in found.personas.items()])
    screen.table(
        ("NAME", "TITLE", "TRUST", "RISK", "FROM", "~DOES"),
        [
            (p.name, p.title, p.trust, screen.state(p.risk_profile), _origin(Path(found.sources[name])), p.role)
            for name, p in found.personas.items()
        ],
        empty="no persona loaded: see `interlock persona check`",
    )
    for fault in found.faults:
        screen.note(fault)
    return None


def _origin(source: Path) -> str:
    from interlock.app import config

    return "built-in" if source.is_relative_to(PACKAGE) else config.shown(source.parent)


def persona_check(file: File = None) -> None:
    """Report every mistake in the persona files with its line."""
    from interlock.app import config
    from interlock.cli import screen

    found = config.load_all_personas(opening.settings()) if file is None else config.load_persona_files(file)
    if found.faults:
        raise ConfigError(list(found.faults))
    screen.line(f"{len(found.personas)} personas are fine: {', '.join(found.personas)}")


def persona_import(
    files: Foreign,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="The folder to write to; the first personas folder by default."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    as_json: Json = False,
) -> None:
    """Convert agents written for CrewAI or Claude Code into personas, and report what cannot be converted."""
    from interlock.app import config
    from interlock.cli import screen
    from interlock.desk.agents import importing

    settings = opening.settings()
    folder = out or (settings.personas[0] if settings.personas else Path("personas"))
    config.refuse_workspace(settings, folder)
    found = importing.read_personas(files, config.builtin_names())
    done, faults = importing.write(found.drafts, folder, force=force) if found.drafts else ([], [])
    refused = [*found.faults, *faults]
    if as_json:
        views = [importing.draft_view(draft, path) for draft, path in done]
        screen.data({"imported": views, "refused": [placed(fault) for fault in refused]})
    else:
        for draft, path in done:
            tools = ", ".join(draft.persona.tools) or "no tools of its own"
            screen.line(f"{draft.persona.name}: {config.shown(path)} (intern, YELLOW; {tools})")
            for note in draft.notes:
                screen.note(f"  {note}")
        found_anyway = [Path("personas").resolve(), *(each.resolve() for each in settings.personas)]
        if done and folder.resolve() not in found_anyway:
            screen.note(f"name the folder in interlock.yaml for them to count: `personas: [{folder}]`")
    if refused:
        if as_json:
            raise typer.Exit(ConfigError.exit_code)
        raise ConfigError(refused)
