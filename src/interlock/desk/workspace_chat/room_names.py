"""Validates names and topics of channels, and emoji of reactions."""

import re

from interlock.core import emoji as core
from interlock.core.errors import UsageError

LONGEST_NAME, LONGEST_TOPIC = 60, 250
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?")


def name(given: str) -> str:
    """A channel's name in small letters, without a `#` before it.

    Raises UsageError.
    """
    found = given.strip().removeprefix("#").lower()
    if len(found) > LONGEST_NAME or not _NAME.fullmatch(found):
        raise UsageError(
            f"`{given}` is not a valid channel name: use up to {LONGEST_NAME} letters, digits, `-` and `_`, "
            "such as `launch-plan`"
        )
    return found


def topic(given: str) -> str:
    """A channel's topic, on one line.

    Raises UsageError.
    """
    found = " ".join(given.split())
    if len(found) > LONGEST_TOPIC:
        raise UsageError(f"the topic has {len(found)} characters: {LONGEST_TOPIC} are the most")
    return found


def emoji(given: str) -> str:
    """The emoji of a reaction: an emoji, or its name such as `:tada:`.

    Raises UsageError.
    """
    found = core.emoji(given)
    if found is None:
        raise UsageError(f"`{given[:40]}` is not an emoji: give one, or its name such as `:tada:`")
    return found
