"""Options that several commands share, defined once."""

import re
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand


class Approve(StrEnum):
    """How a held call is handled while a command waits for its run."""

    ASK = "ask"
    QUEUE = "queue"


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
InMission = Annotated[str | None, typer.Option("--mission", metavar="ID", help="Only of this mission.")]
Ident = Annotated[str, typer.Argument(metavar="ID", help="An id, or a unique beginning or end of one.")]
Checks = Annotated[
    list[str] | None,
    typer.Option(
        "--check", metavar="CHECK", help="A check that it must pass, such as `kind: file_exists, path: report.csv`."
    ),
]
ChecksFile = Annotated[
    Path | None, typer.Option("--checks", metavar="FILE", help="A YAML or JSON file with a list of checks.")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PROVIDER/MODEL",
        help="The model to use; `rehearsal/offline` needs no key and costs nothing.",
    ),
]
Project = Annotated[str | None, typer.Option("--project", metavar="P", help="The project it belongs to.")]
Approval = Annotated[
    Approve | None,
    typer.Option(
        "--approve",
        metavar="ask|queue",
        help="Ask about held calls here (default on a terminal), or leave them in the queue.",
    ),
]


def asks_here(approve: Approve | None, *, as_json: bool) -> bool:
    """Whether held calls are put to the operator here; by default on a terminal, unless JSON is printed."""
    if approve is not None:
        return approve is Approve.ASK
    return sys.stdin.isatty() and sys.stdout.isatty() and not as_json


class Signed(TyperCommand):
    """A command that takes a negative number as a value, which it rejects itself, not as an unknown option."""

    def parse_args(self, ctx: Any, args: Sequence[str]) -> list[str]:
        """Parses the arguments; returns the remaining ones."""
        ctx.ignore_unknown_options = any(_NEGATIVE.fullmatch(each) for each in args)
        return super().parse_args(ctx, list(args))


_NEGATIVE = re.compile(r"-[\d.]\S*")
