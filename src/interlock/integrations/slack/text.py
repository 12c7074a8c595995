"""Text for Slack: escaping, unescaping, and splitting."""

import re
from collections.abc import Iterator

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_TOKEN = re.compile(r"<(![^<>]+|[@#][A-Z0-9]+(?:\|[^<>]*)?|[A-Za-z][A-Za-z0-9+.-]*:[^<>\s|]+(?:\|[^<>]*)?)>")
"""A mention, a channel, a broadcast or a link; other words between angle brackets are just that."""
_BROADCASTS = ("here", "channel", "everyone")
_HOMELY = 0.5
"""How much of a piece must be kept for a cut at a line's or a word's end to be worth it."""


def escape(text: str) -> str:
    """Escapes a text, so that nothing in it becomes a mention, a link or a notification.

    Source: https://docs.slack.dev/messaging/formatting-message-text, "Escaping text".
    """
    return text.translate({ord(sign): entity for sign, entity in _ENTITIES.items()})


def plain(text: str) -> str:
    """The text that a person typed, from Slack's markup: `<https://a.b|a.b>` is a link, `&lt;` a character."""
    said = _TOKEN.sub(lambda found: _spoken(found[1]), text)
    for sign, entity in reversed(_ENTITIES.items()):
        said = said.replace(entity, sign)
    return said


def _spoken(token: str) -> str:
    target, _, label = token.partition("|")
    if target.startswith("!"):
        word = target[1:].partition("^")[0]
        return f"@{word}" if word in _BROADCASTS else label
    if target.startswith(("@", "#")):
        return target[0] + (label or target[1:])
    return target.removeprefix("mailto:")


def size(text: str) -> int:
    """The maximum length of a text as Slack counts it: UTF-16 units after escaping."""
    return sum(_weight(sign) for sign in text)


def _weight(sign: str) -> int:
    return len(_ENTITIES[sign]) if sign in _ENTITIES else 1 + (ord(sign) > 0xFFFF)


def pieces(text: str, most: int) -> Iterator[str]:
    """Splits a text into pieces of at most `most` by `size`; joined, they equal the text.

    Splits after a line if possible, else after a word, else anywhere.
    """
    start = 0
    while start < len(text):
        end, room = start, most
        while end < len(text) and (room := room - _weight(text[end])) >= 0:
            end += 1
        if end < len(text):
            least = start + int((end - start) * _HOMELY)
            end = _after("\n", text, least, end) or _after(" ", text, least, end) or max(end, start + 1)
        yield text[start:end]
        start = end


def _after(sign: str, text: str, least: int, end: int) -> int | None:
    found = text.rfind(sign, least, end)
    return found + 1 if found >= 0 else None


def shortened(text: str, most: int) -> str:
    """A text shortened to one line."""
    line = " ".join(text.split())
    return line if size(line) <= most else next(pieces(line, most - 1)).rstrip() + "…"
