"""Formatted text for Telegram: counted in UTF-16 units, split, escaped as HTML."""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from interlock.desk.chats.command_table import COMMANDS, VIEWER

MOST_UNITS = 4096
"""UTF-16 units of one message, its marks not counted. Source: https://core.telegram.org/bots/api#sendmessage."""
MOST_MARKS = 90
"""Marked pieces of one message; Telegram forgets those after the hundredth."""
_JOINER = "\u200d"
_CLUSTER = 64
"""How far back the start of one character, as people see it, is looked for."""
_APART = "\u2060"
"""What stands in a word so that Telegram does not bring it to life."""
_ACTING = [s for c in COMMANDS.values() if c.role != VIEWER and not c.takes for s in (c.name, *c.aliases)]
_MENTION = re.compile(r"(?<!\w)@(?=\w)")
_TAP = re.compile(rf"(?<![\w/])/(?=(?:{'|'.join(_ACTING)})(?!\w))", re.IGNORECASE)
"""A command that does something when it is tapped: Telegram sends it in the name of who taps."""


class Mark(StrEnum):
    """The format of a piece of text; the values are Telegram's tags."""

    NONE = ""
    BOLD = "b"
    ITALIC = "i"
    CODE = "code"
    BLOCK = "pre"


@dataclass(frozen=True, slots=True)
class Piece:
    """A text with one format."""

    text: str
    mark: Mark = Mark.NONE


def units(text: str) -> int:
    """The length of a text as Telegram counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def unaddressed(text: str) -> str:
    """The text with mentions and commands defused: Telegram neither notifies anybody nor makes commands tappable."""
    return _TAP.sub(f"/{_APART}", _MENTION.sub(f"@{_APART}", text))


def typed(text: str) -> str:
    """Undoes `unaddressed` in text that a person has copied."""
    return text.replace(_APART, "")


def split(pieces: Sequence[Piece], room: int = MOST_UNITS, marks: int = MOST_MARKS) -> list[tuple[Piece, ...]]:
    """Splits pieces into parts of at most `room` units and `marks` formats, without loss.

    A part ends after a blank line, a line or a word if possible, and never within a grapheme, unless that alone exceeds
    the room.
    """
    text = "".join(piece.text for piece in pieces)
    parts: list[tuple[Piece, ...]] = []
    at, starts = 0, _mark_starts(pieces)
    while at < len(text):
        end = _reach(text, at, room)
        ahead = [start for start in starts if start > at]
        if len(ahead) >= marks:
            end = min(end, ahead[marks - 1])
        if end < len(text):
            end = _break(text, at, end)
        parts.append(tuple(_between(pieces, at, end)))
        at = end
    return parts


def markup(pieces: Sequence[Piece]) -> str:
    """The pieces as escaped HTML for Telegram."""
    return "".join(_tagged(piece) for piece in pieces)


def plain(pieces: Sequence[Piece]) -> str:
    """The pieces without formats."""
    return "".join(piece.text for piece in pieces)


def _tagged(piece: Piece) -> str:
    text = html.escape(piece.text, quote=False)
    return f"<{piece.mark}>{text}</{piece.mark}>" if piece.mark and text else text


def _mark_starts(pieces: Sequence[Piece]) -> list[int]:
    at, starts = 0, []
    for piece in pieces:
        if piece.mark and piece.text:
            starts.append(at)
        at += len(piece.text)
    return starts


def _reach(text: str, start: int, room: int) -> int:
    """The end of the longest substring from `start` within `room`, at least one character."""
    end = min(len(text), start + room)
    used = units(text[start:end])
    while used > room and end > start + 1:
        end -= 1
        used -= 2 if ord(text[end]) > 0xFFFF else 1
    return max(end, start + 1)


def _break(text: str, start: int, end: int) -> int:
    """The best end of a part that may reach to `end`."""
    for sign in ("\n\n", "\n", " "):
        found = text.rfind(sign, start, end)
        if found >= start + (end - start) // 2:
            return found + len(sign)
    for cut in range(end, max(start, end - _CLUSTER), -1):
        if not _is_joined(text, cut):
            return cut
    return end


def _is_joined(text: str, at: int) -> bool:
    """Whether the characters before and after `at` belong to one grapheme."""
    before, after = text[at - 1], text[at]
    if _JOINER in (before, after) or unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    if 0x1F3FB <= ord(after) <= 0x1F3FF or 0xE0020 <= ord(after) <= 0xE007F:
        return True
    if not (_is_flag_letter(before) and _is_flag_letter(after)):
        return False
    count = 0
    while count < at and _is_flag_letter(text[at - 1 - count]):
        count += 1
    return count % 2 == 1


def _is_flag_letter(sign: str) -> bool:
    return 0x1F1E6 <= ord(sign) <= 0x1F1FF


def _between(pieces: Sequence[Piece], start: int, end: int) -> Iterator[Piece]:
    at = 0
    for piece in pieces:
        inside = piece.text[max(0, start - at) : max(0, end - at)]
        if inside:
            yield replace(piece, text=inside)
        at += len(piece.text)
