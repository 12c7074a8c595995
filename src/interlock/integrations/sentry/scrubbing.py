"""Scrubs everything sent to Sentry: only listed attributes, no secrets, no exception texts, no variables.

The attributes are defined in `vocabulary`.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from interlock.integrations.sentry.vocabulary import ATTRIBUTES
from interlock.policy.secrets import scrub

LONGEST = 200
"""Characters of a name or id."""
OF_THE_SDK = frozenset(
    (
        "sentry.op sentry.origin sentry.trace_lifecycle sentry.segment.id sentry.segment.name "
        "sentry.segment.name.source sentry.platform sentry.environment sentry.release sentry.sdk.name "
        "sentry.sdk.version sentry.severity_text sentry.severity_number process.runtime.name process.runtime.version"
    ).split()
)
"""What the library adds by itself and may stay; the command line and the host's name may not."""
ALLOWED = OF_THE_SDK | frozenset(ATTRIBUTES.values())
OF_AN_EVENT = ("event_id", "timestamp", "level", "platform", "environment", "release", "sdk", "transaction", "type")


def clean(value: Any) -> Any:
    """A value without secrets, limited in length."""
    if isinstance(value, str):
        return _text(value[: LONGEST * 4])
    if isinstance(value, list | tuple):
        return [clean(item) for item in value[:LONGEST]]
    return value if isinstance(value, bool | int | float) else type(value).__name__


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    """Cached, since most values recur."""
    return scrub(" ".join(value.split()))[:LONGEST]


def kept(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The attributes that may be sent."""
    return {name: clean(value) for name, value in (attributes or {}).items() if name in ALLOWED}


def span(item: Any, _: Any) -> Any:
    """A scrubbed span."""
    return {**item, "name": clean(item.get("name")), "attributes": kept(item.get("attributes"))}


def record(item: Any, _: Any) -> Any:
    """A scrubbed log or metric; its text or name is a constant."""
    return {**item, "attributes": kept(item.get("attributes"))}


def event(item: Any, _: Any) -> Any:
    """A scrubbed error: the types of the exceptions, where they were raised, and the run."""
    sent = {name: item[name] for name in OF_AN_EVENT if item.get(name) is not None}
    exceptions = (item.get("exception") or {}).get("values") or []
    sent["exception"] = {"values": [_exception(one) for one in exceptions]}
    sent["tags"] = kept(item.get("tags"))
    trace = (item.get("contexts") or {}).get("trace") or {}
    sent["contexts"] = {"trace": {name: trace[name] for name in _OF_A_TRACE if name in trace}}
    return sent


_OF_A_TRACE = ("trace_id", "span_id", "parent_span_id", "op", "dynamic_sampling_context")


def _exception(one: Mapping[str, Any]) -> dict[str, Any]:
    frames = (one.get("stacktrace") or {}).get("frames") or []
    mechanism = one.get("mechanism") or {}
    return {
        "type": clean(one.get("type")),
        "module": clean(one.get("module") or ""),
        "mechanism": {"type": clean(mechanism.get("type") or "generic"), "handled": True},
        "stacktrace": {"frames": [_frame(frame) for frame in frames]},
    }


def _frame(frame: Mapping[str, Any]) -> dict[str, Any]:
    """A stack frame without source code, variables and local paths."""
    path = PurePath(str(frame.get("filename") or "?"))
    return {
        "filename": path.name if path.is_absolute() else str(path),
        "function": frame.get("function"),
        "module": frame.get("module"),
        "lineno": frame.get("lineno"),
        "in_app": bool(frame.get("in_app")),
    }
