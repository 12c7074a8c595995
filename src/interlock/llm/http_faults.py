"""What an HTTP answer that is not a reply means: its fault, its one-line summary, the wait it asks for.

Shared by every adapter over HTTP; a vendor's exception types belong to its adapter.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from interlock.llm.messages import ModelFault

_BY_STATUS = {
    401: ModelFault.AUTH,
    402: ModelFault.BILLING,
    403: ModelFault.AUTH,
    408: ModelFault.TIMEOUT,
    409: ModelFault.SERVER,
    429: ModelFault.RATE_LIMITED,
    529: ModelFault.OVERLOADED,
}
_BY_TYPE = {
    "authentication_error": ModelFault.AUTH,
    "permission_error": ModelFault.AUTH,
    "billing_error": ModelFault.BILLING,
    "rate_limit_error": ModelFault.RATE_LIMITED,
    "overloaded_error": ModelFault.OVERLOADED,
    "timeout_error": ModelFault.TIMEOUT,
    "api_error": ModelFault.SERVER,
    "invalid_request_error": ModelFault.INVALID,
    "not_found_error": ModelFault.INVALID,
    "request_too_large": ModelFault.INVALID,
}
_NO_CREDIT = ("credit balance", "insufficient_quota", "insufficient credit", "out of credit")
_SUMMARY_CHARS = 300


def fault_of(status: int, body: object) -> ModelFault:
    """The fault behind an error status, or behind an error event within an answer of status 200."""
    error = _error(body)
    kind, message = str(error.get("type", "")), str(error.get("message", "")).lower()
    if kind == "billing_error" or any(words in f"{kind} {message}" for words in _NO_CREDIT):
        return ModelFault.BILLING
    if status < 400:
        return _BY_TYPE.get(kind, ModelFault.SERVER)
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return ModelFault.SERVER if status >= 500 else ModelFault.INVALID


def summary(body: object) -> str:
    """One line for people: the provider's own message where there is one, never a whole page."""
    if message := _error(body).get("message"):
        text = str(message)
    elif isinstance(body, bytes | str):
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    else:
        text = ""
    text = " ".join(text.split())
    if not text:
        return "no explanation"
    if text.startswith("<"):
        return "an HTML page instead of an answer"
    return text if len(text) <= _SUMMARY_CHARS else text[:_SUMMARY_CHARS] + "…"


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as told by `retry-after-ms` or `retry-after`; None without a wish.

    A date is measured against the answer's own `date`, so that no clock here matters.
    """
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
        return None
    return max(0.0, wait.total_seconds())


def _error(body: object) -> Mapping[str, Any]:
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return error
    return {"message": error} if isinstance(error, str) else {}
