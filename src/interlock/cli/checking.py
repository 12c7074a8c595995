"""`persona`: personas looked at and checked before anything runs by them."""

from pathlib import Path
from typing import Annotated

import typer

from interlock.cli import opening
from interlock.cli.options import Json
from interlock.core.errors import ConfigError

PACKAGE = Path(__file__).parents[1]
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Instead of the one in the settings.")]


def persona() -> typer.Typer:
    """The commands under `persona`."""
    group = typer.Typer(help="Look at personas, and check their files.", no_args_is_help=True)
    group.command("list")(persona_list)
    group.command("check")(persona_check)
    return group


def persona_list(as_json: Json = False) -> None:
    """The personas that would work here, and where each comes from."""
    from interlock.app import parts
    from interlock.cli import screen

    found = parts.load_all_personas(opening.settings())
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
    from interlock.app import parts

    return "built-in" if source.is_relative_to(PACKAGE) else parts.shown(source.parent)


def persona_check(file: File = None) -> None:
    """Tell every fault of the persona files with its line."""
    from interlock.app import parts
    from interlock.cli import screen

    found = parts.load_all_personas(opening.settings()) if file is None else parts.load_persona_files(file)
    if found.faults:
        raise ConfigError(list(found.faults))
    screen.line(f"{len(found.personas)} personas are fine: {', '.join(found.personas)}")
