"""Text and JSON in a form that every database stores and every reader sees: no NUL, no half of a surrogate pair.

Models and tools may send either; what cannot be stored becomes U+FFFD, the replacement character.
"""

import json
import re
from typing import Any

from interlock.core.json_text import writer

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_ESCAPED = re.compile(
    r"""(?P<kept>\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})
    |\\u0000|\\u[dD][89a-fA-F][0-9a-fA-F]{2}""",
    re.VERBOSE,
)
_encoded = writer()
_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
    "|(?<=[!-~\ufe00-\ufe0f\U000e0100-\U000e01ef])[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef](?!\u20e3)"
    "|[\u200c\u200d](?=[!-~])"
)
"""What turns, hides or blanks text. Joiners and variants stay where scripts and emoji need them: not beside ASCII."""


def visible(text: object, *, one_line: bool = False) -> str:
    """A text whose control and invisible characters are spelled out, so that they cannot change how it is read."""
    shown = _STEERS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))
    return " ".join(shown.split()) if one_line else shown


def visible_json(text: str) -> str:
    """JSON whose invisible characters are spelled out, as escapes of JSON, so that it still means the same."""
    return _STEERS.sub(lambda found: json.dumps(found[0])[1:-1], text)


def amount(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun, such as `1 line` and `2,000 lines`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def storable(text: str) -> str:
    """The text with everything that cannot be stored replaced."""
    return text if text.isascii() and "\x00" not in text else _UNFIT.sub("\ufffd", text)


def storable_value(value: Any) -> Any:
    """A JSON value with every text in it made `storable`."""
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable(key): storable_value(inner) for key, inner in value.items()}
        case list():
            return [storable_value(inner) for inner in value]
    return value


def storable_json(value: Any) -> str:
    """A JSON value as text that every database stores.

    Raises ValueError for NaN and infinities, TypeError for anything that is not JSON.
    """
    text = _encoded(value)
    if "\\u0000" in text or "\\ud" in text:
        text = _ESCAPED.sub(lambda match: match["kept"] or "\\ufffd", text)
    return text
