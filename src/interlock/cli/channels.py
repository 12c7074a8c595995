"""`channel`: the workspace chat on the terminal; each command is one operation of the desk."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json

if TYPE_CHECKING:
    from interlock.app.box import Interlock
    from interlock.desk.context import DeskContext, Person
    from interlock.desk.reading.views import View

Name = Annotated[
    str, typer.Argument(metavar="CHANNEL", help="Its name or id; `@PERSONA` is your direct conversation with one.")
]
Member = Annotated[str | None, typer.Argument(metavar="[WHO]", help="A persona or a person; you by default.")]
Thread = Annotated[str | None, typer.Option("--thread", metavar="MESSAGE", help="In this message's thread.")]
InProject = Annotated[
    str | None, typer.Option("--project", metavar="P", help="The project; the one in the settings by default.")
]
LOOK_S = 0.1
QUIET_S = 15.0
"""After so long without an answer it is said why."""


def channel() -> typer.Typer:
    """The commands under `channel`."""
    group = typer.Typer(help="The workspace chat: channels of people and agents.", no_args_is_help=True)
    commands: tuple[tuple[str, Callable[..., Any]], ...] = (
        ("list", listing), ("create", create), ("show", show), ("say", say), ("join", join), ("leave", leave),
        ("archive", archive),
    )  # fmt: skip
    for name, command in commands:
        group.command(name)(command)
    return group


def listing(
    archived: Annotated[bool, typer.Option("--archived", help="Include archived ones.")] = False,
    project: InProject = None,
    as_json: Json = False,
) -> None:
    """List the channels that you may read, and who is in them."""
    from interlock.cli import screen
    from interlock.desk.workspace_chat import rooms

    rows = opening.at_desk(lambda o, p: rooms.channels(o, p, project=project, archived=archived), anew=True)
    if as_json:
        return screen.data(rows)
    return screen.table(
        ("CHANNEL", "ID", "KIND", ">MESSAGES", "+MEMBERS"),
        [
            (
                _name(row), row["id"], row["kind"] + (" (archived)" if row["archived_at"] else ""), row["messages"],
                ", ".join(member["name"] for member in row["members"]),
            )
            for row in rows
        ],
        empty="no channels yet: create one with `interlock channel create NAME --member PERSONA`",
    )  # fmt: skip


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, `-` and `_`.")],
    member: Annotated[
        list[str] | None, typer.Option("--member", metavar="WHO", help="A persona or a person; may be repeated.")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Only its members see it.")] = False,
    topic: Annotated[str, typer.Option("--topic", metavar="TEXT", help="What it is for.")] = "",
    project: InProject = None,
    as_json: Json = False,
) -> None:
    """Create a channel with you and others in it."""
    from interlock.desk.workspace_chat import rooms

    async def making(box: "Interlock") -> "View":
        kind = "private" if private else "channel"
        return await rooms.create(box.runtime, box.person, name, kind=kind, members=member or (), topic=topic)

    _show(_in_box(making, project), as_json)


def show(
    name: Name,
    thread: Thread = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="MESSAGE", help="Only messages before this one.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=200, help="The most to show.")] = 50,
    project: InProject = None,
    as_json: Json = False,
) -> None:
    """Show the messages of a channel, oldest first."""
    from interlock.cli import screen
    from interlock.desk.workspace_chat import rooms

    async def reading(context: "DeskContext", person: "Person") -> "tuple[list[View], datetime]":
        ident = await rooms.find(context, person, name, project=project)
        found = await rooms.history(context, person, ident, thread=thread, before=before, most=limit)
        return found, context.clock.now()

    rows, now = opening.at_desk(reading)
    if as_json:
        return screen.listed(rows, limit)
    screen.cut(rows, limit)
    for row in rows:
        _line(row, now)
    if not rows:
        screen.note("no messages here yet")
    return None


def say(
    name: Name,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The message; `@name` mentions somebody.")],
    thread: Thread = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for the answers, or only post the message.")
    ] = True,
    project: InProject = None,
    as_json: Json = False,
) -> None:
    """Post a message to a channel, and wait for the agents' answers."""
    from interlock.cli import screen

    async def saying(box: "Interlock") -> "View":
        from interlock.desk.workspace_chat import rooms

        runtime, person = box.runtime, box.person
        if name.startswith("@"):
            ident = str((await rooms.dm(runtime, person, name[1:], project=project))["id"])
        else:
            ident = await rooms.find(runtime, person, name, project=project)
        said = await rooms.say(runtime, person, ident, text, parent_id=thread)
        answers = await _answers(box, said, silent=as_json) if wait else []
        return {**said, "answers": answers} if wait else said

    found = _in_box(saying, project)
    if as_json:
        screen.data(found)
    elif not wait:
        screen.line(found["id"])
        screen.note("agents answer while `interlock up` runs; read the answers with `interlock channel show`")


async def _answers(box: "Interlock", said: "View", *, silent: bool) -> "list[View]":
    """The messages posted in the same place since, until no agent has a turn left, or the operator stops."""
    from interlock.cli import screen
    from interlock.desk.operations import emergency
    from interlock.desk.workspace_chat import rooms

    place, seen = said["parent_id"], said["seq"]
    answers: list[View] = []
    with opening.stopping() as asked:
        await box.start()
        hindrance = await box.runtime.store.read(emergency.hindrance)
        if hindrance is not None:
            screen.note(f"it waits: {hindrance}")
            return answers
        last_remark, quiet_since = "", monotonic()
        while not asked.is_set():
            left = await rooms.turns(box.runtime, box.person, said["channel_id"], thread=place)
            rows = await rooms.history(box.runtime, box.person, said["channel_id"], thread=place, most=200)
            for row in rows:
                if row["seq"] > seen:
                    answers.append(row)
                    if not silent:
                        _line(row, None)
            if any(row["seq"] > seen for row in rows):
                quiet_since = monotonic()
            elif left and monotonic() - quiet_since > QUIET_S:
                last_remark, quiet_since = await _explain_silence(box, said, left, last_remark), monotonic()
            seen = max([seen, *(row["seq"] for row in rows)])
            if not left:
                break
            await asyncio.sleep(LOOK_S)
    if not silent:
        await _note_others(box, said, {row["run_id"] for row in answers})
    return answers


async def _explain_silence(box: "Interlock", said: "View", left: list[str], last_remark: str) -> str:
    """Prints why there is no answer yet, unless that was `last_remark` already; returns the remark."""
    from interlock.cli import screen
    from interlock.desk.operations import queues
    from interlock.desk.workspace_chat import rooms

    found = [await queues.of_run(box.runtime, turn["run_id"])
             for turn in await rooms.outcomes(box.runtime, box.person, said["id"])]  # fmt: skip
    why = "; ".join(each["because"] for each in found if each is not None and each["status"] == "created")
    why = why or f"`interlock queue {left[0]}` shows what it waits for"
    words = f"no answer yet from {', '.join(dict.fromkeys(left))}: {why}; Ctrl-C stops watching"
    if words != last_remark:
        screen.note(words)
    return words


async def _note_others(box: "Interlock", said: "View", spoke: set[str]) -> None:
    """Prints why agents have not answered; that one had nothing to say only if none answered."""
    from interlock.cli import screen
    from interlock.desk.workspace_chat import rooms

    for turn in await rooms.outcomes(box.runtime, box.person, said["id"]):
        if turn["status"] == "waiting":
            screen.note(f"{turn['persona']} waits for a person: `interlock approvals` lists the questions")
        elif turn["status"] == "failed":
            screen.note(f"{turn['persona']}: {turn['error']}: `interlock trace {turn['run_id']}` shows it")
        elif turn["status"] == "created" and turn["error"]:
            screen.note(f"{turn['persona']} tries again later, while `interlock up` runs: {turn['error']}")
    if not spoke:
        screen.note("nobody has answered")


def join(name: Name, who: Member = None, project: InProject = None, as_json: Json = False) -> None:
    """Add a persona, a person or yourself to a channel."""
    from interlock.desk.workspace_chat import rooms

    async def joining(box: "Interlock") -> "View":
        ident = await rooms.find(box.runtime, box.person, name, project=project)
        return await rooms.join(box.runtime, box.person, ident, who)

    _show(_in_box(joining, project), as_json)


def leave(name: Name, who: Member = None, project: InProject = None, as_json: Json = False) -> None:
    """Remove a persona, a person or yourself from a channel."""
    from interlock.desk.workspace_chat import rooms

    async def leaving(context: "DeskContext", person: "Person") -> "View":
        return await rooms.leave(context, person, await rooms.find(context, person, name, project=project), who)

    _show(opening.at_desk(leaving), as_json)


def archive(
    name: Name,
    off: Annotated[bool, typer.Option("--off", help="Reopen it.")] = False,
    project: InProject = None,
    as_json: Json = False,
) -> None:
    """Close a channel to new messages; it can still be read."""
    from interlock.desk.workspace_chat import rooms

    async def archiving(context: "DeskContext", person: "Person") -> "View":
        return await rooms.archive(
            context, person, await rooms.find(context, person, name, project=project), on=not off
        )

    _show(opening.at_desk(archiving), as_json)


def _in_box(work: "Callable[[Interlock], Any]", project: str | None) -> "View":
    """Runs `work` with an open home whose personas are loaded; returns its result."""
    opening.load_everything()

    async def whole() -> "View":
        from interlock.app.box import Interlock

        await opening.tell_new_project(project)
        async with Interlock.open(surface="cli", project=project) as box:
            found: View = await work(box)
            return found

    return opening.run(whole())


def _show(found: "View", as_json: bool) -> None:
    from interlock.cli import screen

    if as_json:
        return screen.data(found)
    state = "archived" if found["archived_at"] else ", ".join(each["name"] for each in found["members"]) or "nobody"
    return screen.line(f"{_name(found)} ({found['id']}): {state}")


def _line(row: "View", now: datetime | None) -> None:
    """Formats a message: author, time, text, reactions, replies, and its id for threads."""
    from interlock.cli import screen

    when = f" {screen.ago(row['created_at'], now)}" if now is not None else ""
    more = [f"{sign['emoji']} {len(sign['by'])}" for sign in row["reactions"]]
    more += [f"{row['replies']} in its thread"] if row["replies"] else []
    tail = f"  [{', '.join(more)}]" if more else ""
    screen.line(f"{row['name']}{when} ({row['id']}){tail}", style="bold")
    screen.quoted(row["text"])


def _name(row: "View") -> str:
    return f"@{row['name']}" if row["kind"] == "dm" else f"#{row['name']}"
