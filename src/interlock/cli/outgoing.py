"""`outbox`: listing undelivered messages, and retrying those that were given up."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person


def outbox(
    dead: Annotated[bool, typer.Option("--dead", help="Only those that were given up.")] = False,
    as_json: Json = False,
) -> None:
    """List chat messages and e-mails that have not been delivered, oldest first."""
    from interlock.cli import screen
    from interlock.desk.chats import outgoing

    async def reading(context: "DeskContext", _: "Person") -> tuple[list[dict[str, Any]], datetime]:
        return await outgoing.outgoing(context, dead_only=dead), context.clock.now()

    rows, now = opening.at_desk(reading)
    if as_json:
        return screen.listed(rows, outgoing.MOST, "oldest")
    screen.table(
        ("ID", "STATE", "BY", "TO", ">TRIES", "SINCE", "WHAT", "~WHY"),
        [
            (
                r["id"], screen.state(r["state"]), r["surface"], r["to"], r["attempts"] or "",
                screen.ago(r["created_at"], now), r["what"], r["error"] or "",
            )
            for r in rows
        ],
        empty="no dead messages" if dead else "everything has been delivered",
    )  # fmt: skip
    screen.cut(rows, outgoing.MOST, "oldest")
    if any(r["state"] in ("dead", "uncertain") for r in rows):
        screen.note("retry one with `interlock outbox retry ID`; an uncertain one may arrive twice")
        screen.note("`interlock outbox retry --all` retries chat messages that certainly did not arrive")
    return None


def retry(
    ident: Annotated[str | None, typer.Argument(metavar="ID", help="An id from `interlock outbox`.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All chat messages that certainly did not arrive.")] = False,
    as_json: Json = False,
) -> None:
    """Retry a message that was given up, or all of them."""
    from interlock.cli import screen
    from interlock.core.errors import UsageError
    from interlock.desk.chats import outgoing

    if (ident is None) is not everything:
        raise UsageError("name one message, or give `--all`: `interlock outbox --dead` lists them")
    if ident is None:
        found = opening.at_desk(outgoing.retry_all)
        return screen.data(found) if as_json else screen.line(f"{len(found)} dead messages are tried again")
    revived = opening.at_desk(lambda context, person: outgoing.retry(context, person, ident))
    if as_json:
        return screen.data(revived)
    return screen.line(f"message {revived['id']} is tried again by {revived['surface']}")
