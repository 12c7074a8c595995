"""`{{secret:NAME}}` in arguments: which named secrets a call uses, and what that means for its risk. No values here."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from interlock.policy.calls import Call, Raised
from interlock.policy.risk import Risk

RULE = "builtin:named-secret"
PLACEHOLDER = re.compile(r"\{\{\s*secret\s*:\s*([^{}]{0,200}?)\s*\}\}", re.IGNORECASE)
WHY = "it is given a secret, and the settings do not say that this tool may use it where it goes"
_DEEPEST, _MOST = 64, 100_000
_NONE: frozenset[str] = frozenset()
_SCALARS = frozenset((bool, int, float))
_RAISED = (Raised(RULE, Risk.RED, WHY),)


def findings(call: Call) -> tuple[Raised, ...]:
    """RED if a call uses a named secret without permission. Source: numbers, "Risk" (access to secrets)."""
    if not call.args:
        return ()
    named = names(call.args)
    return _RAISED if named and not named <= call.may_use else ()


def names(args: Any) -> frozenset[str]:
    """The names of the secrets that arguments refer to, as written."""
    if _is_plain(args):
        return _NONE
    found: set[str] = set()
    for text in texts(args):
        if "{{" in text:
            found.update(match[1] for match in PLACEHOLDER.finditer(text))
    return frozenset(found)


def _is_plain(args: Any) -> bool:
    """Fast path: True only for one level of values without references."""
    if type(args) is not dict:
        return False
    for key, value in args.items():
        if type(key) is not str or "{{" in key:
            return False
        if type(value) is str:
            if "{{" in value:
                return False
        elif value is not None and type(value) not in _SCALARS:
            return False
    return True


def in_names(args: Any) -> bool:
    """Whether a key of the arguments refers to a secret; keys are not filled in."""
    return any("{{" in key and PLACEHOLDER.search(key) for key in _keys(args))


def texts(value: Any) -> Iterator[str]:
    """Every string in JSON, including keys."""
    rest: list[tuple[int, Any]] = [(0, value)]
    seen = 0
    while rest and seen < _MOST:
        depth, item = rest.pop()
        seen += 1
        if isinstance(item, str):
            yield item
        elif depth > _DEEPEST:
            continue
        elif isinstance(item, Mapping):
            for key, each in item.items():
                yield str(key)
                rest.append((depth + 1, each))
        elif isinstance(item, (list, tuple)):
            rest.extend((depth + 1, each) for each in item)


def _keys(value: Any) -> Iterator[str]:
    rest: list[tuple[int, Any]] = [(0, value)]
    while rest:
        depth, item = rest.pop()
        if depth > _DEEPEST:
            continue
        if isinstance(item, Mapping):
            yield from map(str, item)
            rest.extend((depth + 1, each) for each in item.values())
        elif isinstance(item, (list, tuple)):
            rest.extend((depth + 1, each) for each in item)
