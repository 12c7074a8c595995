"""Makes ids of tool calls valid for a provider: a conversation may continue with another one than it began with."""

import hashlib
import re

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CHARS = 9
"""What the strictest provider asks for."""


def fitting(ident: str, allowed: re.Pattern[str]) -> str:
    """The id if it matches `allowed`, else nine letters and digits that are always the same for this id."""
    if allowed.fullmatch(ident):
        return ident
    number = int.from_bytes(hashlib.sha256(ident.encode("utf-8", "replace")).digest()[:8], "big")
    out = []
    for _ in range(_CHARS):
        number, rest = divmod(number, len(_ALPHABET))
        out.append(_ALPHABET[rest])
    return "".join(out)
