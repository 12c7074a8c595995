"""`memory`: what agents remember, and what a person may do about it; each is one operation of the desk."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Ident, Json, Signed
from interlock.cli.versions import bring_back

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person

Words = Annotated[list[str] | None, typer.Argument(metavar="[WORDS…]", help="Words to search for.")]
OfPersona = Annotated[str | None, typer.Option("--persona", metavar="NAME", help="Only this persona's.")]
OfType = Annotated[
    str | None,
    typer.Option(
        "--type", metavar="TYPE", help="Only this type: fact, conversation, decision, observation, learning or block."
    ),
]
InProject = Annotated[
    str | None, typer.Option("--project", metavar="ID", help="The project; the one in the settings by default.")
]
Most = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="The most to show.")]


def memory() -> typer.Typer:
    """The commands under `memory`."""
    group = typer.Typer(help="Search, show and restore what agents remember.", no_args_is_help=True)
    for name, command in _COMMANDS:
        group.command(name, cls=Signed)(command)
    return group


def search(
    words: Words = None,
    persona: OfPersona = None,
    kind: OfType = None,
    project: InProject = None,
    limit: Most = 20,
    as_json: Json = False,
) -> None:
    """Search memories by words, best first; without words, list all blocks and the most important memories."""
    from interlock.cli import screen
    from interlock.desk.agents import memories as desk

    query = " ".join(words or ())

    async def reading(context: "DeskContext", person: "Person") -> tuple[list[dict[str, Any]], datetime]:
        found = await desk.search(context, person, query, persona=persona, kind=kind, project=project, most=limit)
        return found, context.clock.now()

    rows, now = opening.at_desk(reading)
    if as_json:
        return screen.listed(rows, limit, "best")
    screen.table(
        ("ID", "OF", "TYPE", ">SCORE", ">MATTERS", "KEPT", "+TEXT"),
        [
            (
                r["id"], r["persona"] or "nobody", _type(r), f"{r['score']:.2f}", f"{r['importance']:.1f}",
                screen.ago(r["created_at"], now), r["text"],
            )
            for r in rows
        ],
        empty="no memories match" if query else "no memories yet",
    )  # fmt: skip
    return screen.cut(rows, limit, "best")


def show(ident: Ident, as_json: Json = False) -> None:
    """Show one memory, or one block and who has it."""
    from interlock.cli import screen
    from interlock.desk.agents import memories as desk

    async def reading(context: "DeskContext", person: "Person") -> tuple[dict[str, Any], datetime]:
        return await desk.show(context, person, ident), context.clock.now()

    found, now = opening.at_desk(reading)
    if as_json:
        return screen.data(found)
    if found["what"] == "block":
        screen.line(found["label"], style="bold")
        screen.line(found["content"])
        held = ", ".join(f"{h['persona']}{'' if h['can_write'] else ' (reads only)'}" for h in found["holders"])
        facts: list[tuple[str, object]] = [
            ("held by", held or "nobody"),
            ("written", screen.ago(found["updated_at"], now)),
        ]
    else:
        screen.line(found["text"])
        facts = [
            ("of", found["persona"]),
            ("type", _type(found)),
            ("importance", f"{found['importance']:.2f}"),
            ("left of it", f"{found['decay']:.0%}"),
            ("heard from", found["heard_from"]),
            ("kept", screen.ago(found["created_at"], now)),
            (
                "used",
                f"{found['uses']} time{'' if found['uses'] == 1 else 's'}, last {screen.ago(found['used_at'], now)}"
                if found["uses"]
                else "never",
            ),
            ("put away", screen.ago(found["archived_at"], now) if found["archived_at"] else None),
            ("run", found["run_id"]),
        ]
    facts += [("labels", ", ".join(found["labels"]) or None), ("version", str(found["version"])), ("id", found["id"])]
    return screen.facts(facts)


def versions(ident: Ident, as_json: Json = False) -> None:
    """List all versions of a memory or a block: what it said, who wrote it, and why."""
    from interlock.cli import screen
    from interlock.desk.agents import memories as desk

    async def reading(context: "DeskContext", person: "Person") -> tuple[list[dict[str, Any]], datetime]:
        return await desk.versions(context, person, ident), context.clock.now()

    rows, now = opening.at_desk(reading)
    if as_json:
        return screen.data(rows)
    return screen.table(
        (">VERSION", "WRITTEN", "BY", "WHY", "+TEXT"),
        [(v["version"], screen.ago(v["created_at"], now), v["author"], v["reason"], _said(v)) for v in rows],
        empty="none",
    )


def restore(
    ident: Ident,
    version: Annotated[
        int, typer.Argument(metavar="VERSION", help="The number of the version, from `interlock memory versions`.")
    ],
    as_json: Json = False,
) -> None:
    """Make an earlier version of a memory or a block the current one."""
    from interlock.desk.agents import memories as desk

    bring_back(desk.restore, ident, version, as_json=as_json)


def forget(
    ident: Ident,
    reason: Annotated[str, typer.Argument(metavar="REASON", help="Why; kept with the versions.")],
    as_json: Json = False,
) -> None:
    """Hide a memory from all agents; it can be restored for 90 days."""
    from interlock.cli import screen
    from interlock.desk.agents import memories as desk

    found = opening.at_desk(lambda context, person: desk.forget(context, person, ident, reason))
    if as_json:
        return screen.data(found)
    screen.line(f"{found['id']} is put away")
    return screen.note(f"get it back with `interlock memory restore {found['id']} {found['version'] - 1}`")


def share(
    ident: Ident,
    persona: Annotated[str, typer.Argument(metavar="PERSONA", help="The persona to share it with.")],
    write: Annotated[bool, typer.Option("--write", help="Let the persona write to it too.")] = False,
    off: Annotated[bool, typer.Option("--off", help="Stop sharing it with the persona.")] = False,
    as_json: Json = False,
) -> None:
    """Share a block of one agent's core memory with another persona, or stop sharing it."""
    from interlock.cli import screen
    from interlock.desk.agents import memories as desk

    found = opening.at_desk(
        lambda context, person: desk.share(context, person, ident, persona, can_write=write, off=off)
    )
    if as_json:
        return screen.data(found)
    if off:
        return screen.line(f"`{found['label']}` is no longer shown to {persona}")
    return screen.line(f"`{found['label']}` is shown to {persona}, who may {'write in' if write else 'only read'} it")


def _type(row: dict[str, Any]) -> str:
    return f"{row['type']} (rehearsal)" if row["rehearsal"] else str(row["type"])


def _said(version: dict[str, Any]) -> str:
    content = version["content"]
    said = content.get("text", content.get("content", ""))
    return f"(put away) {said}" if content.get("archived") else str(said)


_COMMANDS = (
    ("search", search), ("show", show), ("versions", versions), ("restore", restore), ("forget", forget),
    ("share", share),
)  # fmt: skip
