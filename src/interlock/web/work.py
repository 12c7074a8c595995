"""Missions, tasks, approvals, agents and runs over HTTP; each endpoint is one operation of the desk.

A token that is restricted to a project reads and changes only what belongs to it.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import AwareDatetime, Strict

from interlock.core.errors import Refused, UsageError
from interlock.desk.agents import sessions
from interlock.desk.identities.gate import Caller
from interlock.desk.operations import emergency
from interlock.desk.reading import details, listings
from interlock.desk.reading.finding import NoPersona, Unknown
from interlock.desk.reading.views import View
from interlock.desk.signoff import signing
from interlock.desk.work import additions, controls, goals, task_changes
from interlock.desk.workspace_chat import rooms
from interlock.web.dependencies import Here, Services, Who, project_of, require_all, require_question, require_within
from interlock.web.pages import Limit, page
from interlock.web.talk import Body, Ident, Key


class MissionBody(Body):
    """The goal and the settings of a new mission."""

    goal: str
    project: str | None = None
    budget_usd: Annotated[float, Strict()] | None = None
    model: str | None = None
    deadline: AwareDatetime | None = None
    idempotency_key: Key = None
    workflow: str | None = None
    inputs: dict[str, str] | None = None


class ApproveBody(Body):
    """An approval: a note, edited arguments, a grant, or the mark of the card that was shown."""

    note: str | None = None
    args: dict[str, Any] | None = None
    grant: str | None = None
    mark: str | None = None


class DenyBody(Body):
    """A denial, with its reason."""

    reason: str


class TaskBody(Body):
    """A new task of a mission under way."""

    mission: str
    title: str
    description: str = ""
    deliverable: str = ""
    persona: str | None = None
    type: str | None = None
    priority: str = "medium"
    budget_usd: Annotated[float, Strict()] | None = None
    depends_on: tuple[str, ...] = ()
    idempotency_key: Key = None


class CommentBody(Body):
    """A comment in a task's thread."""

    text: str


class TransitionBody(Body):
    """The state that a task is moved to, and the reason."""

    to: str
    reason: str
    idempotency_key: Key = None


class ReasonBody(Body):
    """The reason for an operation; optional."""

    reason: str | None = None


NO_REASON, NO_CHANGES = ReasonBody(), ApproveBody()
"""The defaults of optional bodies."""


def add_to(router: APIRouter) -> None:
    """Adds the paths. Source: interfaces, "HTTP"."""
    for method, path, endpoint, status in (
        ("POST", "/api/missions", start, 201),
        ("GET", "/api/missions", missions, 200),
        ("GET", "/api/missions/{ident}", task, 200),
        ("GET", "/api/tasks", tasks, 200),
        ("POST", "/api/tasks", add, 201),
        ("GET", "/api/tasks/{ident}", task, 200),
        ("GET", "/api/tasks/{ident}/messages", thread, 200),
        ("POST", "/api/tasks/{ident}/messages", comment, 201),
        ("POST", "/api/tasks/{ident}/transition", transition, 200),
        ("GET", "/api/tasks/{ident}/transitions", transitions, 200),
        ("GET", "/api/approvals", approvals, 200),
        ("POST", "/api/approvals/{ident}/approve", approve, 200),
        ("POST", "/api/approvals/{ident}/deny", deny, 200),
        ("GET", "/api/agents", agents, 200),
        ("GET", "/api/agents/{ident}", agent, 200),
        ("POST", "/api/agents/{ident}/pause", pause, 200),
        ("POST", "/api/agents/{ident}/resume", resume, 200),
        ("POST", "/api/agents/{ident}/quarantine", quarantine, 200),
        ("POST", "/api/agents/{ident}/release", release, 200),
        ("POST", "/api/agents/{ident}/restart", restart, 200),
        ("POST", "/api/agents/{ident}/reset", reset, 200),
        ("POST", "/api/squad/{control}", squad, 200),
        ("GET", "/api/runs", runs, 200),
        ("GET", "/api/runs/{ident}", run, 200),
        ("POST", "/api/runs/{ident}/cancel", cancel, 200),
    ):
        router.add_api_route(path, endpoint, methods=[method], status_code=status, response_model=None)


async def start(body: MissionBody, here: Here, who: Who) -> View:
    """Starts a mission; returns its `id`."""
    key = f"http:{who.person.id}:{body.idempotency_key}" if body.idempotency_key else None
    project = await project_of(here, who, body.project)
    mission_id = await goals.submit(
        here.live.runtime, who.person, body.goal, budget_usd=body.budget_usd, project=project,
        model=body.model, deadline=body.deadline, idempotency_key=key, workflow=body.workflow, inputs=body.inputs,
    )  # fmt: skip
    return {"id": mission_id}


async def missions(
    here: Here, who: Who, response: Response, project: str | None = None, limit: Limit = 100
) -> list[View]:  # fmt: skip
    """Lists missions, newest first."""
    wanted = await project_of(here, who, project)
    return page(response, await listings.missions(here.live.runtime, project=wanted, most=limit + 1), limit)


async def tasks(
    here: Here, who: Who, response: Response, status: str | None = None, persona: str | None = None,
    mission: str | None = None, limit: Limit = 200,
) -> list[View]:  # fmt: skip
    """Lists tasks, newest first."""
    found = await listings.tasks(
        here.live.runtime, status=status, mission=mission, persona=persona, project=who.project, most=limit + 1
    )
    personas = here.live.runtime.personas.personas
    if persona is not None and not found and persona not in personas:
        raise NoPersona(persona, personas)
    return page(response, found, limit)


async def add(body: TaskBody, here: Here, who: Who) -> View:
    """Adds a task to a mission under way; its coordinator assigns it."""
    await _task_within(here, who, body.mission)
    given = body.model_dump(exclude={"idempotency_key"})
    return await additions.add(
        here.live.runtime, who.person, additions.Addition(**given, key=body.idempotency_key)
    )  # fmt: skip


async def task(ident: Ident, here: Here, who: Who) -> View:
    """Returns a mission or a task with everything that belongs to it."""
    found = await details.task(here.live.runtime, ident)
    require_within(who, found["project_id"], "task", ident)
    return found


async def thread(
    ident: Ident, here: Here, who: Who, response: Response, after: str | None = None, limit: Limit = 200
) -> list[View]:  # fmt: skip
    """Lists the messages in a task's thread, oldest first: those after the id `after`, else the latest."""
    await _task_within(here, who, ident)
    found = await details.thread(here.live.runtime, ident, after=after, most=limit + 1)
    return page(response, found, limit, newest_last=after is None)


async def comment(ident: Ident, body: CommentBody, here: Here, who: Who) -> View:
    """Adds a comment to a task's thread; returns its `id`."""
    await _task_within(here, who, ident)
    return await task_changes.comment(here.live.runtime, who.person, ident, body.text)


async def transition(ident: Ident, body: TransitionBody, here: Here, who: Who) -> View:
    """Moves a task to another state; 409 if the transition table does not allow it, or it was moved meanwhile."""
    await _task_within(here, who, ident)
    return await task_changes.transition(
        here.live.runtime, who.person, ident, body.to, reason=body.reason, key=body.idempotency_key
    )


async def transitions(
    ident: Ident, here: Here, who: Who, response: Response, after: str | None = None, limit: Limit = 200
) -> list[View]:  # fmt: skip
    """Lists the transitions of a task, oldest first: those after the id `after`, else the latest."""
    await _task_within(here, who, ident)
    found = await details.transitions(here.live.runtime, ident, after=after, most=limit + 1)
    return page(response, found, limit, newest_last=after is None)


async def approvals(
    here: Here, who: Who, response: Response, status: str | None = "pending", mission: str | None = None,
    after: str | None = None, limit: Limit = 200,
) -> list[View]:  # fmt: skip
    """Lists approvals, oldest first: pending ones, or all with `status=all`.

    Of a question that was asked in private, viewers see only that it exists.
    """
    wanted = None if status == "all" else status
    found = await signing.approvals(
        here.live.runtime, status=wanted, mission=mission, project=who.project, after=after, limit=limit + 1,
        reader=who.person,
    )  # fmt: skip
    return page(response, found, limit)


async def approve(ident: Ident, here: Here, who: Who, body: ApproveBody = NO_CHANGES) -> View:
    """Approves a held call, or answers another question."""
    await require_question(here, who, ident)
    return await signing.approve(
        here.live.runtime, who.person, ident, note=body.note, args=body.args, grant=body.grant, mark=body.mark
    )


async def deny(ident: Ident, body: DenyBody, here: Here, who: Who) -> View:
    """Denies a held call, or another question."""
    await require_question(here, who, ident)
    return await signing.deny(here.live.runtime, who.person, ident, reason=body.reason)


async def agents(
    here: Here, who: Who, response: Response, project: str | None = None, limit: Limit = 500
) -> list[View]:  # fmt: skip
    """Lists agents, most recently active first."""
    wanted = await project_of(here, who, project)
    found = await listings.agents(here.live.runtime, project=wanted, reader=who.person, most=limit + 1)
    return page(response, found, limit)


async def agent(ident: Ident, here: Here, who: Who) -> View:
    """Returns an agent."""
    found = await listings.agent(here.live.runtime, ident, project=who.project, reader=who.person)
    if found is None:
        raise Unknown("agent", ident, (), "agents")
    return found


async def pause(ident: Ident, here: Here, who: Who, body: ReasonBody = NO_REASON) -> View:
    """Pauses an agent: its runs stop after their current step, and none are started."""
    require_all(who)
    return await emergency.pause_agent(here.live.runtime, who.person, ident, reason=body.reason)


async def resume(ident: Ident, here: Here, who: Who) -> View:
    """Resumes a paused agent."""
    require_all(who)
    return await emergency.resume_agent(here.live.runtime, who.person, ident)


async def quarantine(ident: Ident, here: Here, who: Who, body: ReasonBody = NO_REASON) -> View:
    """Quarantines an agent: its runs stop, and it gets no work."""
    require_all(who)
    return await emergency.quarantine(here.live.runtime, who.person, ident, reason=body.reason)


async def release(ident: Ident, here: Here, who: Who) -> View:
    """Releases an agent from quarantine."""
    require_all(who)
    return await emergency.release(here.live.runtime, who.person, ident)


async def restart(ident: Ident, here: Here, who: Who, body: ReasonBody = NO_REASON) -> View:
    """Restarts an agent: its runs are interrupted, and continue from their last step."""
    require_all(who)
    return await emergency.restart_agent(here.live.runtime, who.person, ident, reason=body.reason)


async def reset(ident: Ident, here: Here, who: Who) -> View:
    """Resets a conversation: that of an agent id, or the caller's own with a persona."""
    if who.project is not None and not await listings.is_of_project(here.live.runtime, who.project, ident):
        raise Refused(f"`{ident}` is not an agent of project `{who.project}`, to which the token is limited")
    return await sessions.reset(here.live.runtime, who.person, ident, project=who.project)


async def squad(control: Ident, here: Here, who: Who, body: ReasonBody = NO_REASON) -> View:
    """Controls the whole squad: `pause`, `resume`, `drain` or `stop`."""
    require_all(who)
    acts = {"pause": emergency.pause, "resume": emergency.resume, "drain": emergency.drain, "stop": emergency.stop}
    if control not in acts:
        raise UsageError(f"`{control}` is not a control: use one of {', '.join(acts)}")
    return await acts[control](here.live.runtime, who.person, reason=body.reason)


async def runs(
    here: Here, who: Who, response: Response, mission: str | None = None, status: str | None = None, limit: Limit = 200
) -> list[View]:
    """Lists runs, newest first. Of private runs, viewers see the outcome, but not the error."""
    found = await listings.runs(
        here.live.runtime, mission=mission, status=status, project=who.project, reader=who.person, most=limit + 1
    )
    return page(response, found, limit)


async def run(ident: Ident, here: Here, who: Who) -> View:
    """Returns a run in full: steps, messages, tool calls, the layers of its prompt, cost.

    Runs in closed channels are visible to their members only; viewers see no conversations but their own.
    """
    found = await _traced(here, who, ident)
    if not await rooms.sees_run(here.live.runtime, who.person, str(found["id"])):
        raise Unknown("run", ident, (), "runs")
    return found


async def cancel(ident: Ident, here: Here, who: Who) -> View:
    """Cancels a run."""
    found = await _traced(here, who, ident)
    return await controls.cancel(here.live.runtime, who.person, str(found["id"]))


async def _task_within(here: Services, who: Caller, ident: str) -> None:
    require_within(who, await details.project_of_task(here.live.runtime, ident), "task", ident)


async def _traced(here: Services, who: Caller, ident: str) -> View:
    found = await details.trace(here.live.runtime, ident, prompt=True)
    require_within(who, found["project_id"], "run", ident)
    return found
