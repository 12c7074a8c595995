"""JSON as text, by writers that are made once: `json.dumps` makes its encoder anew for each text, at several times the
cost of writing a small one.

What is written where is the callers' matter.
"""

import json
import json.encoder
from collections.abc import Callable
from typing import Any

Writer = Callable[[Any], str]


def writer(*, sort_keys: bool = False, separators: tuple[str, str] = (", ", ": "), ensure_ascii: bool = True) -> Writer:
    """A function that writes exactly what `json.dumps` does with these options and `allow_nan=False`.

    It raises ValueError for NaN and infinities, TypeError for anything that is not JSON, and RecursionError for what
    holds itself.
    """
    plain = json.JSONEncoder(
        sort_keys=sort_keys, separators=separators, ensure_ascii=ensure_ascii, allow_nan=False, check_circular=False
    )
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return plain.encode
    names: Any = json.encoder
    quoted = names.encode_basestring_ascii if ensure_ascii else names.encode_basestring
    comma, colon = separators
    pieces = make(None, plain.default, quoted, None, colon, comma, sort_keys, False, False)

    def write(value: Any) -> str:
        return "".join(pieces(value, 0))

    return write
