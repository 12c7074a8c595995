"""One pass over a call's arguments: whether they are judgeable JSON, contain secrets, or name production systems.

Patterns are defined in `secrets` and `production`; `decide` draws the conclusions.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from interlock.policy.secrets import Finding, first_secret, hints_at_secret, may_hold_secret, names_secret, scrub
from interlock.policy.values.folding import decoded, fold, in_numbers, is_odd, nested, readings
from interlock.policy.values.production import is_prose_key, key_names_production, may_name_production, names_production

DEEPEST = 64
MOST_VALUES = 20_000
MOST_CHARACTERS = 2_000_000
MOST_HIDDEN = 40
"""The most decoded texts that are inspected."""
_FEW, _SHORT = 64, 20_000
"""The most arguments, and characters of each, for the fast path."""
_Path = tuple[Any, ...] | None
"""Where a value stands: the path of what holds it, and its key or index; None at the root."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of inspecting arguments."""

    unfit: str | None
    """Why no rule can judge them and no approval bind to them; None for JSON of sane size."""
    secrets: tuple[Finding, ...]
    production: tuple[str, ...]
    """Paths that name a production system."""
    has_braces: bool = False
    """Whether a value or a key contains `{{`, as a reference to a named secret does."""
    hidden: tuple[tuple[str, str], ...] = ()
    """Decoded texts, each with the name of its argument."""


_NOTHING = Inspection(None, (), ())


class _Unfit(Exception):
    """Arguments that no rule can judge; the message says why."""


@dataclass(slots=True)
class _Findings:
    secrets: list[Finding] = field(default_factory=list)
    production: list[str] = field(default_factory=list)
    hidden: list[tuple[str, str]] = field(default_factory=list)
    has_braces: bool = False


def inspect(args: Any) -> Inspection:
    """Secrets, production systems and hidden texts in a call's arguments. Total: any Python value gets a result."""
    if type(args) is not dict:
        return Inspection("arguments are not a JSON object", (), ())
    if _is_harmless(args):
        return _NOTHING
    found = _Findings()
    try:
        _visit(args, found)
    except _Unfit as unfit:
        return Inspection(str(unfit), (), ())
    if not (found.secrets or found.production or found.has_braces or found.hidden):
        return _NOTHING
    return Inspection(
        None,
        tuple(dict.fromkeys(found.secrets)),
        tuple(dict.fromkeys(found.production)),
        found.has_braces,
        tuple(found.hidden[:MOST_HIDDEN]),
    )


def _visit(args: dict[Any, Any], found: _Findings) -> None:
    """Visits every key and value once, without recursion.

    Raises _Unfit for what is not JSON, too deep or too large.
    """
    rest: list[tuple[Any, _Path, str, int]] = [(args, None, "", 0)]
    seen = characters = 0
    while rest:
        value, path, key, depth = rest.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise _Unfit(f"arguments have more than {MOST_VALUES:,} values")
        kind = type(value)
        if kind is str:
            characters += len(value)
            if characters > MOST_CHARACTERS:
                raise _Unfit(f"arguments have more than {MOST_CHARACTERS:,} characters")
            is_encoded = _inspect_text(value, path, key, found)
            if is_encoded and depth < DEEPEST and (inner := nested(value)) is not None:
                rest.append((inner, path, key, depth + 1))
        elif kind is dict or kind is list or kind is tuple:
            if depth >= DEEPEST:
                raise _Unfit(f"arguments nest deeper than {DEEPEST} levels")
            if kind is dict:
                _inspect_keys(value, path, found)
                rest.extend((item, (path, name), name, depth + 1) for name, item in value.items())
            else:
                rest.extend((item, (path, index), key, depth + 1) for index, item in enumerate(value))
                if (spelled := in_numbers(value)) is not None:
                    found.hidden.append((key, spelled))
        elif kind is float:
            if not math.isfinite(value):
                raise _Unfit("arguments have a number that is not finite")
        elif value is not None and kind is not int and kind is not bool:
            raise _Unfit(f"arguments have a {kind.__name__}, which is not JSON")


def _is_harmless(args: dict[Any, Any]) -> bool:
    """Fast path: True only for a single level of values that certainly yield no findings."""
    if len(args) > _FEW:
        return False
    for key, value in args.items():
        kind = type(value)
        if type(key) is not str or _key_matters(key):
            return False
        if kind is str:
            if len(value) > _SHORT or is_odd(value):
                return False
            low = value.lower()
            if hints_at_secret(low) or "prod" in low or "pr0d" in low or "{{" in low:
                return False
        elif value is not None and kind is not int and kind is not bool:
            return False
    return True


@lru_cache(maxsize=4096)
def _key_matters(name: str) -> bool:
    if "{{" in name:
        return True
    name = fold(name)
    return may_hold_secret(name) or key_names_production(name, True)


def _inspect_text(value: str, path: _Path, key: str, found: _Findings) -> bool:
    """Inspects a text; whether it has readings other than as it stands, which are inspected too."""
    found.has_braces = found.has_braces or "{{" in value
    _inspect_reading(value, path, key, found)
    if not is_odd(value):
        return False
    for reading in readings(value):
        _inspect_reading(reading, path, key, found)
    if len(found.hidden) < MOST_HIDDEN:
        found.hidden.extend((key, each) for each in decoded(value))
    return True


def _inspect_reading(text: str, path: _Path, key: str, found: _Findings) -> None:
    if may_hold_secret(text) and (secret := first_secret(text)):
        found.secrets.append(Finding(secret, _shown(path)))
    if may_name_production(text.lower()) and names_production(text, prose=is_prose_key(key), key=key):
        found.production.append(_shown(path))


def _inspect_keys(values: dict[Any, Any], path: _Path, found: _Findings) -> None:
    for name, item in values.items():
        if type(name) is not str:
            raise _Unfit("arguments have a key that is not text")
        found.has_braces = found.has_braces or "{{" in name
        if _key_matters(name):
            _inspect_key(name, item, _shown((path, name)), found)


def _inspect_key(name: str, item: Any, where: str, found: _Findings) -> None:
    name = fold(name)
    if names_secret(name, item):
        found.secrets.append(Finding("value of a secret name", where))
    if secret := first_secret(name):
        found.secrets.append(Finding(secret, where))
    if key_names_production(name, item):
        found.production.append(where)


def _shown(path: _Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    text = "args" + "".join(reversed(steps))
    return scrub(text if len(text) <= 120 else f"{text[:119]}…")
