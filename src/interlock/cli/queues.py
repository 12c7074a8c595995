"""`queue`, `runs` and `requeue`: listing and clearing mailboxes, listing runs, retrying dead letters."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Ident, InMission, Json

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person

Named = Annotated[str, typer.Argument(metavar="AGENT", help="A persona, or the id of one of its agents.")]
What = Annotated[str | None, typer.Argument(metavar="[clear]", help="`clear` rejects what is pending.")]
Reason = Annotated[
    str | None, typer.Option("--reason", metavar="T", help="With `clear`: why, for those who wait for an answer.")
]


def queue(agent: Named, what: What = None, reason: Reason = None, as_json: Json = False) -> None:
    """Show what is in an agent's mailboxes, in order, and what each run waits for; `clear` rejects what is pending."""
    from interlock.core.errors import UsageError

    if what not in (None, "clear"):
        raise UsageError(f"`{what}` is not an action on queues: leave it out, or write `clear`")
    if what is None:
        if reason is not None:
            raise UsageError(f"`--reason` goes with `clear`: interlock queue {agent} clear --reason T")
        return _show(agent, as_json)
    return _clear(agent, reason, as_json)


def _show(agent: str, as_json: bool) -> None:
    from interlock.cli import screen
    from interlock.desk.operations import queues as desk

    async def reading(context: "DeskContext", _: "Person") -> tuple[dict[str, Any], datetime]:
        return await desk.queue(context, agent), context.clock.now()

    found, now = opening.at_desk(reading)
    if len(found["lanes"]) >= desk.MOST_LANES:
        screen.note(f"these are the first {desk.MOST_LANES} mailboxes: there may be more")
    if as_json:
        return screen.data(found)
    rows = [
        (
            lane["agent_id"], r["id"], screen.state(r["status"]), r["purpose"] or r["kind"],
            " ".join(filter(None, (r["cause_kind"], r["cause_id"]))), screen.ago(r["created_at"], now), r["because"],
        )
        for lane in found["lanes"]
        for r in lane["runs"]
    ]  # fmt: skip
    empty = f"nothing waits for {found['persona']}"
    screen.table(("AGENT", "RUN", "STATE", "KIND", "WOKEN BY", "POSTED", "~BECAUSE"), rows, empty=empty)
    more = sum(lane["running"] + lane["pending"] + lane["waiting"] - len(lane["runs"]) for lane in found["lanes"])
    if more:
        screen.note(f"and {more:,} more")
    return None


def _clear(agent: str, reason: str | None, as_json: bool) -> None:
    from interlock.cli import screen
    from interlock.desk.operations import queues as desk

    done = opening.at_desk(lambda context, person: desk.clear(context, person, agent, reason=reason))
    if as_json:
        return screen.data(done)
    count = len(done["runs"])
    screen.line(f"{count} pending run{'s' * (count != 1)} of {done['persona']} rejected")
    if done["left"]:
        screen.note(f"{done['left']} steps of coordinators stay: `interlock cancel MISSION` ends what they are for")
    return None


def runs(
    status: Annotated[
        str | None, typer.Option("--status", metavar="S", help="Only in this state; `dead_letter` for dead letters.")
    ] = None,
    mission: InMission = None,
    as_json: Json = False,
) -> None:
    """List runs, newest first; a run is one message claimed from a mailbox."""
    from interlock.cli import screen
    from interlock.desk.reading import listings

    async def reading(context: "DeskContext", _: "Person") -> tuple[list[dict[str, Any]], datetime]:
        return await listings.runs(context, mission=mission, status=status), context.clock.now()

    rows, now = opening.at_desk(reading)
    if as_json:
        return screen.listed(rows, listings.MOST_RUNS)
    screen.table(
        ("ID", "STATE", "KIND", "WHO", ">STEPS", ">COST", "MODEL", "POSTED", "~ENDED"),
        [
            (
                r["id"], screen.state(r["status"]), r["purpose"] or r["kind"], r["persona"] or "–", r["step_count"],
                screen.dollars(r["cost_usd"]), r["model"] or "–", screen.ago(r["created_at"], now),
                r["error"] or r["stop_reason"] or "",
            )
            for r in rows
        ],
        empty="no runs in this state" if status else "no runs yet",
    )  # fmt: skip
    if dead := [r["id"] for r in rows if r["stop_reason"] == listings.DEAD]:
        screen.note(f"a dead letter is tried again with `interlock runs requeue {dead[0]}`")
    screen.cut(rows, listings.MOST_RUNS)
    return None


def requeue(ident: Ident, as_json: Json = False) -> None:
    """Retry a dead letter, at its place in its mailbox."""
    from interlock.cli import screen
    from interlock.desk.operations import queues as desk

    done = opening.at_desk(lambda context, person: desk.requeue(context, person, ident))
    if as_json:
        return screen.data(done)
    return screen.line(f"run {done['id']} is back at its place in the mailbox of {done['agent_id']}")
