"""Reading what providers send without trusting it: text that can be stored, JSON objects, counts.

What the fields of a protocol mean belongs to the adapters.
"""

import json
from typing import Any, NoReturn


def whole(text: str) -> str:
    """The text as storable Unicode: halves of a pair that came apart are joined, lone ones replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def json_object(raw: str) -> dict[str, Any] | None:
    """The object that a text spells in JSON; None where it spells anything else, or no JSON."""
    try:
        value = json.loads(whole(raw), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    mended: dict[str, Any] = _mended(value) if "\\u" in raw else value
    return mended


def count(value: Any) -> int:
    """A count of tokens; junk counts as nothing."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        return {whole(k): _mended(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_mended(v) for v in value]
    return value
