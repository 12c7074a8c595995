"""What channels may be called and messages be signed with; who may call them so is `rooms`' matter."""

import re
import unicodedata

from interlock.core.errors import UsageError

LONGEST_NAME, LONGEST_TOPIC, LONGEST_EMOJI = 60, 250, 32
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?")
_SHORTCODE = re.compile(r":[a-z0-9_+-]{1,30}:")


def name(given: str) -> str:
    """A channel's name in small letters, without a `#` before it.

    Raises UsageError.
    """
    found = given.strip().removeprefix("#").lower()
    if len(found) > LONGEST_NAME or not _NAME.fullmatch(found):
        raise UsageError(
            f"`{given}` is no name for a channel: use up to {LONGEST_NAME} letters, digits, `-` and `_`, "
            "such as `launch-plan`"
        )
    return found


def topic(given: str) -> str:
    """What a channel is for, in a line.

    Raises UsageError.
    """
    found = " ".join(given.split())
    if len(found) > LONGEST_TOPIC:
        raise UsageError(f"the topic has {len(found)} characters: {LONGEST_TOPIC} are the most")
    return found


def emoji(given: str) -> str:
    """A sign to put on a message: an emoji, or its name such as `:tada:`.

    Raises UsageError.
    """
    found = given.strip()
    if _SHORTCODE.fullmatch(found):
        return found
    if 0 < len(found) <= LONGEST_EMOJI and not found.isascii() and all(map(_is_sign, found)):
        return found
    raise UsageError(f"`{given[:40]}` is no emoji: give one, or its name such as `:tada:`")


def _is_sign(char: str) -> bool:
    """Signs and what joins, varies or flags them; digits and signs of keycaps too."""
    return unicodedata.category(char) in ("So", "Sk", "Sm", "Po", "Mn", "Me", "Cf") or char in "0123456789#*"
