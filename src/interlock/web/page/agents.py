"""Agents on the page, one row for each member of a squad, and the controls of one of them."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from interlock.core.errors import UsageError
from interlock.desk.chats import replies
from interlock.desk.operations import emergency
from interlock.desk.reading import listings
from interlock.desk.reading.views import View
from interlock.web.dependencies import require_all
from interlock.web.page.visits import SURFACE, Visit, whole

CONTROLS = ("pause", "resume", "quarantine", "release", "restart")


async def listed(visit: Visit) -> Response:
    """The members of the squad, those that are held back first."""
    found = await listings.agents(visit.runtime, project=visit.who.project, reader=visit.person)
    return await whole(visit, "agents", members=_members(found), may_act=_may_act(visit))


def _may_act(visit: Visit) -> bool:
    return visit.person.is_operator and visit.who.project is None


def _members(agents: Sequence[View]) -> list[View]:
    """{id, persona, project_id, trust, state, reason, working, agents, last_active_at}; `id` is that of one agent."""
    found: dict[tuple[Any, Any], View] = {}
    for each in agents:
        key = each["project_id"], each["persona"]
        member = found.setdefault(
            key,
            {
                "id": each["id"], "persona": each["persona"], "project_id": each["project_id"], "trust": each["trust"],
                "state": each["state"], "reason": each["state_reason"], "working": 0, "agents": 0,
                "last_active_at": each["last_active_at"],
            },
        )  # fmt: skip
        member["agents"] += 1
        member["working"] += each["runtime_status"] == "running"
    return sorted(found.values(), key=lambda each: (each["state"] == "ACTIVE", each["persona"], each["project_id"]))


async def controlled(visit: Visit) -> Response:
    """Pauses, resumes, quarantines, releases or restarts a member, named by one of its agents or its persona."""
    require_all(visit.who)
    agent, control = (str(visit.request.path_params[name]) for name in ("ident", "control"))
    if control not in CONTROLS:
        raise UsageError(f"`{control[:20]}` is not a control of an agent: use one of {', '.join(CONTROLS)}")
    reason = (await visit.fields()).get("reason")
    context, person = visit.runtime, visit.person
    if control == "pause":
        done = await emergency.pause_agent(context, person, agent, reason=reason)
    elif control == "resume":
        done = await emergency.resume_agent(context, person, agent)
    elif control == "quarantine":
        done = await emergency.quarantine(context, person, agent, reason=reason)
    elif control == "release":
        done = await emergency.release(context, person, agent)
    else:
        done = await emergency.restart_agent(context, person, agent, reason=reason, everywhere=True)
    return await whole(visit, "done", card=replies.member_card(SURFACE, done), back="/agents")
