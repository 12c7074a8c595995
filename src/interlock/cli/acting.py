"""Commands that answer, cancel, raise and fetch; each is one operation of the desk."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Ident, InMission, Json
from interlock.core.errors import InterlockError, UsageError

if TYPE_CHECKING:
    from interlock.desk.office import Office, Person


def approvals(
    mission: InMission = None,
    every: Annotated[bool, typer.Option("--all", help="Answered ones too.")] = False,
    as_json: Json = False,
) -> None:
    """The questions that wait for a person, oldest first."""
    from interlock.cli import details, screen
    from interlock.desk import signing

    async def reading(office: "Office", _: "Person") -> tuple[list[dict[str, Any]], datetime]:
        status = None if every else "pending"
        return await signing.approvals(office, status=status, mission=mission), office.clock.now()

    cards, now = opening.at_desk(reading)
    if as_json:
        return screen.data(cards)
    if every:
        return details.show_answered(cards, now)
    if not cards:
        return screen.line("nothing waits for you", style="dim")
    for card in cards:
        details.show_card(card, now)
        screen.line()
    first = cards[0]["id"]
    screen.note(f"answer with `interlock approve {first}` or `interlock deny {first} --reason …`")
    return None


def approve(
    ident: Ident,
    note: Annotated[str | None, typer.Option("--note", metavar="T", help="For the record and the agent.")] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="Arguments instead of the agent's.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Sign off a held call or another question."""
    from interlock.desk import signing

    edited = None if args is None else arguments(args)
    _answered(opening.at_desk(lambda o, p: signing.approve(o, p, ident, note=note, args=edited)), as_json)


def deny(
    ident: Ident,
    reason: Annotated[str, typer.Option("--reason", metavar="T", help="What the agent is told.")],
    as_json: Json = False,
) -> None:
    """Refuse a held call or another question; the agent is told why."""
    from interlock.desk import signing

    _answered(opening.at_desk(lambda o, p: signing.deny(o, p, ident, reason=reason)), as_json)


def arguments(text: str) -> dict[str, Any]:
    """The arguments that a person typed.

    Raises UsageError where they are not a JSON object.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the arguments are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError('the arguments are not a JSON object: write them like `{"to": "a@example.com"}`')
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which every key stands once, so that nobody signs another value than they read."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands in it twice")
    return found


def _answered(card: dict[str, Any], as_json: bool) -> None:
    from interlock.cli import details, screen

    if as_json:
        return screen.data(card)
    missing = f", {card['still_needed']} more must approve" if card["still_needed"] else ""
    return screen.line(f"{card['status']}: {details.headline(card)}{missing}")


def cancel(
    ident: Annotated[str, typer.Argument(metavar="MISSION|TASK|RUN", help="An id, or a unique part of one.")],
    as_json: Json = False,
) -> None:
    """End a mission, a task or a run."""
    from interlock.cli import screen
    from interlock.desk import controls

    ended = opening.at_desk(lambda office, person: controls.cancel(office, person, ident))
    if as_json:
        return screen.data(ended)
    stopped = f", {len(ended['runs'])} runs told to stop" if len(ended["runs"]) > 1 else ""
    word = "canceled" if ended["changed"] else "was canceled already"
    screen.line(f"{ended['kind']} {ended['id']} {word}{stopped}")
    screen.flight({**ended, "runs": ended["in_flight"]}, "stopped")
    if ended.get("uncertain"):
        screen.note("nobody knows whether the uncertain effects happened: look before they are done again")


def deliverable(
    ident: Ident,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it there; - is the terminal.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What a mission or task handed in."""
    from interlock.cli import screen
    from interlock.desk import details

    found = opening.at_desk(lambda office, _: details.deliverable(office, ident))
    if as_json:
        return screen.data({**found.view, "content": found.content})
    if output is not None and str(output) != "-":
        _write(output / found.filename if output.is_dir() else output, found.content)
        return None
    return screen.document(found.content)


def _write(path: Path, content: bytes) -> None:
    from interlock.cli import screen

    try:
        path.write_bytes(content)
    except OSError as error:
        raise InterlockError(f"cannot write `{path}`: {(error.strerror or str(error)).lower()}") from error
    screen.line(f"wrote {path} ({len(content):,} bytes)")


def acknowledge(ident: Ident) -> None:
    """Mark an alert as seen."""
    from interlock.cli import screen
    from interlock.desk import controls

    seen = opening.at_desk(lambda office, person: controls.acknowledge(office, person, ident))
    screen.line(f"{seen['id']} {'acknowledged' if seen['changed'] else 'was acknowledged before'}")
