"""Readings of a text without what is between the characters of a value: line breaks, dump columns, octet escapes.

The values are searched for in `masks`.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

_BREAK = re.compile(r"[=\r\n\\\xad\u200b-\u200f\u2060\ufeff](?:(?<!=)|\r?\n)(?:(?<!\\)|\\{0,7}(?:r\\{1,8})?n)[ \t>]*")
_HEX = "[0-9A-Fa-f]"
_GAP = r"[\s:,;\\-]"
_BETWEEN = re.compile(
    rf"{_GAP}(?:\ +\|?[^\n]{{0,18}}\n\ *{_HEX}{{6,16}}:?\ +|n?(?:{_GAP}n?){{0,15}}(?:0?x)?)(?={_HEX}{{2}}|{_HEX}?\Z)"
)
_PAIR = re.compile(rf"{_HEX}{{2}}{_GAP}")
_ROW = re.compile(rf"{_HEX}{{2}}(?:(?:{_HEX}{{2}}){{0,31}}{_GAP}n?(?:{_GAP}n?){{0,15}}(?:0?x)?){{2}}{_HEX}{{2}}")
_HALF_BREAK = re.compile(r"[=\\]{1,9}(?:r\\{0,8})?\Z")
_HALF_OCTET = re.compile(
    r"(?:=[0-9A-F]?|%(?:u[0-9a-fA-F]{0,3})?|\\{1,8}(?:[0-3][0-7]?|U[0-9a-fA-F]{0,7}|u(?:\{[0-9a-fA-F]{0,6})?|x[0-9a-fA-F]?)?)\Z"
)
_HALF_PAIR = re.compile(rf"(?:{_GAP}n?)*(?:0?x|0)?{_HEX}?\Z")
"""An incomplete end of hex digits: half a pair, with its separator."""
_COLUMN = re.compile(rf"(?:\ {{1,2}}{_HEX}{{2}}|{_HEX}{{2}})*\ {{2,}}\|?[^\n]{{1,18}}(?=\n|\Z)")
"""The rest of a line of a hex dump: further octets, and all of them as characters."""
_OCTETS = re.compile(
    r"[=%\\](?:(?<==)(?:([0-9A-F]{2})|\r?\n)|(?<=%)u([0-9a-fA-F]{4})|(?<=\\)\\{0,7}(?:([0-3][0-7]{2})"
    r"|U([0-9a-fA-F]{8})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})))"
)
_LARGEST = 0x10FFFF


class _Stretch(NamedTuple):
    """A part of a reading and its position in the text; a piece stands for one character, however long it is."""

    at: int
    start: int
    end: int
    is_piece: bool


@dataclass(slots=True)
class Reading:
    """A reading of a text, with the position of each character in the text."""

    text: str
    stretches: list[_Stretch] = field(default_factory=list)

    def start(self, at: int) -> int:
        """The start in the text of a character of the reading."""
        found = self._stretch(at)
        return found.start if found.is_piece else found.start + at - found.at

    def end(self, at: int) -> int:
        """The end in the text of a character of the reading."""
        found = self._stretch(at)
        return found.end if found.is_piece else found.start + at - found.at + 1

    def _stretch(self, at: int) -> _Stretch:
        return self.stretches[bisect_right(self.stretches, at, key=lambda each: each.at) - 1]


@dataclass(frozen=True, slots=True)
class Lens:
    """A way to read a text."""

    pattern: re.Pattern[str]
    put: Callable[[re.Match[str]], str]
    """Maps a piece to what it stands for: one character, or nothing."""
    may_help: Callable[[str], bool]
    """Fast path: False only if the reading certainly contains nothing that the text does not."""
    may_begin: Callable[[str], bool]
    """The same for a growing text."""
    half: re.Pattern[str]
    """An incomplete piece at the end of a growing text."""
    folds: bool = False
    """Whether it reads in lower case."""

    def plain(self, text: str) -> str:
        """The reading only."""
        found = self.pattern.sub(self.put, text)
        return found.lower() if self.folds else found

    def reading(self, text: str) -> Reading:
        """The reading with positions."""
        out, stretches, at, length = [], [], 0, 0
        for piece in self.pattern.finditer(text):
            if piece.start() > at:
                stretches.append(_Stretch(length, at, piece.start(), False))
                out.append(text[at : piece.start()])
                length += piece.start() - at
            if said := self.put(piece):
                stretches.append(_Stretch(length, piece.start(), piece.end(), True))
                out.append(said)
                length += 1
            at = piece.end()
        if at < len(text):
            stretches.append(_Stretch(length, at, len(text), False))
            out.append(text[at:])
        whole = "".join(out)
        return Reading(_small(whole) if self.folds else whole, stretches)


def _small(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else "".join(char.lower() if char.isascii() else char for char in text)


def _octet(piece: re.Match[str]) -> str:
    octet, wide, octal, *codes = piece.groups()
    if octet:
        return chr(int(octet, 16))
    if octal:
        return chr(int(octal, 8))
    code = next((int(each, 16) for each in (wide, *codes) if each), None)
    return "" if code is None else chr(code) if code <= _LARGEST else "\ufffd"


def _nothing(_: re.Match[str]) -> str:
    return ""


def _is_broken(text: str) -> bool:
    return "\n" in text or "\\n" in text or "\r" in text or not text.isascii()


def _may_be_broken(text: str) -> bool:
    return "\\" in text or "=" in text or _is_broken(text)


def _is_escaped(text: str) -> bool:
    return "=" in text or "\\" in text or "%u" in text


JOINED = Lens(_BREAK, _nothing, _is_broken, _may_be_broken, _HALF_BREAK)
"""Removes line breaks, also of quoted-printable and escaped ones, and invisible characters."""
DIGITS = Lens(
    _BETWEEN, _nothing, lambda t: _ROW.search(t) is not None, lambda t: _PAIR.search(t) is not None, _HALF_PAIR, True
)
"""Removes what separates pairs of hex digits: blanks, colons, `0x`, the columns of a dump."""
OCTETS = Lens(_OCTETS, _octet, _is_escaped, _is_escaped, _HALF_OCTET)
"""Decodes octets of quoted-printable and octal escapes as Latin-1, and long escapes as code points."""


def joined(value: str) -> str:
    """A value as `JOINED` reads it."""
    return JOINED.plain(value)


def octets_of(value: str) -> str:
    """A value as `OCTETS` reads it if all its octets are escaped."""
    return value.encode("utf-8", "surrogatepass").decode("latin-1")


def masked(text: str, lens: Lens, needles: Mapping[str, str]) -> str:
    """The text with `[secret: NAME]` in place of each of the named needles that a lens finds in it."""
    if not needles or not lens.may_help(text):
        return text
    plain = lens.plain(text)
    sought = {needle: name for needle, name in needles.items() if needle in plain}
    if not sought:
        return text
    out, at = [], 0
    for start, end, name in sorted(_found(lens.reading(text), sought)):
        if lens is DIGITS and (rest := _COLUMN.match(text, end)):
            end = rest.end()
        if end > at:
            out += [text[at : max(start, at)], f"[secret: {name}]"]
            at = end
    return "".join([*out, text[at:]])


def _found(reading: Reading, sought: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    for needle, name in sought.items():
        at = reading.text.find(needle)
        while at >= 0:
            yield reading.start(at), reading.end(at + len(needle) - 1), name
            at = reading.text.find(needle, at + len(needle))
