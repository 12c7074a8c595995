"""Interprets HTTP errors of providers: the fault, a one-line summary, the Retry-After.

Shared by all adapters over HTTP; the exception types of a vendor's SDK are handled in its adapter.
"""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from interlock.llm.messages import ModelFault
from interlock.llm.reading import parsed

_BY_STATUS = {
    401: ModelFault.AUTH,
    402: ModelFault.BILLING,
    403: ModelFault.AUTH,
    408: ModelFault.TIMEOUT,
    409: ModelFault.SERVER,
    425: ModelFault.OVERLOADED,
    429: ModelFault.RATE_LIMITED,
    498: ModelFault.OVERLOADED,
    529: ModelFault.OVERLOADED,
}
_BY_TYPE = {
    "authentication_error": ModelFault.AUTH,
    "permission_error": ModelFault.AUTH,
    "invalid_api_key": ModelFault.AUTH,
    "unauthenticated": ModelFault.AUTH,
    "permission_denied": ModelFault.AUTH,
    "billing_error": ModelFault.BILLING,
    "insufficient_quota": ModelFault.BILLING,
    "rate_limit_error": ModelFault.RATE_LIMITED,
    "rate_limit_exceeded": ModelFault.RATE_LIMITED,
    "too_many_requests": ModelFault.RATE_LIMITED,
    "resource_exhausted": ModelFault.RATE_LIMITED,
    "overloaded_error": ModelFault.OVERLOADED,
    "overloaded": ModelFault.OVERLOADED,
    "engine_overloaded": ModelFault.OVERLOADED,
    "unavailable": ModelFault.OVERLOADED,
    "service_unavailable": ModelFault.OVERLOADED,
    "timeout_error": ModelFault.TIMEOUT,
    "timeout": ModelFault.TIMEOUT,
    "deadline_exceeded": ModelFault.TIMEOUT,
    "api_error": ModelFault.SERVER,
    "server_error": ModelFault.SERVER,
    "invalid_request_error": ModelFault.INVALID,
    "badrequesterror": ModelFault.INVALID,
    "invalid_argument": ModelFault.INVALID,
    "context_length_exceeded": ModelFault.INVALID,
    "model_not_found": ModelFault.INVALID,
    "not_found_error": ModelFault.INVALID,
    "request_too_large": ModelFault.INVALID,
}
_NO_CREDIT = ("credit balance", "insufficient_quota", "insufficient credit", "insufficient balance", "out of credit")
_BAD_KEY = ("api key not valid", "api_key_invalid", "invalid api key", "incorrect api key", "invalid_api_key")
_OWN_MISTAKE = ("tool_use_failed", "json_validate_failed")
"""The provider rejected what its own model wrote: a retry may succeed."""
_SUMMARY_CHARS = 300
_LARGEST_RAW = 20_000
LONGEST_WISH_S = 86_400.0
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")
_FLAGGED = "flagged"


class ReportedError(Exception):
    """An error that a provider reported within an answer; `body` is its content."""

    def __init__(self, body: object) -> None:
        super().__init__("the provider reported an error")
        self.body = body


def fault_of(status: int, body: object) -> ModelFault:
    """The fault for an error status, or for an error event within an answer of status 200."""
    error = error_in(body)
    kinds = [str(error.get(name) or "").lower() for name in ("code", "type", "status")]
    said = f"{' '.join(kinds)} {error.get('message') or ''}".lower()
    if "billing_error" in kinds or any(words in said for words in _NO_CREDIT):
        return ModelFault.BILLING
    if any(kind in _OWN_MISTAKE for kind in kinds):
        return ModelFault.SERVER
    if status < 400:
        status = next((n for name in ("code", "status_code", "status") if (n := _status(error.get(name)))), status)
    if status < 400:
        return next((_BY_TYPE[kind] for kind in kinds if kind in _BY_TYPE), ModelFault.SERVER)
    if status == 400 and any(words in said for words in _BAD_KEY):
        return ModelFault.AUTH
    if status == 403 and _FLAGGED in said:
        return ModelFault.INVALID
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return ModelFault.OVERLOADED if any(_BY_TYPE.get(k) is ModelFault.OVERLOADED for k in kinds) else (
            ModelFault.SERVER
        )  # fmt: skip
    return ModelFault.INVALID


def summary(body: object) -> str:
    """One line for people: the provider's own message if there is one, never a whole page."""
    error = error_in(body)
    text = ""
    if message := error.get("message"):
        text = str(message)
        if (behind := _behind(error)) and behind not in text:
            text = f"{text}: {behind}"
    elif isinstance(body, bytes | str):
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    text = " ".join(text.split())
    if not text:
        return "no explanation"
    if text.startswith("<"):
        return "an HTML page instead of an answer"
    return text if len(text) <= _SUMMARY_CHARS else text[:_SUMMARY_CHARS] + "…"


def retry_after_s(headers: Mapping[str, str], body: object = None) -> float | None:
    """Seconds to wait by `retry-after-ms`, `retry-after` or the body, a day at most; None if it is not given.

    A date is compared with the answer's own `date`, so that the clock of this machine does not matter.
    """
    wish = _wish_s(headers, body)
    return None if wish is None else min(wish, LONGEST_WISH_S)


def _wish_s(headers: Mapping[str, str], body: object) -> float | None:
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    wish = headers.get("retry-after", "")
    try:
        return max(0.0, float(wish))
    except ValueError:
        pass
    try:
        wait = parsedate_to_datetime(wish) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):
        return _delay_in(body)
    return max(0.0, wait.total_seconds())


def error_in(body: object) -> Mapping[str, Any]:
    """The error in a body, whichever of the usual shapes it has; empty if there is none."""
    if isinstance(body, list):
        body = body[0] if body else None
    if not isinstance(body, Mapping):
        return {}
    error = body.get("error")
    if isinstance(error, Mapping):
        return error
    if isinstance(error, str) and error:
        return {**body, "message": body.get("message") or error}
    errors = body.get("errors")
    if isinstance(errors, list) and errors:
        return errors[0] if isinstance(errors[0], Mapping) else {"message": str(errors[0])}
    detail = body.get("detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], Mapping):
        where = ".".join(str(part) for part in detail[0].get("loc") or ())
        return {"message": f"{where}: {detail[0].get('msg', '')}" if where else detail[0].get("msg")}
    if isinstance(detail, str) and detail:
        return {"message": detail}
    return body if body.get("message") and not body.get("choices") else {}


def body_of(content: bytes) -> object:
    """The body parsed as JSON if it is valid, else as text."""
    try:
        return parsed(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")


def _status(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600 else None


def _behind(error: Mapping[str, Any]) -> str:
    """The message of the provider behind a router."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if not isinstance(raw, str) or len(raw) > _LARGEST_RAW:
        return ""
    message = error_in(body_of(raw.encode("utf-8", "replace"))).get("message")
    return str(message or ("" if raw.lstrip().startswith(("<", "{")) else raw))


def _delay_in(body: object) -> float | None:
    details = error_in(body).get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and (found := _DELAY.fullmatch(delay)):
            return float(found[1])
    return None
