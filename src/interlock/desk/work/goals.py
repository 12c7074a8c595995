"""Starting missions: validates a goal and its options before launch."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from interlock.agents.persona import COORDINATOR
from interlock.agents.runtime import Runtime
from interlock.core.errors import UsageError
from interlock.core.ids import new_id
from interlock.core.values import microusd, usd
from interlock.desk.chats.requests import Place
from interlock.desk.context import Person, require_operator
from interlock.desk.work import workflows
from interlock.graph.applying import POLICY
from interlock.graph.launch import Launch, launch
from interlock.llm.messages import ModelRef
from interlock.policy.checks import MISSION, MOST
from interlock.policy.checks import read as read_checks
from interlock.store.messages.conversations import Origin

MOST_CHARS = 20_000
MOST_BUDGET_USD = 100_000.0
LEAST_BUDGET_MICROUSD = 1_000
FARTHEST = timedelta(days=36_500)
"""The latest possible deadline, so that it is a valid date in every time zone."""


async def submit(
    runtime: Runtime,
    person: Person,
    goal: str,
    *,
    budget_usd: float | None = None,
    project: str | None = None,
    model: str | None = None,
    deadline: datetime | None = None,
    idempotency_key: str | None = None,
    place: Place | None = None,
    checks: Sequence[Mapping[str, Any]] = (),
    workflow: str | None = None,
    inputs: Mapping[str, str] | None = None,
) -> str:
    """Starts a mission and returns its id; the same idempotency key in a project gives the first one. Source: row A1.

    `place` is where in a chat the goal was given; the mission's thread goes there. The offline model is stored with the
    mission, so that no later process uses a real one. `checks` are acceptance checks of the deliverable. A `workflow`,
    given or named in the goal, replaces the plan, with its `inputs`. Source: row A14.

    Raises UsageError for an invalid goal, check, budget, model, deadline or workflow; Refused for a viewer.
    """
    require_operator(person, "start missions")
    plan = await prepare(
        runtime, person.id, goal, budget_usd=budget_usd, project=project, model=model, deadline=deadline,
        idempotency_key=idempotency_key or new_id("key"), place=place, checks=checks, workflow=workflow, inputs=inputs,
    )  # fmt: skip
    return await runtime.store.write(launch, plan, runtime.clock.now())


async def prepare(
    runtime: Runtime,
    requested_by: str,
    goal: str,
    *,
    idempotency_key: str,
    budget_usd: float | None = None,
    project: str | None = None,
    model: str | None = None,
    deadline: datetime | None = None,
    place: Place | None = None,
    checks: Sequence[Mapping[str, Any]] = (),
    workflow: str | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Launch:
    """Prepares the launch of a mission for a person who has been authorised.

    Raises UsageError as `submit` does.
    """
    now = runtime.clock.now()
    wanted = runtime.settings.mission_usd(project or runtime.settings.project) if budget_usd is None else budget_usd
    text, limit = goal_of(goal), budget_of(wanted)
    ends_at = None if deadline is None else _deadline(deadline, now)
    coordinator = runtime.personas.personas.get(COORDINATOR)
    if coordinator is None:
        raise UsageError(f"the persona `{COORDINATOR}` did not load: see `interlock persona check`")
    ref = model_for(runtime, model)
    simulated = (await runtime.models.get(ref)).simulated
    return Launch(
        project_id=project or runtime.settings.project,
        goal=text,
        requested_by=requested_by,
        coordinator=coordinator,
        budget_microusd=limit,
        idempotency_key=idempotency_key,
        timezone=runtime.settings.timezone,
        model=str(ref) if model or simulated else None,
        simulated=simulated,
        deadline_at=ends_at,
        origin=None if place is None else Origin(place.surface, place.channel, place.thread),
        checks=checks_of(runtime, requested_by, checks),
        workflow=await workflows.workflow_for(runtime, text, workflow, inputs or {}, limit),
    )


def _deadline(given: datetime, now: datetime) -> datetime:
    if given.tzinfo is None:
        raise UsageError(f"the deadline {given.isoformat(' ', 'minutes')} has no time zone: give it one")
    if given <= now:
        raise UsageError(f"the deadline {given.isoformat(' ', 'minutes')} is past: give a later one")
    if given - now > FARTHEST:
        raise UsageError(f"the deadline {given.isoformat(' ', 'minutes')} is too far off: give one within 100 years")
    return given.astimezone(UTC)


def checks_of(runtime: Runtime, person_id: str, given: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The acceptance checks of a mission's deliverable: the policy's, then those of the person who starts it.

    Raises UsageError for an invalid check.
    """
    own = read_checks([dict(each) for each in given]) if given else []
    if any(check["kind"] == "verdict" for check in own):
        raise UsageError("nobody reviews a mission's own deliverable: ask for a `verdict` of single tasks")
    demanded = [{**check, "by": POLICY.id} for check in runtime.policy.checks.get(MISSION, ())]
    if len(own) + len(demanded) > MOST:
        raise UsageError(f"{len(own) + len(demanded)} checks with those of the policy: {MOST} are the most")
    return (*demanded, *({**check, "by": person_id} for check in own))


def model_for(runtime: Runtime, named: str | None) -> ModelRef:
    """The model that a person named, or the one in the settings.

    Raises UsageError if there is none, or no key for it.
    """
    return runtime.models.resolve(named or runtime.settings.model)


def goal_of(goal: str) -> str:
    """The goal's text, in the form in which it is stored.

    Raises UsageError if it is empty, too long, or contains NUL characters.
    """
    text = goal.strip()
    if not text:
        raise UsageError('the goal is empty: write what is to be reached, such as "Compare the three vendors"')
    if len(text) > MOST_CHARS:
        raise UsageError(
            f"the goal has {len(text):,} characters: {MOST_CHARS:,} are the most, put the rest into a file"
        )
    if "\x00" in text:
        raise UsageError("the goal has NUL characters in it: leave them out")
    return text


def budget_of(amount_usd: float) -> int:
    """A mission's budget in micro-dollars.

    Raises UsageError if it is too small or too large.
    """
    if not 0 < amount_usd <= MOST_BUDGET_USD:
        raise UsageError(f"`{amount_usd:g}` is not a budget: give dollars from 0.001 to {MOST_BUDGET_USD:,.0f}")
    amount = microusd(amount_usd)
    if amount < LEAST_BUDGET_MICROUSD:
        raise UsageError(f"a budget of {usd(amount)} buys nothing: give {usd(LEAST_BUDGET_MICROUSD)} at least")
    return amount
