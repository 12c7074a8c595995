"""Options that several commands share, so that they are named and explained once."""

from pathlib import Path
from typing import Annotated

import typer

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
