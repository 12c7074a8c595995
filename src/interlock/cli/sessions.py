"""`reset` and `session`: starting conversations afresh, exporting and importing them."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from interlock.cli import opening
from interlock.cli.files import write_private
from interlock.cli.options import Json
from interlock.core.text import amount

Named = Annotated[str, typer.Argument(metavar="AGENT", help="A persona that you talk with, or the id of an agent.")]


def session() -> typer.Typer:
    """The commands under `session`."""
    group = typer.Typer(help="Export conversations with agents to files, and import them.")
    group.command("export")(export)
    group.command("import")(take)
    return group


def reset(agent: Named, as_json: Json = False) -> None:
    """Start a conversation with an agent afresh: earlier messages are left out, and what is pending stays."""
    from interlock.cli import screen
    from interlock.desk.agents import sessions as desk

    done = opening.at_desk(lambda context, person: desk.reset(context, person, agent))
    if as_json:
        return screen.data(done)
    for each in done["agents"]:
        screen.line(f"the conversation with {done['persona']} begins anew ({each['agent_id']})")
        if each["pending"]:
            screen.note(f"{each['pending']} pending messages stay in its mailbox")
        if each["running"]:
            screen.note("its running work continues with what it knows")
    return None


def export(
    agent: Named,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write; standard output by default."),
    ] = None,
) -> None:
    """Write a conversation as JSON lines, with secrets masked."""
    from interlock.cli import screen
    from interlock.desk.agents import sessions as desk

    lines = opening.at_desk(lambda context, person: desk.export(context, person, agent))
    text = "".join(f"{line}\n" for line in lines)
    if output is None:
        sys.stdout.write(text)
        return
    write_private(output, text)
    screen.line(f"{amount(len(lines), 'line')} written to {output}")


def take(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by `session export`.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing history.")] = False,
    mine: Annotated[bool, typer.Option("--mine", help="Continue it as your own conversation on this machine.")] = False,
    as_json: Json = False,
) -> None:
    """Import a conversation into the agent it belongs to; what the agent may do is still up to its persona here."""
    from interlock.app import config
    from interlock.cli import screen
    from interlock.core.errors import UsageError
    from interlock.desk.agents import session_import as desk

    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {(error.strerror or str(error)).lower()}") from error
    personas = config.load_all_personas(opening.settings())
    done = opening.at_desk(
        lambda context, person: desk.import_session(
            context, person, personas, data, str(file), replace=replace, mine=mine
        ),
        anew=True,
    )
    if as_json:
        return screen.data(done)
    screen.line(f"{done['runs']} runs with {done['messages']} messages are the history of {done['agent_id']} now")
    for note in done["notes"]:
        screen.note(note)
    return None
