"""Emergency controls: pausing, draining, stopping and resuming the squad, and quarantining an agent.

Workers obey them by themselves; the modes are defined in `store.mailboxes.controls` and `store.mailboxes.quarantines`.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec

from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.core.ids import new_id
from interlock.desk.agents.personas import persona_named
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.operations import executing
from interlock.desk.reading.finding import as_id, find
from interlock.desk.reading.views import View
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import controls, leases, quarantines
from interlock.store.mailboxes.controls import Mode, Standing
from interlock.store.messages import feed
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import missions

P = ParamSpec("P")
TRIES = 5
CLOCKS = timedelta(seconds=5)
"""By so much a chat's clock may differ from ours, and a second that it leaves out."""
MOST_WORDS = 500
QUARANTINE = "QUARANTINE"
"""The kind of the alerts about members that are set apart, and let go on."""
_DID = {
    Mode.RUNNING: "let the squad go on",
    Mode.DRAINING: "lets the squad finish what runs; nothing new starts",
    Mode.PAUSED: "paused the squad: each run stops after its current step",
    Mode.STOPPED: "stopped the squad: calls are aborted at once",
}


async def pause(context: DeskContext, person: Person, *, reason: str | None = None) -> View:
    """Stops each run after its current step and starts nothing: {mode, before, changed, runs}.

    `runs` are the executing ones. A stricter mode stays in force, and `changed` is false. Source: row I2.

    Raises Refused for a viewer.
    """
    return await _set(context, person, Mode.PAUSED, reason)


async def drain(context: DeskContext, person: Person, *, reason: str | None = None) -> View:
    """Lets active runs finish and starts nothing; returns as `pause`."""
    return await _set(context, person, Mode.DRAINING, reason)


async def stop(
    context: DeskContext, person: Person, *, reason: str | None = None, wait_s: float = executing.PROOF_S
) -> View:  # fmt: skip
    """Aborts every call at once and starts nothing; waits up to `wait_s` for the workers to comply.

    Returns as `pause`, with `still_running` (ids of runs whose workers have not responded yet), and `uncertain`: calls
    that had started and whose outcome is unknown; a person is asked when their runs resume. Source: row I8.

    Raises Refused for a viewer.
    """
    view = await _set(context, person, Mode.STOPPED, reason)
    return {**view, **await executing.stop_report(context, view["runs"], wait_s)}


async def resume(
    context: DeskContext,
    person: Person,
    *,
    reason: str | None = None,
    said_at: datetime | None = None,
    wait_s: float = executing.PROOF_S,
) -> View:
    """Resumes the squad, each run from where it was; returns as `pause`. A stop in progress is completed first: a run
    whose worker has not complied after `wait_s` is still cut off once its worker responds.

    INVARIANT: what was stopped after the command was given stays stopped. `said_at` is that time, if not now.

    Raises Refused for a viewer, Conflict if the squad was stopped since.
    """
    require_operator(person, "let the squad go on")
    seen = await context.store.read(controls.standing)
    if seen.mode is Mode.STOPPED:
        await executing.stop_report(context, await context.store.read(executing.at_work), wait_s)
    words, now = _words(reason), context.clock.now()
    return await context.store.write(_resume, person, words, context.settings.project, now, seen.version, said_at)


async def quarantine(
    context: DeskContext, person: Person, agent: str, *, reason: str | None = None, wait_s: float = executing.PROOF_S
) -> View:  # fmt: skip
    """Quarantines a member, named by its persona or one of its agents: its calls are aborted, its open tasks BLOCKED,
    its queued runs wait, and it gets no new work.

    {agent, member_id, state, changed, runs, tasks, still_running, uncertain}; `changed` is false if it was before.

    Raises NotFound, Refused for a viewer.
    """
    require_operator(person, "quarantine agents")
    now = context.clock.now()
    patience = now + timedelta(seconds=context.settings.times.blocked_escalation_s)
    newcomer = None
    if await context.store.read(_member, context.settings.project, agent) is None:
        found = await asyncio.to_thread(persona_named, context, agent)
        newcomer = found.name, found.trust
        await context.store.write(squad.ensure_project, context.settings.project, context.settings.timezone, now)
    args = (context.settings.project, agent, newcomer, _words(reason), new_id("qua"), patience, now)
    view = await _tried(context, _quarantine, person, *args)
    return {**view, **await executing.stop_report(context, view["runs"], wait_s)}


async def release(context: DeskContext, person: Person, agent: str, *, said_at: datetime | None = None) -> View:
    """Releases a quarantined member; the tasks that the quarantine blocked return to their previous states.

    {agent, member_id, state, changed, tasks}; `changed` is false if it was not in quarantine. `said_at` is as for
    `resume`.

    Raises NotFound, Refused for a viewer, Conflict if it was quarantined since.
    """
    require_operator(person, "release agents")
    args = (context.settings.project, agent, new_id("rel"), context.clock.now(), said_at)
    return await _tried(context, _release, person, *args)


async def pause_agent(context: DeskContext, person: Person, agent: str, *, reason: str | None = None) -> View:
    """Pauses one persona's member: its runs stop after their current step, its mailboxes are shut, nothing is blocked.

    {agent, member_id, state, changed, runs}; `changed` is false where a person has paused it or it is in quarantine
    already. One that waits for money is paused for good, too, and does not go on with the new day.

    Raises NotFound, Refused for a viewer.
    """
    require_operator(person, "pause agents")
    return await _tried(
        context, _pause_agent, person, context.settings.project, agent, _words(reason), context.clock.now()
    )


async def resume_agent(context: DeskContext, person: Person, agent: str) -> View:
    """Lets a paused member work again; as `pause_agent`. One that has used up its day's money waits for money.

    Raises NotFound, Refused for a viewer, and for a pause that is not a person's.
    """
    require_operator(person, "resume agents")
    return await _tried(context, _resume_agent, person, context.settings.project, agent, context.clock.now())


async def restart_agent(
    context: DeskContext, person: Person, agent: str, *, reason: str | None = None, everywhere: bool = False
) -> View:
    """Has what an agent is doing cut off; its runs go on from their last step, at their places, with who claims them.

    Of a persona, what all its agents are doing; of an agent, that too if it is to be `everywhere`. As `pause_agent`,
    but a pause or a quarantine stays as it is; about a call whose outcome is unknown then, a person is asked.

    Raises NotFound, Refused for a viewer.
    """
    require_operator(person, "restart agents")
    project, now = context.settings.project, context.clock.now()
    return await context.store.write(_restart_agent, person, project, agent, everywhere, _words(reason), now)


def squad_view(tx: Tx) -> View:
    """The squad's mode, for listings: {mode, since, by, reason}."""
    found = controls.standing(tx)
    return {"mode": str(found.mode), "since": found.set_at, "by": _name(tx, found.set_by), "reason": found.reason}


def hindrance(tx: Tx) -> str | None:
    """Why nothing new starts, in words; None if the squad is running."""
    found = controls.standing(tx)
    if found.mode is Mode.RUNNING:
        return None
    by, why = _name(tx, found.set_by) or "somebody", f" ({found.reason})" if found.reason else ""
    when = f" at {found.set_at:%Y-%m-%d %H:%M} UTC" if found.set_at else ""
    return f"the squad was {_held(found.mode)} by {by}{when}{why}: `interlock resume` lets it go on"


async def _set(context: DeskContext, person: Person, wanted: Mode, reason: str | None) -> View:
    require_operator(person, "control the squad")
    return await context.store.write(
        _change, person, wanted, _words(reason), context.settings.project, context.clock.now()
    )


def _resume(
    tx: Tx, person: Person, reason: str | None, project_id: str, now: datetime, seen: int, said_at: datetime | None
) -> View:
    found = controls.held(tx)
    is_old = said_at is not None and found.set_at is not None and found.set_at > said_at + CLOCKS
    if found.mode is not Mode.RUNNING and (found.version != seen or is_old):
        raise Overtaken("resume", f"the squad was {_held(found.mode)} by {_name(tx, found.set_by) or 'somebody'}")
    if found.mode is Mode.STOPPED:
        for run in leases.at_work(tx):
            leases.ask_back(tx, run.id, at_once=True)
    return _change(tx, person, Mode.RUNNING, reason, project_id, now)


class Overtaken(Conflict):
    """What was to be let go was stopped after somebody had said so."""

    def __init__(self, word: str, what: str) -> None:
        super().__init__(f"{what} since you said `{word}`: look how things are, and say it again")


def _held(mode: Mode) -> str:
    return "told to drain" if mode is Mode.DRAINING else str(mode)


def _change(tx: Tx, person: Person, wanted: Mode, reason: str | None, project_id: str, now: datetime) -> View:
    before = controls.set_mode(tx, wanted, person.id, reason, now)
    after = controls.standing(tx)
    changed = after.mode is not before.mode
    if changed:
        _tell(tx, person, before, after, project_id, now)
    return {"mode": str(after.mode), "before": str(before.mode), "changed": changed, "runs": executing.at_work(tx)}


def _tell(tx: Tx, person: Person, before: Standing, after: Standing, project_id: str, now: datetime) -> None:
    audit.note(
        tx, "CONTROL_CHANGED", person.actor, now, project_id=project_id, subject=controls.SQUAD, mode=str(after.mode),
        before=str(before.mode), reason=after.reason, surface=person.surface, name=person.name,
    )  # fmt: skip
    audit.settle(tx, "CONTROL", controls.SQUAD, now, person.id)
    why = f" ({after.reason})" if after.reason else ""
    is_free = after.mode is Mode.RUNNING
    how = "" if is_free else "; `interlock resume` lets it go on"
    audit.alert(
        tx, now, project_id=project_id, severity="info" if is_free else "critical", kind="CONTROL",
        text=f"{person.name} {_DID[after.mode]}{why}{how}", key=f"control:{after.version}", subject=controls.SQUAD,
    )  # fmt: skip


async def _tried(
    context: DeskContext, unit: Callable[Concatenate[Tx, P], View], *args: P.args, **kwargs: P.kwargs
) -> View:  # fmt: skip
    """Runs a unit; retries if a run changed a task concurrently."""
    for _ in range(TRIES - 1):
        try:
            return await context.store.write(unit, *args, **kwargs)
        except Conflict:
            continue
    return await context.store.write(unit, *args, **kwargs)


def _quarantine(
    tx: Tx,
    person: Person,
    project_id: str,
    agent: str,
    newcomer: tuple[str, str] | None,
    why: str | None,
    stamp: str,
    escalate_at: datetime,
    now: datetime,
) -> View:
    member = squad.ensure_member(tx, project_id, *newcomer, now) if newcomer else _known(tx, project_id, agent)
    reason = f"{member.persona} was quarantined by {person.name}" + (f": {why}" if why else "")
    done = quarantines.quarantine(tx, member, person.actor, reason, stamp, escalate_at, now)
    view = {
        "agent": member.persona, "member_id": member.id, "state": quarantines.QUARANTINED, "changed": done is not None,
        "runs": executing.run_views(tx, list(done.runs)) if done else [], "tasks": list(done.tasks) if done else [],
    }  # fmt: skip
    if done is not None:
        _tell_of(tx, person, member, "QUARANTINED", why, view["tasks"], now)
        audit.alert(
            tx, now, project_id=member.project_id, severity="critical", kind=QUARANTINE, subject=member.persona,
            text=f"{reason}; `interlock release {member.persona}` lets it work again", key=f"quarantine:{member.id}",
        )  # fmt: skip
    return view


def _release(
    tx: Tx, person: Person, project_id: str, agent: str, stamp: str, now: datetime, said_at: datetime | None
) -> View:
    member = _known(tx, project_id, agent)
    if said_at is not None and audit.raised_about(tx, QUARANTINE, member.persona, said_at + CLOCKS):
        raise Overtaken("release", f"{member.persona} was quarantined")
    back = quarantines.release(tx, member, person.actor, f"{member.persona} was released by {person.name}", stamp, now)
    if back is not None:
        audit.settle_one(tx, f"quarantine:{member.id}", now, person.id)
        _tell_of(tx, person, member, "RELEASED", None, back, now)
        audit.alert(
            tx, now, project_id=member.project_id, severity="info", kind=QUARANTINE, subject=member.persona,
            text=f"{person.name} released {member.persona}: it works again", key=f"release:{stamp}",
        )  # fmt: skip
    row: Any = squad.member(tx, member.id)
    return {
        "agent": member.persona, "member_id": member.id, "state": row.state, "changed": back is not None,
        "tasks": back or [],
    }  # fmt: skip


def _pause_agent(tx: Tx, person: Person, project_id: str, agent: str, why: str | None, now: datetime) -> View:
    member = _known(tx, project_id, agent)
    squad.lock_member(tx, member.id)
    reason = f"{person.name} paused it" + (f": {why}" if why else "")
    waits_for_money = squad.budget_pause(squad.member(tx, member.id)) is not None
    changed = squad.set_state(tx, member.id, "PAUSED", reason, seen="PAUSED" if waits_for_money else "ACTIVE")
    runs = leases.at_work(tx, member_id=member.id) if changed else []
    for run in runs:
        leases.ask_back(tx, run.id, at_once=False)
    return _after(tx, person, member, "PAUSED", why, runs, changed, now)


def _resume_agent(tx: Tx, person: Person, project_id: str, agent: str, now: datetime) -> View:
    member = _known(tx, project_id, agent)
    squad.lock_member(tx, member.id)
    row: Any = squad.member(tx, member.id)
    if row.state == quarantines.QUARANTINED:
        raise Refused(f"{row.persona} is in quarantine: `interlock release {row.persona}` ends that")
    if squad.budget_pause(row) is not None:
        raise Refused(f"{row.persona} has used up its day's money: `interlock budget raise {row.persona} USD`")
    changed = squad.set_state(tx, member.id, "ACTIVE", None, seen="PAUSED")
    for mission_id in missions.without_agent(tx, member.project_id) if changed else ():
        missions.notify(tx, mission_id, "tick", {}, now)
    return _after(tx, person, member, "RESUMED", None, [], changed, now)


def _restart_agent(
    tx: Tx, person: Person, project_id: str, agent: str, everywhere: bool, why: str | None, now: datetime
) -> View:
    member = _known(tx, project_id, agent)
    one = None if everywhere or as_id(agent) == member.persona else find(tx, "agent", agent)
    runs = [run for run in leases.at_work(tx, member_id=member.id) if one in (None, run.agent_id)]
    for run in runs:
        leases.ask_back(tx, run.id, at_once=True)
    return _after(tx, person, member, "RESTARTED", why, runs, bool(runs), now)


def _after(
    tx: Tx, person: Person, member: Any, action: str, why: str | None, runs: Sequence[Any], changed: bool, now: datetime
) -> View:
    """What a member is after it was paused or resumed; put on record if anything changed."""
    row: Any = squad.member(tx, member.id)
    if changed:
        _tell_of(tx, person, member, action, why, [], now)
        payload = {"member": row.id, "persona": row.persona, "state": row.state, "reason": row.state_reason}
        feed.append(tx, "control_changed", now, project_id=row.project_id, payload=payload)
    return {
        "agent": row.persona, "member_id": row.id, "state": row.state, "changed": changed,
        "runs": executing.run_views(tx, runs),
    }  # fmt: skip


def _tell_of(
    tx: Tx, person: Person, member: Any, action: str, reason: str | None, tasks: list[str], now: datetime
) -> None:
    audit.note(
        tx, f"AGENT_{action}", person.actor, now, project_id=member.project_id, subject=member.id,
        persona=member.persona, reason=reason, tasks=tasks, surface=person.surface, name=person.name,
    )  # fmt: skip


def _known(tx: Tx, project_id: str, agent: str) -> Any:
    member = _member(tx, project_id, agent)
    if member is None:
        message = f"no agent `{agent}`: give a persona or an id, as `interlock agents` lists them"
        raise NotFound("agent", agent, message=message)
    return member


def _member(tx: Tx, project_id: str, agent: str) -> Any | None:
    """The member with a persona, or with the agent with an id; None if there is none yet."""
    name = as_id(agent)
    if (found := squad.member_of(tx, project_id, name)) is not None:
        return found
    try:
        row = squad.agent(tx, find(tx, "agent", name))
    except NotFound:
        return None
    return squad.member(tx, row.member_id) if row is not None else None


def _words(reason: str | None) -> str | None:
    words = " ".join((reason or "").split())
    if len(words) > MOST_WORDS:
        raise UsageError(f"the reason has {len(words):,} characters: {MOST_WORDS} are the most")
    return words or None


def _name(tx: Tx, person_id: str | None) -> str | None:
    return approvals.name_of(tx, person_id)
