"""`interlock token`: the tokens with which programs act for a person over HTTP."""

from typing import Annotated

import typer

from interlock.cli import opening
from interlock.cli.options import Json


def token() -> typer.Typer:
    """The commands under `token`."""
    group = typer.Typer(help="Manage the tokens with which programs act for people over HTTP.", no_args_is_help=True)
    for name, command in (("create", create), ("list", listing), ("revoke", revoke)):
        group.command(name)(command)
    return group


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the token is for.")],
    role: Annotated[
        str | None,
        typer.Option("--role", metavar="ROLE", help="viewer, operator or admin; at most the person's own role."),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="P", help="Restrict it to this project; all projects by default.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="When it expires, such as 30d or 12h; never by default."),
    ] = None,
    who: Annotated[
        str | None, typer.Option("--for", metavar="PERSON", help="The person it acts for; you by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a token; it is shown only this once."""
    from interlock.cli import screen
    from interlock.desk.identities import tokens

    expires_s = tokens.span_s(expires) if expires is not None else None
    made = opening.at_desk(
        lambda context, person: tokens.create(
            context, person, name, role=role, project=project, expires_s=expires_s, who=who
        ),
        anew=True,
    )
    if as_json:
        return screen.data(made)
    screen.line(made["token"])
    until = f"until {made['expires_at']:%Y-%m-%d %H:%M} UTC" if made["expires_at"] else "until it is revoked"
    screen.note(f"{made['id']} acts for {made['person']} as {made['role']}, {until}; it is not shown again")
    return None


def listing(as_json: Json = False) -> None:
    """List tokens, without their values."""
    from interlock.cli import screen
    from interlock.desk.identities import tokens

    rows = opening.at_desk(tokens.tokens, anew=True)
    if as_json:
        return screen.data(rows)
    screen.table(
        ("ID", "NAME", "FOR", "ROLE", "PROJECT", "STATE", "LAST USED"),
        [
            (
                r["id"], r["name"], r["person"], r["role"], r["project_id"] or "all", r["status"],
                f"{r['used_at']:%Y-%m-%d %H:%M}" if r["used_at"] else "never",
            )
            for r in rows
        ],
        empty="no tokens yet: create one with `interlock token create NAME`",
    )  # fmt: skip
    return None


def revoke(
    ident: Annotated[str, typer.Argument(metavar="ID", help="The token's id, from `interlock token list`.")],
    as_json: Json = False,
) -> None:
    """Revoke a token; it stops working everywhere within two seconds."""
    from interlock.cli import screen
    from interlock.desk.identities import tokens

    found = opening.at_desk(lambda context, person: tokens.revoke(context, person, ident))
    if as_json:
        return screen.data(found)
    return screen.line(f"{found['id']} ({found['name']}) is revoked")
