"""Errors as problem+json: one line each, with the request's id and without internal details."""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from interlock.core.errors import ConfigError, Conflict, InterlockError, NotFound, Refused, UsageError
from interlock.desk.context import is_outage, outage_message
from interlock.desk.identities.gate import NotKnown, TooMany
from interlock.desk.work.task_changes import TransitionRefused
from interlock.web.http import BadBody

_STATUS: tuple[tuple[type[InterlockError], int], ...] = (
    (TooMany, 429), (NotKnown, 401), (NotFound, 404), (TransitionRefused, 409), (Refused, 403), (Conflict, 409),
    (UsageError, 422), (ConfigError, 500),
)  # fmt: skip
_log = logging.getLogger(__name__)


def problem(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """The response for an error. Source: RFC 9457."""
    body: dict[str, Any] = {
        "type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail,
        "request_id": request.scope.get("state", {}).get("request_id"),
    }  # fmt: skip
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def status_of(error: InterlockError) -> int:
    """The HTTP status of an error."""
    if is_outage(error):
        return 503
    if isinstance(error, BadBody):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 409)


def tell_problems(app: FastAPI) -> None:
    """Registers the exception handlers that return problem+json."""
    app.add_exception_handler(InterlockError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_any)


async def _of_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, InterlockError)
    return of_ours(request, error)


def of_ours(request: Request, error: InterlockError) -> Response:
    """The response for an InterlockError."""
    headers: dict[str, str] = {}
    if isinstance(error, NotKnown):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, TooMany):
        headers["retry-after"] = f"{error.after_s:.0f}"
    if is_outage(error):
        _log.warning("request %s failed: %s", request.scope.get("state", {}).get("request_id"), error)
    detail = outage_message(error) if is_outage(error) else str(error)
    return problem(request, status_of(error), " ".join(detail.split()), headers)


async def _of_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    message = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "json_invalid":
        return problem(request, 400, "the body is not JSON: send an object, with `Content-Type: application/json`")
    if first["type"] == "model_attributes_type" and not where:
        if not _says_json(request):
            return problem(request, 415, "the body is not said to be JSON: send `Content-Type: application/json`")
        message = "the body is not an object: send one such as `{}`"
    if first["type"] == "missing" and not where:
        message = "the body is missing: send a JSON object, with `Content-Type: application/json`"
    detail = f"`{where}`: {message[:1].lower()}{message[1:]}" if where else f"{message[:1].lower()}{message[1:]}"
    return problem(request, 422, detail)


def _says_json(request: Request) -> bool:
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return said == "application/json" or (said.startswith("application/") and said.endswith("+json"))


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = {404: f"there is nothing at `{request.url.path}`", 405: f"`{request.method}` is not for this path"}
    return problem(
        request, error.status_code, detail.get(error.status_code, str(error.detail)), dict(error.headers or {})
    )


async def _of_any(request: Request, error: Exception) -> Response:
    ident = request.scope.get("state", {}).get("request_id")
    _log.error("request %s failed: %s", ident, type(error).__name__, exc_info=error)
    return problem(request, 500, f"something went wrong here: the log of this process has it as `{ident}`")
