"""Commands on missions, tasks, runs and alerts; each is one operation of the desk."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.files import write_over
from interlock.cli.options import Ident, Json

Why = Annotated[str, typer.Option("--reason", metavar="T", help="Why; it is recorded.")]


def cancel(
    ident: Annotated[
        str, typer.Argument(metavar="MISSION|TASK|RUN", help="An id, or a unique beginning or end of one.")
    ],
    as_json: Json = False,
) -> None:
    """End a mission, a task or a run."""
    from interlock.cli import screen
    from interlock.desk.work import controls

    ended = opening.at_desk(lambda context, person: controls.cancel(context, person, ident))
    if as_json:
        return screen.data(ended)
    stopped = f", {len(ended['runs'])} runs told to stop" if len(ended["runs"]) > 1 else ""
    word = "canceled" if ended["changed"] else "was canceled already"
    screen.line(f"{ended['kind']} {ended['id']} {word}{stopped}")
    screen.flight({**ended, "runs": ended["in_flight"]}, "stopped")
    if ended.get("uncertain"):
        screen.note("nobody knows whether the uncertain effects happened: check before they are repeated")


def retry(ident: Ident, reason: Why = "", as_json: Json = False) -> None:
    """Let a blocked task go on from where it was."""
    from interlock.desk.work import task_changes

    _moved(opening.at_desk(lambda context, person: task_changes.retry(context, person, ident, reason=reason)), as_json)


def reassign(
    ident: Ident,
    persona: Annotated[
        str | None, typer.Argument(metavar="[PERSONA]", help="Who gets it; by default another agent of who has it.")
    ] = None,
    reason: Why = "",
    as_json: Json = False,
) -> None:
    """Give a task to a new agent, of the same persona or another."""
    from interlock.desk.work import task_changes

    done = opening.at_desk(
        lambda context, person: task_changes.reassign(context, person, ident, persona, reason=reason)
    )
    _moved(done, as_json)


def _moved(done: dict[str, Any], as_json: bool) -> None:
    from interlock.cli import screen

    if as_json:
        return screen.data(done)
    screen.line(f"task {done['id']} went from {done['from']} to {done['to']}")
    screen.flight({**done, "runs": done["in_flight"]}, "stopped")
    return None


def comment(
    ident: Ident,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; `@NAME` tells a persona or a person.")],
    as_json: Json = False,
) -> None:
    """Add a comment to the thread of a task or mission."""
    from interlock.cli import screen
    from interlock.desk.work import task_changes

    said = opening.at_desk(lambda context, person: task_changes.comment(context, person, ident, text))
    if as_json:
        return screen.data(said)
    screen.line(f"comment {said['id']} added to {said['task_id']}")
    return None


def deliverable(
    ident: Ident,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it to this file; - is the terminal.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a mission or task handed in."""
    from interlock.cli import screen
    from interlock.desk.reading import details

    found = opening.at_desk(lambda context, _: details.deliverable(context, ident))
    if as_json:
        return screen.data({**found.view, "content": found.content})
    if output is not None and str(output) != "-":
        _write(output / found.filename if output.is_dir() else output, found.content)
        return None
    return screen.document(found.content)


def _write(path: Path, content: bytes) -> None:
    from interlock.cli import screen

    write_over(path, content)
    screen.line(f"wrote {path} ({len(content):,} bytes)")


def acknowledge(ident: Ident) -> None:
    """Mark an alert as seen."""
    from interlock.cli import screen
    from interlock.desk.work import controls

    seen = opening.at_desk(lambda context, person: controls.acknowledge(context, person, ident))
    screen.line(f"{seen['id']} {'acknowledged' if seen['changed'] else 'was acknowledged before'}")


COMMANDS: tuple[Callable[..., Any], ...] = (retry, reassign, comment, cancel, deliverable)
"""What people do with tasks and missions, in the order of help."""
