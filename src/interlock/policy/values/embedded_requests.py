"""Finds requests written inside arguments: SOAP and XML-RPC bodies, raw HTTP requests, GraphQL mutations, page steps.

What a request would do is judged by the words of its operation, in `verbs`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.command_lines import argv
from interlock.policy.definitions.tool_names import Says, read_name
from interlock.policy.definitions.verbs import asks_for_act, asks_for_deed, mutates
from interlock.policy.values.folding import fold
from interlock.policy.values.spelling import parts

PRESSES = re.compile(
    r"\b(?:buy|pay|order|checkout|check out|purchase|send|submit|post|publish|delete|remove|confirm|accept|agree|"
    r"subscribe|sign up|register|book|reserve|transfer|donate|share|invite|save|apply|unsubscribe|cancel|approve|place|"
    r"download|install|grant|allow|authori[sz]e|log ?in|sign ?in|log ?out)\b",
    re.IGNORECASE,
)
"""Words on what is pressed that say that pressing it acts."""
_CALLED = re.compile(
    r"<(?:[\w-]+:)?Body\b[^>]{0,500}>\s*<(?:[\w-]+:)?(?P<soap>[\w.-]{1,100})|"
    r"<methodName>\s*(?P<rpc>[\w.:/-]{1,100})\s*</methodName>"
)
"""The operation of a SOAP or XML-RPC body."""
_SUFFIX = re.compile(r"(?:Request|Req|RQ|Rq|Msg|Message|Input)\Z")
_REQUEST = re.compile(
    r"(?m)^\s*(?:POST|PUT|PATCH|DELETE)\s+\S{1,2000}\s+HTTP/\d|\A\s*(?:POST|PUT|PATCH|DELETE)\s+/\S{0,2000}\s*\Z"
)
"""A raw HTTP request that writes, or its method and path alone."""
_METHODS = ("POST ", "PUT ", "PATCH ", "DELETE ")
_DOCUMENT = re.compile(r"\A\s*(?:#[^\n]*\n\s*)*(?:mutation|query|subscription|fragment)\b")
_WRAPPED = re.compile(r"\"(?:query|mutation|document)\"\s*:\s*\"(?:[^\"\\]|\\.){0,2000}?\bmutation\b")
_STEPS = ("action", "type", "name", "kind", "event", "step")
_CLICKS = frozenset(
    "click leftclick doubleclick dblclick tap press clickelement browserclick clickon clickbutton submit "
    "submitform".split()
)
ASKING = _CLICKS | {*_STEPS, "service"}
"""Keys of objects that may ask for something as a whole."""
_KEYS = frozenset("press key keypress presskey hotkey sendkeys presskeys".split())
_TARGETS = frozenset(
    "selector element ref xpath css text label target locator uid role value args arguments params key keys "
    "description name id".split()
)
_LONGEST = 20_000
_EXPLAINS = frozenset("parse parser validate validator format formatter lint linter explain convert prettify".split())


def may_hold(text: str) -> bool:
    """Fast path: False only if a text certainly holds no request."""
    return (
        "mutation" in text
        or text.startswith(_METHODS)
        or " HTTP/" in text
        or ("<" in text and ("Body" in text or "methodName" in text))
    )


def findings_in_text(text: str, tool: str, *, prose: bool, posted: bool) -> Iterator[Raised]:
    """Findings for a request in a text; `posted`: whether it is sent to an address.

    In `prose`, a GraphQL document counts only if the text begins with it.
    """
    if not _EXPLAINS.isdisjoint(parts(tool[:200])):
        return
    if len(text) > _LONGEST:
        text = text[:_LONGEST]
    if "mutation" in text and (_WRAPPED.search(text) or ((not prose or _DOCUMENT.match(text)) and mutates(text))):
        yield kinds.ACTS
    if "<" in text and (found := _CALLED.search(text)) is not None and _operates(found, posted=posted):
        yield kinds.ACTS
    if _REQUEST.search(text):
        yield kinds.HTTP_WRITE


def _operates(found: re.Match[str], *, posted: bool) -> bool:
    name = _SUFFIX.sub("", found["soap"] or found["rpc"])
    if _acts(name):
        return True
    return posted and found["soap"] is not None and read_name(name).says is not Says.READS


@lru_cache(maxsize=4096)
def _acts(name: str) -> bool:
    """Whether the name of an operation acts: `wp.deletePost`, `lock.unlock`."""
    last = re.split(r"[./:]", name)[-1]
    return asks_for_act(name) or asks_for_deed(last) or asks_for_act(last)


def findings_in_object(args: Mapping[str, Any], *, reads: bool) -> Iterator[Raised]:
    """Findings for what an object asks for as a whole: a step on a page, a service of a device, a nested tool call."""
    yield from _findings_in_step(args)
    if not reads and (("service" in args and _orders_service(args)) or ("name" in args and _calls_tool(args))):
        yield kinds.ACTS


def _calls_tool(args: Mapping[str, Any]) -> bool:
    """Whether an object is a nested call of a tool that acts: its name and its arguments."""
    name, given = args["name"], [args.get(key) for key in (*argv.GIVEN, "input")]
    is_call = isinstance(name, str) and any(
        isinstance(each, Mapping) or (isinstance(each, str) and each[:1] == "{") for each in given
    )
    return is_call and (asks_for_act(name) or asks_for_deed(name))


def _orders_service(args: Mapping[str, Any]) -> bool:
    """Whether a service is called that acts on a device: `service: lock.unlock`, `service: turn_off` with a target."""
    service = args["service"]
    if not isinstance(service, str) or len(service) > 100:
        return False
    whole = re.split(r"[./]", service.strip())
    named = any(key in args for key in ("entity_id", "entityId", "target", "service_data", "domain", "device"))
    return (named or (len(whole) == 2 and "/" not in service[-1:])) and any(
        _acts(each) for each in (whole if named else whole[-1:])
    )


def _findings_in_step(step: Mapping[str, Any]) -> Iterator[Raised]:
    """Findings for a step of a browser: `{"type": "click", "selector": "#pay"}`, `{"click": "#buy-now"}`."""
    for key in step.keys() & _CLICKS:
        if PRESSES.search(_label_text(step[key])):
            yield kinds.BROWSER_ACTS
    for key in _STEPS:
        if not isinstance(name := step.get(key), str) or len(name) > 30:
            continue
        verb = re.sub(r"[\s_-]", "", fold(name).lower())
        if verb not in _CLICKS and verb not in _KEYS:
            continue
        targets = [value for each, value in step.items() if each != key and each.lower() in _TARGETS]
        label = " ".join(_label_text(value) for value in targets)
        enters = verb in _KEYS and re.search(r"\b(?:enter|return)\b", label, re.IGNORECASE) is not None
        if enters or (verb in _CLICKS and PRESSES.search(label)) or (label and verb.startswith("submit")):
            yield kinds.BROWSER_ACTS


def _label_text(value: Any) -> str:
    """The texts of a value and of the object in it, with separators as spaces."""
    if isinstance(value, Mapping):
        value = " ".join(each for each in value.values() if isinstance(each, str))
    if isinstance(value, (list, tuple)):
        value = " ".join(each for each in value[:20] if isinstance(each, str))
    return re.sub(r"[_#.\[\]=\"'-]", " ", fold(value)[:300]) if isinstance(value, str) else ""
