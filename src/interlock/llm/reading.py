"""Reads what providers send as untrusted input: storable text, JSON objects, counts.

What the fields of a protocol mean is the adapters' job.
"""

import json
from typing import Any, NoReturn

MOST_TOKENS = 100_000_000
"""Of one count; several of them fit into a column."""
_DEEPEST = 100
"""Levels of a value; what is deeper is refused before anything walks through it."""


def whole(text: str) -> str:
    """The text as storable Unicode: surrogate pairs are joined, lone surrogates and NUL replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\x00", "\ufffd") if "\x00" in text else text


def parsed(text: str | bytes) -> Any:
    """The value of a JSON text; NaN and infinities are None.

    Raises ValueError for invalid or too deeply nested JSON, RecursionError for extremely deep nesting.
    """
    value = json.loads(text, parse_constant=_nothing)
    brackets = text.count("{") + text.count("[") if isinstance(text, str) else text.count(b"{") + text.count(b"[")
    if brackets > _DEEPEST and _is_deep(value):
        raise ValueError("JSON that is too deep")
    return value


def json_object(raw: str) -> dict[str, Any] | None:
    """The JSON object in a text; None if it is anything else."""
    try:
        value = json.loads(whole(raw), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or (raw.count("{") + raw.count("[") > _DEEPEST and _is_deep(value)):
        return None
    mended: dict[str, Any] = _mended(value) if "\\u" in raw else value
    return mended


def count(value: Any) -> int:
    """A token count: 0 for invalid values, at most `MOST_TOKENS`, which is more than any model accepts.

    However large the number, it is booked as a cost, which freezes the account.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return 0
    return min(value, MOST_TOKENS)


def _nothing(_: str) -> None:
    return None


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


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
