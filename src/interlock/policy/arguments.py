"""One pass over a call's arguments: whether they are judgeable JSON, contain secrets, or name production systems.

Patterns are defined in `secrets` and `production`; `decide` draws the conclusions.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from interlock.policy.folding import decoded, fold, in_numbers, is_odd, nested, readings
from interlock.policy.production import is_prose_key, key_names_production, may_name_production, names_production
from interlock.policy.secrets import Finding, first_secret, hints_at_secret, may_hold_secret, names_secret, scrub

DEEPEST = 64
MOST_VALUES = 20_000
MOST_CHARACTERS = 2_000_000
MOST_HIDDEN = 40
"""The most decoded texts that are inspected."""
_FEW, _SHORT = 64, 20_000
"""The most arguments, and characters of each, for the fast path."""


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


def inspect(args: Any) -> Inspection:
    """Visits every key and value once, without recursion. Total: any Python value gets a result."""
    if type(args) is not dict:
        return Inspection("arguments are not a JSON object", (), ())
    if _is_harmless(args):
        return _NOTHING
    secrets: list[Finding] = []
    production: list[str] = []
    hidden: list[tuple[str, str]] = []
    rest: list[tuple[Any, tuple[Any, ...] | None, str, int]] = [(args, None, "", 0)]
    seen = characters = 0
    has_braces = False
    while rest:
        value, path, key, depth = rest.pop()
        seen += 1
        if seen > MOST_VALUES:
            return _unfit(f"arguments have more than {MOST_VALUES:,} values")
        kind = type(value)
        if kind is str:
            characters += len(value)
            if characters > MOST_CHARACTERS:
                return _unfit(f"arguments have more than {MOST_CHARACTERS:,} characters")
            has_braces = has_braces or "{{" in value
            if may_hold_secret(value) and (secret := first_secret(value)):
                secrets.append(Finding(secret, _shown(path)))
            if may_name_production(value.lower()) and names_production(value, prose=is_prose_key(key), key=key):
                production.append(_shown(path))
            if is_odd(value):
                _inspect_readings(value, key, path, secrets, production)
                if len(hidden) < MOST_HIDDEN:
                    hidden.extend((key, each) for each in decoded(value))
                if depth < DEEPEST and (inner := nested(value)) is not None:
                    rest.append((inner, path, key, depth + 1))
        elif kind is dict:
            if depth >= DEEPEST:
                return _unfit(f"arguments nest deeper than {DEEPEST} levels")
            for name, item in value.items():
                if type(name) is not str:
                    return _unfit("arguments have a key that is not text")
                here = (path, name)
                has_braces = has_braces or "{{" in name
                if _key_matters(name):
                    _inspect_key(name, item, _shown(here), secrets, production)
                rest.append((item, here, name, depth + 1))
        elif kind is list or kind is tuple:
            if depth >= DEEPEST:
                return _unfit(f"arguments nest deeper than {DEEPEST} levels")
            rest.extend((item, (path, index), key, depth + 1) for index, item in enumerate(value))
            if (spelled := in_numbers(value)) is not None:
                hidden.append((key, spelled))
        elif kind is float:
            if not math.isfinite(value):
                return _unfit("arguments have a number that is not finite")
        elif value is not None and kind is not int and kind is not bool:
            return _unfit(f"arguments have a {kind.__name__}, which is not JSON")
    if not (secrets or production or has_braces or hidden):
        return _NOTHING
    return Inspection(
        None, tuple(dict.fromkeys(secrets)), tuple(dict.fromkeys(production)), has_braces, tuple(hidden[:MOST_HIDDEN])
    )


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


def _inspect_readings(
    value: str, key: str, path: tuple[Any, ...] | None, secrets: list[Finding], production: list[str]
) -> None:
    """Inspects the decoded and folded readings of a text."""
    for reading in readings(value):
        if may_hold_secret(reading) and (secret := first_secret(reading)):
            secrets.append(Finding(secret, _shown(path)))
        if may_name_production(reading.lower()) and names_production(reading, prose=is_prose_key(key), key=key):
            production.append(_shown(path))


def _inspect_key(name: str, item: Any, where: str, secrets: list[Finding], production: list[str]) -> None:
    name = fold(name)
    if names_secret(name, item):
        secrets.append(Finding("value of a secret name", where))
    if secret := first_secret(name):
        secrets.append(Finding(secret, where))
    if key_names_production(name, item):
        production.append(where)


def _unfit(why: str) -> Inspection:
    return Inspection(why, (), ())


def _shown(path: tuple[Any, ...] | None) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    text = "args" + "".join(reversed(steps))
    return scrub(text if len(text) <= 120 else f"{text[:119]}…")
