"""`interlock secrets`: the named secrets, their sources, and which tools may get them; never a value."""

import typer

from interlock.cli import opening
from interlock.cli.options import Json


def secrets() -> typer.Typer:
    """The commands under `secrets`."""
    group = typer.Typer(help="Show the named secrets: where each is stored and which tools may use it.")
    group.callback()(_nothing)
    group.command("list")(listed)
    return group


def _nothing() -> None:
    """Makes `list` a command of its own."""


def listed(as_json: Json = False) -> None:
    """List the named secrets: where each is, whether it is set, which tools may use it and where it may be sent."""
    from interlock.cli import screen
    from interlock.tools.secrets import Vault

    rows = Vault(opening.settings().secrets).standing()
    if as_json:
        return screen.data(rows)
    screen.table(
        ("NAME", "STATE", "FROM", "TOOLS", "PERSONAS", "~GOES TO"),
        [
            (
                r["name"], screen.state("ok" if r["problem"] is None else "error"), r["source"],
                ", ".join(r["tools"]) or "none", ", ".join(r["personas"]) or "all",
                r["problem"] or ", ".join(r["domains"]) or "wherever a person approves",
            )
            for r in rows
        ],
        empty="no secrets: name them under `secrets` in interlock.yaml, with `env: NAME` or `file: PATH`",
    )  # fmt: skip
    return None
