"""`interlock people`: the people of this squad, their roles, and their ids in chats."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.files import write_private
from interlock.cli.options import Json

Who = Annotated[str, typer.Argument(metavar="PERSON", help="A name, an id, or one of their identities.")]
IdentityArgument = Annotated[
    str, typer.Argument(metavar="IDENTITY", help="Such as slack:U0123ABCD, telegram:42 or local:1000.")
]
RoleHelp = "viewer (looks), operator (acts) or admin (also manages people)."


def people() -> typer.Typer:
    """The commands under `people`."""
    group = typer.Typer(
        help="Manage the people who may operate this squad, their roles and their identities in chats.",
        no_args_is_help=True,
    )
    for name, command in _COMMANDS:
        group.command(name)(command)
    return group


def listing(as_json: Json = False) -> None:
    """List people with their roles and identities."""
    from interlock.cli import screen
    from interlock.desk.identities import people

    rows = opening.at_desk(lambda context, _: people.people(context), anew=True)
    if as_json:
        return screen.data(rows)
    screen.table(
        ("ID", "NAME", "ROLE", "KNOWN AS"),
        [(r["id"], r["name"], r["role"], ", ".join(r["identities"]) or "–") for r in rows],
        empty="nobody yet",
    )
    return None


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that records show.")],
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help=RoleHelp)] = "operator",
    as_json: Json = False,
) -> None:
    """Add a person."""
    from interlock.cli import screen
    from interlock.desk.identities import people

    found = opening.at_desk(lambda context, person: people.add(context, person, name, role=role), anew=True)
    if as_json:
        return screen.data(found)
    screen.line(f"{found['name']} is {_a(found['role'])} ({found['id']})")
    screen.note(f"link them to a chat with `interlock people link {found['id']} slack:U…`")
    return None


def link(who: Who, identity: IdentityArgument, as_json: Json = False) -> None:
    """Link a person to their id on a surface, such as Slack."""
    from interlock.cli import screen
    from interlock.desk.identities import people

    found = opening.at_desk(lambda context, person: people.link(context, person, who, identity), anew=True)
    if as_json:
        return screen.data(found)
    moved = f", no longer {found['moved_from']}'s" if found["moved_from"] else ""
    same = "" if found["changed"] else ", as before"
    return screen.line(f"{found['name']} ({found['role']}) is known as {', '.join(found['identities'])}{moved}{same}")


def unlink(identity: IdentityArgument, as_json: Json = False) -> None:
    """Remove the link of an id to a person."""
    from interlock.cli import screen
    from interlock.desk.identities import people

    found = opening.at_desk(lambda context, person: people.unlink(context, person, identity), anew=True)
    if as_json:
        return screen.data(found)
    return screen.line(f"{identity} is nobody's now; {found['name']}: {', '.join(found['identities']) or 'no other'}")


def role(who: Who, role: Annotated[str, typer.Argument(metavar="ROLE", help=RoleHelp)], as_json: Json = False) -> None:
    """Change a person's role."""
    from interlock.cli import screen
    from interlock.desk.identities import people

    found = opening.at_desk(lambda context, person: people.set_role(context, person, who, role), anew=True)
    if as_json:
        return screen.data(found)
    was = f", was {_a(found['before'])}" if found["before"] != found["role"] else ", as before"
    return screen.line(f"{found['name']} is {_a(found['role'])}{was}")


def _a(role: Any) -> str:
    return f"{'a' if role == 'viewer' else 'an'} {role}"


def export(
    who: Who,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The file to write; standard output by default."),
    ] = None,
) -> None:
    """Export everything on record about a person, as JSON."""
    from interlock.cli import screen
    from interlock.desk.identities import personal

    found = opening.at_desk(lambda context, person: personal.export(context, person, who))
    if output is None:
        return screen.data(found)
    write_private(output, screen.json_of(found))
    counts = ", ".join(f"{len(rows)} {kind}" for kind, rows in found.items() if kind != "person" and rows)
    return screen.line(f"{output}: {found['person']['name']}: {counts or 'nothing but who they are'}")


def erase(
    who: Who,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Erase a person: their messages, name and identities are removed; their decisions stay under an id."""
    from interlock.cli import screen
    from interlock.desk.identities import personal

    if not yes:
        _confirm(opening.at_desk(lambda context, person: personal.known(context, person, who)))
    done = opening.at_desk(lambda context, person: personal.erase(context, person, who))
    if as_json:
        return screen.data(done)
    screen.line(f"{done['id']} is erased, and called `{done['name']}` in records: {done['chats']} chats erased")
    if left := done["open_chats"]:
        screen.note(
            f"{len(left)} of their chats are still executing: `interlock people erase {done['id']}` again later"
        )
    return None


def _confirm(found: dict[str, Any]) -> None:
    """Raises UsageError if nobody can be asked, Refused if they say no."""
    from interlock.core.errors import Refused, UsageError

    if not sys.stdin.isatty():
        raise UsageError(f"erasing {found['name']} cannot be undone: say so with `--yes`")
    if not typer.confirm(f"Erase {found['name']} ({found['id']})? This cannot be undone.", err=True):
        raise Refused("nothing was erased")


_COMMANDS = (
    ("list", listing), ("add", add), ("link", link), ("unlink", unlink), ("role", role), ("export", export),
    ("erase", erase),
)  # fmt: skip
