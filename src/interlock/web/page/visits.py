"""One request of a signed-in person, and the frame of every page: its menu, the squad's mode, who is signed in."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from interlock.desk.context import DeskContext, Person
from interlock.desk.identities.gate import Caller
from interlock.desk.reading import listings
from interlock.desk.reading.views import View
from interlock.web.dependencies import Services
from interlock.web.page.rendering import html
from interlock.web.page.session import form

SURFACE = "web"
"""How the page is called in records."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request, and who sent it."""

    here: Services
    who: Caller
    request: Request

    @property
    def runtime(self) -> DeskContext:
        """What the desk's operations take."""
        return self.here.live.runtime

    @property
    def person(self) -> Person:
        """The person who is signed in."""
        return self.who.person

    async def fields(self) -> dict[str, str]:
        """The fields of the form that was sent.

        Raises BadBody, UsageError.
        """
        return await form(self.request)


Handler = Callable[[Visit], Awaitable[Response]]


async def whole(visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
    """A page with its frame, rendered beside the event loop: what agents wrote may be long."""
    counted = await listings.status(visit.runtime)
    sees_all = visit.who.project is None
    frame: View = {
        "person": visit.person,
        "project": visit.who.project,
        "path": visit.request.url.path,
        "squad": counted["squad"],
        "may_control": visit.person.is_operator and sees_all,
        "waiting": counted["approvals_pending"] if sees_all else None,
        "alerts": counted["alerts_open"] if sees_all else None,
    }
    return await asyncio.to_thread(html, template, status, frame=frame, **values)
