"""The approval queue on the command line: listing, approving and denying, one or several at once; grants."""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Ident, InMission, Json
from interlock.core.errors import UsageError

if TYPE_CHECKING:
    from interlock.desk.chats.cards import Card
    from interlock.desk.context import DeskContext, Person

View = dict[str, Any]
Alike = Annotated[
    bool, typer.Option("--alike", help="Answer all waiting questions of the same kind; they are shown first.")
]
Yes = Annotated[bool, typer.Option("--yes", help="With --alike: do not ask for confirmation.")]
PAGE = 20


def approvals(
    ident: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only this one: an id, or a unique beginning or end of one.")
    ] = None,
    mission: InMission = None,
    every: Annotated[bool, typer.Option("--all", help="Include answered ones.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="The most to show.")] = PAGE,
    after: Annotated[str | None, typer.Option("--after", metavar="ID", help="Only those after this one.")] = None,
    as_json: Json = False,
) -> None:
    """List the questions that wait for a person, oldest first."""
    from interlock.cli import details, screen
    from interlock.desk.signoff import asking, signing

    async def reading(context: "DeskContext", _: "Person") -> "tuple[list[View], list[Card], int, datetime]":
        if ident is not None:
            found = [await signing.approval(context, ident)]
        else:
            status = None if every else "pending"
            found = await signing.approvals(context, status=status, mission=mission, limit=limit, after=after)
        wanted = [] if as_json or (every and ident is None) else found
        cards = [await asking.approval_card(context, each["id"], taps=False, at_length=True) for each in wanted]
        return found, cards, await signing.waiting(context), context.clock.now()

    found, cards, total, now = opening.at_desk(reading)
    which = "oldest" if after is None else "next"
    if as_json:
        return screen.data(found[0]) if ident is not None else screen.listed(found, limit, which)
    if every and ident is None:
        details.show_answered(found, now)
        return screen.cut(found, limit, which)
    if not found:
        return screen.line("nothing waits for you", style="dim")
    for card in cards:
        details.show_card(card)
        screen.line()
    first, last = found[0]["id"], found[-1]["id"]
    if found[0]["status"] == "pending":
        screen.note(f"answer with `interlock approve {first}` or `interlock deny {first} --reason …`")
    if ident is None and mission is None and total > len(found) and len(found) == limit:
        screen.note(f"{total:,} wait in all: `interlock approvals --after {last}` shows the next ones")
    return None


def approve(
    ident: Ident,
    note: Annotated[
        str | None, typer.Option("--note", metavar="T", help="A note for the record and for the agent.")
    ] = None,
    args: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON", help="Run the call with these arguments instead of the agent's."),
    ] = None,
    grant: Annotated[
        str | None,
        typer.Option(
            "--grant", metavar="SCOPE", help="Also allow similar calls: for an `hour`, or for this `task` or `agent`."
        ),
    ] = None,
    narrow: Annotated[
        bool, typer.Option("--narrow", help="With --grant: only with the same recipients, paths and other targets.")
    ] = False,
    alike: Alike = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Approve a held call or another question."""
    from interlock.desk.signoff import signing, typed_arguments

    edited = None if args is None else typed_arguments.parsed(args)
    if narrow and grant is None:
        raise UsageError("`--narrow` needs a grant: give one with `--grant hour`, `task` or `agent`")
    if alike:
        if edited is not None or grant is not None:
            raise UsageError("`--alike` answers questions without changes: leave `--args` and `--grant` out")
        return _together(ident, "approve", note, yes=yes, as_json=as_json)
    _answered(
        opening.at_desk(lambda o, p: signing.approve(o, p, ident, note=note, args=edited, grant=grant, narrow=narrow)),
        as_json,
    )
    return None


def deny(
    ident: Ident,
    reason: Annotated[str, typer.Option("--reason", metavar="T", help="Why; the agent is told.")],
    alike: Alike = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Deny a held call or another question; the agent is told why."""
    from interlock.desk.signoff import signing

    if alike:
        return _together(ident, "deny", reason, yes=yes, as_json=as_json)
    _answered(opening.at_desk(lambda o, p: signing.deny(o, p, ident, reason=reason)), as_json)
    return None


def _together(ident: str, verb: str, words: str | None, *, yes: bool, as_json: bool) -> None:
    """Answers several questions. INVARIANT: only those that were shown are answered, none that came later."""
    from interlock.cli import screen
    from interlock.desk.signoff import signing

    shown = opening.at_desk(lambda context, _: signing.alike(context, ident))
    if not shown:
        raise UsageError(f"no other question is of the same kind: answer `{ident}` by itself")
    if not as_json:
        _list(shown)
    if not yes and sys.stdin.isatty() and not typer.confirm(f"{verb} these {len(shown)}?"):
        return screen.note("nothing was answered")
    ids = [card["id"] for card in shown]

    async def answering(context: "DeskContext", person: "Person") -> list[View]:
        if verb == "deny":
            return await signing.deny_alike(context, person, ids, reason=words or "")
        return await signing.approve_alike(context, person, ids, note=words)

    cards = opening.at_desk(answering)
    if as_json:
        return screen.data(cards)
    for card in cards:
        screen.line(f"{card['id']} {card.get('failed') or card['status']}")
    return opening.note_rest()


def _list(cards: Sequence[View]) -> None:
    from interlock.cli import details, screen

    for card in cards:
        screen.line(f"{card['id']}  {card['risk']}  {details.headline(card)}")
        args = card["args"] if isinstance(card["args"], dict) else {}
        screen.facts([(f"  {name}", details.one_line(value) or '""') for name, value in args.items()])


def _answered(card: View, as_json: bool) -> None:
    from interlock.cli import details, screen

    if as_json:
        return screen.data(card)
    if card["asks_anew"]:
        screen.line(f"with these arguments it is {card['risk']}: {details.headline(card)}")
        whose = "somebody else approves" if card["not_requester"] else "approve"
        return screen.note(
            f"look at it with `interlock approvals {card['id']}`, and {whose} it as it is now with"
            f" `interlock approve {card['id']}:{card['mark']}`"
        )
    missing = f", {card['still_needed']} more must approve" if card["still_needed"] else ""
    screen.line(f"{card['status']}: {details.headline(card)}{missing}")
    if card["hindrance"]:
        screen.note(f"nothing continues yet: {card['hindrance']}")
    elif not card["still_needed"]:
        opening.note_rest()
    if granted := card["grant"]:
        screen.note(f"granted until {granted['expires_at']:%Y-%m-%d %H:%M} UTC: `interlock grants` has {granted['id']}")
    return None


def grants(
    every: Annotated[bool, typer.Option("--all", help="Include revoked and expired ones.")] = False,
    as_json: Json = False,
) -> None:
    """List the grants: what people have allowed for a while."""
    from interlock.cli import screen
    from interlock.desk.signoff import grants as leave

    async def reading(context: "DeskContext", _: "Person") -> tuple[list[View], datetime]:
        return await leave.grants(context, every=every), context.clock.now()

    rows, now = opening.at_desk(reading)
    if as_json:
        return screen.listed(rows, leave.MOST)
    screen.table(
        ("ID", "STATE", "TOOL", "OF", "FOR", ">USED", "ENDS", "BY", "~NOTE"),
        [
            (
                r["id"], screen.state(r["state"]), r["tool"], r["persona"],
                (r["task_id"] or r["scope"]) + (", same targets" if r["narrow"] else "")
                + (", rehearsals" if r["simulated"] else ""),
                r["uses"], screen.ago(r["expires_at"], now), r["given_by"], r["reason"],
            )
            for r in rows
        ],
        empty="no grants: you are asked about every held call",
    )  # fmt: skip
    return screen.cut(rows, leave.MOST)


def revoke(ident: Ident, as_json: Json = False) -> None:
    """Revoke a grant; from the next such call on, people are asked again."""
    from interlock.cli import screen
    from interlock.desk.signoff import grants as leave

    done = opening.at_desk(lambda context, person: leave.revoke(context, person, ident))
    if as_json:
        return screen.data(done)
    return screen.line(f"{done['id']} {'revoked' if done['changed'] else 'was revoked before'}")
