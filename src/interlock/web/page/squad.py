"""The squad on the page: how things stand, and the emergency controls."""

from datetime import UTC, datetime

from starlette.responses import Response

from interlock.core.clock import moment_of
from interlock.core.errors import UsageError
from interlock.desk.chats import replies
from interlock.desk.operations import emergency
from interlock.desk.reading import listings
from interlock.web.dependencies import require_all
from interlock.web.page.visits import SURFACE, Visit, whole

CONTROLS = ("pause", "drain", "stop", "resume")


async def shown(visit: Visit) -> Response:
    """How things stand."""
    require_all(visit.who)
    now, missions = await listings.status(visit.runtime), await listings.missions(visit.runtime, most=10)
    return await whole(visit, "squad", card=replies.status_card(now, missions))


async def controlled(visit: Visit) -> Response:
    """Pauses, drains, stops or resumes the squad; the page then says what was in flight, and what is uncertain."""
    require_all(visit.who)
    control = str(visit.request.path_params["control"])
    if control not in CONTROLS:
        raise UsageError(f"`{control[:20]}` is not a control: use one of {', '.join(CONTROLS)}")
    fields = await visit.fields()
    context, person, reason = visit.runtime, visit.person, fields.get("reason")
    if control == "pause":
        done = await emergency.pause(context, person, reason=reason)
    elif control == "drain":
        done = await emergency.drain(context, person, reason=reason)
    elif control == "stop":
        done = await emergency.stop(context, person, reason=reason)
    else:
        done = await emergency.resume(context, person, reason=reason, said_at=_seen(fields.get("seen")))
    return await whole(visit, "done", card=replies.mode_card(SURFACE, done), back="/squad")


def _seen(text: str | None) -> datetime | None:
    """Since when the mode that the page showed was in force: what was stopped after that stays stopped."""
    if not text:
        return None
    try:
        return moment_of(text, UTC)
    except ValueError as error:
        raise UsageError("the form cannot be read: open the page anew, and send it there") from error
