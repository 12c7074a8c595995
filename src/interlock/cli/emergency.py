"""Emergency controls at the command line; each is one operation of the desk."""

from typing import Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json

Reason = Annotated[str | None, typer.Option("--reason", metavar="T", help="Why; it is recorded and shown.")]
Named = Annotated[str, typer.Argument(metavar="AGENT", help="A persona, or the id of one of its agents.")]


def pause(reason: Reason = None, as_json: Json = False) -> None:
    """Stop each run after its current step, and start no new ones."""
    from interlock.desk.operations import emergency

    _show(
        opening.at_desk(lambda context, person: emergency.pause(context, person, reason=reason), anyhow=True), as_json
    )


def drain(reason: Reason = None, as_json: Json = False) -> None:
    """Let running runs finish, and start no new ones."""
    from interlock.desk.operations import emergency

    _show(
        opening.at_desk(lambda context, person: emergency.drain(context, person, reason=reason), anyhow=True), as_json
    )


def stop(reason: Reason = None, as_json: Json = False) -> None:
    """Interrupt all running runs at once, and start no new ones; `resume` continues them where they were."""
    from interlock.desk.operations import emergency

    _show(opening.at_desk(lambda context, person: emergency.stop(context, person, reason=reason), anyhow=True), as_json)


def resume(as_json: Json = False) -> None:
    """Let the squad work again."""
    from interlock.desk.operations import emergency

    _show(opening.at_desk(emergency.resume), as_json)


def quarantine(agent: Named, reason: Reason = None, as_json: Json = False) -> None:
    """Stop one agent and keep work away from it."""
    from interlock.cli import screen
    from interlock.desk.operations import emergency

    done = opening.at_desk(
        lambda context, person: emergency.quarantine(context, person, agent, reason=reason), anyhow=True
    )  # fmt: skip
    if as_json:
        return screen.data(done)
    if not done["changed"]:
        return screen.line(f"{done['agent']} was quarantined already")
    screen.line(f"{done['agent']} is quarantined{_tasks(done['tasks'], 'blocked')}")
    _show_flight(done, "stopped")
    return screen.note(f"`interlock release {done['agent']}` lets it work again")


def release(agent: Named, as_json: Json = False) -> None:
    """Let a quarantined agent work again."""
    from interlock.cli import screen
    from interlock.desk.operations import emergency

    done = opening.at_desk(lambda context, person: emergency.release(context, person, agent))
    if as_json:
        return screen.data(done)
    if done["changed"]:
        return screen.line(f"{done['agent']} works again{_tasks(done['tasks'], 'back at work')}")
    state = "" if done["state"] == "ACTIVE" else f", it is {done['state'].lower()}"
    return screen.line(f"{done['agent']} was not quarantined{state}")


def _tasks(ids: list[str], what: str) -> str:
    return f", {len(ids)} task{'s' * (len(ids) != 1)} {what}" if ids else ""


_IS = {"running": "works", "draining": "finishes what runs", "paused": "is paused", "stopped": "is stopped"}
_FATE = {"draining": "finishes", "paused": "ends its step", "stopped": "stopped"}


def _show(done: dict[str, Any], as_json: bool) -> None:
    from interlock.cli import screen

    if as_json:
        return screen.data(done)
    mode, already = done["mode"], "" if done["changed"] else " already"
    screen.line(f"the squad {_IS[mode]}{already}")
    if mode == "running":
        return opening.note_rest()
    _show_flight(done, _FATE[mode])
    return screen.note("`interlock resume` lets it go on")


def _show_flight(done: dict[str, Any], fate: str) -> None:
    """Prints what was running, and which effects are uncertain. Source: row I8."""
    from interlock.cli import screen

    screen.flight(done, fate)
    if done.get("uncertain"):
        screen.note("you are asked about each uncertain effect when its run continues")
