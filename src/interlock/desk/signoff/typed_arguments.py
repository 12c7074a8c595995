"""Arguments of a call as a person edits them: JSON, parsed strictly."""

import json
from typing import Any

from interlock.core.errors import UsageError


def parsed(text: str) -> dict[str, Any]:
    """The arguments in a text.

    Raises UsageError if it is not one JSON object, or if a key stands in an object twice: nobody approves a value other
    than the one they read.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_int=_whole_number)
    except RecursionError as error:
        raise UsageError("the arguments nest too deep") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UsageError(f"the arguments are not JSON: {error.msg[:1].lower()}{error.msg[1:]} in {where}") from error
    if not isinstance(value, dict):
        raise UsageError('the arguments are not a JSON object: write them like `{"to": "a@example.com"}`')
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(f"the key `{name[:60]}` stands in the arguments twice: leave one of them")
        found[name] = value
    return found


def _whole_number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError as error:
        raise UsageError(f"a number of {len(digits):,} digits is too long") from error


def _no_number(name: str) -> Any:
    raise UsageError(f"`{name}` is not a number in JSON: write one, or `null`")
