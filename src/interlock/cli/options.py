"""Options that several commands share, so that they are named and explained once."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
InMission = Annotated[str | None, typer.Option("--mission", metavar="ID", help="Only of this mission.")]
Ident = Annotated[str, typer.Argument(metavar="ID", help="An id, or a unique beginning or end of one.")]
Model = Annotated[
    str | None, typer.Option("--model", metavar="PROVIDER/MODEL", help="`rehearsal/offline` is the offline one.")
]
