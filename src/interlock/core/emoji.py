"""What counts as an emoji, or as the name of one; what they are put on is not known here."""

import re
import unicodedata

LONGEST = 32
_SHORTCODE = re.compile(r":[a-z0-9_+-]{1,30}:")


def emoji(given: str) -> str | None:
    """The one emoji that is given, or its name such as `:tada:`; None if it is neither."""
    found = given.strip()
    if _SHORTCODE.fullmatch(found):
        return found
    is_sign = 0 < len(found) <= LONGEST and not found.isascii() and all(map(_is_part, found))
    return found if is_sign else None


def _is_part(char: str) -> bool:
    """Signs, what joins, varies or flags them, and the keys of keycaps."""
    return unicodedata.category(char) in ("So", "Sk", "Sm", "Po", "Mn", "Me") or char in "\u200d0123456789#*"
