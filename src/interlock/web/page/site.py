"""The paths of the web page: signs people in, and carries their requests to the handlers in the modules beside it."""

import logging
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from interlock.core.errors import InterlockError
from interlock.core.ids import new_id
from interlock.desk.context import is_outage, outage_message
from interlock.desk.events.readers import Interest
from interlock.web.dependencies import Services
from interlock.web.events import following
from interlock.web.page import agents, alerts, queue, session, squad
from interlock.web.page.rendering import SECURE, html, static
from interlock.web.page.session import SignedOut
from interlock.web.page.visits import Handler, Visit, whole
from interlock.web.problems import status_of

_log = logging.getLogger(__name__)
SEE_OTHER = 303
SENT_TO = (
    "/approvals/{ident}/{verb}",
    "/squad/{control}",
    "/agents/{ident}/{control}",
    "/alerts/{ident}/ack",
    "/sign-out",
)
"""Where forms are sent to. Their answers stand at these addresses, which a person may open again."""


class Site:
    """The web page of one process. `here.gate` names its surface `web`. Source: rows C5, I2, I3."""

    def __init__(self, here: Services) -> None:
        self._here = here

    def routes(self) -> list[BaseRoute]:
        """Its paths; all but signing in and the static files are for people who have signed in."""
        table: tuple[tuple[str, str, Handler], ...] = (
            ("GET", "/", _home),
            ("GET", "/live", _live),
            ("GET", "/approvals", queue.listed),
            ("GET", "/approvals/{ident}", queue.shown),
            ("POST", "/approvals/{ident}/{verb}", queue.answered),
            ("GET", "/squad", squad.shown),
            ("POST", "/squad/{control}", squad.controlled),
            ("GET", "/agents", agents.listed),
            ("POST", "/agents/{ident}/{control}", agents.controlled),
            ("GET", "/alerts", alerts.listed),
            ("POST", "/alerts/{ident}/ack", alerts.acknowledged),
            *(("GET", path, _back) for path in SENT_TO),
        )
        ours: list[BaseRoute] = [Route(p, self._for_people(handle), methods=[method]) for method, p, handle in table]
        public: tuple[tuple[str, str, Callable[[Request], Awaitable[Response]]], ...] = (
            ("GET", "/sign-in", self._door), ("POST", "/sign-in", self._sign_in), ("POST", "/sign-out", self._sign_out),
            ("GET", "/static/{name}", _static),
        )  # fmt: skip
        return [*(Route(p, _answering(handle), methods=[method]) for method, p, handle in public), *ours]

    def _for_people(self, handle: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            if request.method == "POST":
                session.require_own(request)
            who = await session.caller(request, self._here)
            visit = Visit(self._here, who, request)
            try:
                return await handle(visit)
            except SignedOut:
                raise
            except InterlockError as error:
                if is_outage(error):
                    raise
                return await whole(visit, "fault", status_of(error), text=str(error))

        return _answering(respond)

    async def _door(self, request: Request) -> Response:
        return html("sign_in", next=session.within(request.query_params.get("next", "/")), fault=None)

    async def _sign_in(self, request: Request) -> Response:
        session.require_own(request)
        fields = await session.form(request, most_bytes=session.MOST_BYTES_OF_STRANGERS)
        token, going_to = fields.get("token", "").strip(), session.within(fields.get("next", "/"))
        try:
            await session.identified(request, self._here, token)
        except SignedOut as error:
            return html("sign_in", 401, next=going_to, fault=str(error) if token else "paste a token first")
        response = RedirectResponse(going_to, SEE_OTHER)
        session.begin(request, response, token)
        return response

    async def _sign_out(self, request: Request) -> Response:
        session.require_own(request)
        response = RedirectResponse("/sign-in", SEE_OTHER)
        session.end(request, response)
        return response


def _answering(handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose errors are pages, and whose responses have the headers of `rendering.SECURE`."""

    async def respond(request: Request) -> Response:
        response = await _response(handle, request)
        for name, value in SECURE.items():
            response.headers.setdefault(name, value)
        return response

    return respond


async def _response(handle: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
    try:
        return await handle(request)
    except SignedOut as error:
        return _signed_out(request, error)
    except InterlockError as error:
        if is_outage(error):
            _log.warning("the page could not be shown: %s", error)
        text = outage_message(error) if is_outage(error) else str(error)
        if is_outage(error) and request.method == "POST":
            text += "; whether what you sent was taken is not known: look before you send it again"
        return html("plain_fault", status_of(error), text=text, back=_page_of(request))
    except Exception as error:  # noqa: BLE001 - a person gets a page, and the log the error
        ident = new_id("req")
        _log.error("request %s failed: %s", ident, type(error).__name__, exc_info=error)
        text = f"something went wrong here: the log of this process has it as `{ident}`"
        return html("plain_fault", 500, text=text, back=_page_of(request))


def _page_of(request: Request) -> str:
    """The page that a request belongs to: of a form, the one that it is on."""
    first, given = request.url.path.split("/")[1], request.path_params
    if "verb" in given:
        return f"/approvals/{quote(given['ident'], safe='')}"
    if given and first != "approvals":
        return f"/{first}"
    return "/" if first in ("sign-in", "sign-out") else session.within(_asked_for(request))


def _asked_for(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _signed_out(request: Request, error: SignedOut) -> Response:
    """The way to the door; of a form that was sent, that it was not taken."""
    asked_for = _asked_for(request)
    if request.method == "POST":
        response = html("sign_in", 401, next=_page_of(request), fault=f"what you sent was not taken: {error}")
    elif request.url.path == "/live":
        response = Response(str(error), 401, media_type="text/plain")
    else:
        response = RedirectResponse(f"/sign-in?next={quote(asked_for)}" if asked_for != "/" else "/sign-in", SEE_OTHER)
    session.end(request, response)
    return response


async def _home(_: Visit) -> Response:
    return RedirectResponse("/approvals", SEE_OTHER)


async def _back(visit: Visit) -> Response:
    return RedirectResponse(_page_of(visit.request), SEE_OTHER)


async def _live(visit: Visit) -> Response:
    """The events that tell an open page that something has changed."""
    interest = Interest(project=visit.who.project)
    last = visit.request.headers.get("last-event-id")
    return await following(visit.here, visit.who, session.token_of(visit.request), interest, last)


async def _static(request: Request) -> Response:
    return static(request.path_params["name"])
