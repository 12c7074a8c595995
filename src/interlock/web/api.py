"""The HTTP interface as an application: assembles paths, errors and limits; the endpoints are in modules beside it."""

from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from interlock.core.errors import InterlockError
from interlock.desk.events.answering import Answers
from interlock.desk.events.live import Live
from interlock.desk.identities.gate import Gate
from interlock.web import events, records, talk, work
from interlock.web.dependencies import Services, caller, only_known
from interlock.web.guard import Guard
from interlock.web.problems import of_ours, tell_problems

__all__ = ["Answers", "Gate", "Live", "Services", "api"]

_SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""Telemetry is reported by `core.telemetry` alone."""


def api(services: Services, *, version: str, most_bytes: int, body_s: float) -> ASGIApp:
    """The application with everything under `/api`, and `/openapi.json`; the caller closes `services`.

    A request's body may have `most_bytes`, and take `body_s` seconds to arrive. Source: interfaces, "HTTP".
    """
    app = FastAPI(
        title="Interlock", version=version, docs_url=None, redoc_url=None, openapi_url=None, telemetry=_SILENT
    )  # fmt: skip
    app.state.services = services
    router = APIRouter(dependencies=[Depends(only_known)])
    for part in (events, talk, work, records):
        part.add_to(router)
    app.include_router(router)

    async def description() -> dict[str, Any]:
        """Returns this description of the interface; public."""
        return app.openapi()

    app.add_api_route("/openapi.json", description, methods=["GET"], response_model=None)
    tell_problems(app)

    async def admission(scope: Scope) -> Response | None:
        request = Request(scope)
        try:
            await caller(request, services)
        except InterlockError as error:
            return of_ours(request, error)
        return None

    return Guard(app, admission, most_bytes=most_bytes, body_s=body_s)
