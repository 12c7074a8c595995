"""The HTTP interface as an application: its paths, errors and limits put together; what a path does is not here."""

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
from interlock.web.dependencies import Premises, caller, only_known
from interlock.web.guard import Guard
from interlock.web.problems import of_ours, tell_problems

__all__ = ["Answers", "Gate", "Live", "Premises", "api"]

_SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""What is told to the outside is `core.telemetry`'s job alone."""


def api(premises: Premises, *, version: str, most_bytes: int, body_s: float) -> ASGIApp:
    """Everything under `/api`, and `/openapi.json`. Whoever serves it closes `premises`. Source: interfaces, "HTTP".

    A body may have `most_bytes`, and take `body_s` to come.
    """
    app = FastAPI(
        title="Interlock", version=version, docs_url=None, redoc_url=None, openapi_url=None, telemetry=_SILENT
    )  # fmt: skip
    app.state.premises = premises
    router = APIRouter(dependencies=[Depends(only_known)])
    for part in (events, talk, work, records):
        part.add_to(router)
    app.include_router(router)

    async def description() -> dict[str, Any]:
        """What there is, for programs that write clients; nothing of it is secret."""
        return app.openapi()

    app.add_api_route("/openapi.json", description, methods=["GET"], response_model=None)
    tell_problems(app)

    async def admission(scope: Scope) -> Response | None:
        request = Request(scope)
        try:
            await caller(request, premises)
        except InterlockError as error:
            return of_ours(request, error)
        return None

    return Guard(app, admission, most_bytes=most_bytes, body_s=body_s)
