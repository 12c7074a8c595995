"""Masks known values in texts, in any spelling; where the values come from is determined in `secrets`.

Found are the value itself, its base64 (also within longer data), its hex, all of these also with line breaks or in
columns, and any mixture of URL, JSON, HTML, mail and backslash escapes. Not found are encrypted, compressed, split or
reversed values.
"""

import base64
import html
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote

from interlock.tools.text_readings import DIGITS, JOINED, OCTETS, Lens, joined, masked, octets_of

SHORTEST = 8
"""Shorter values could not be distinguished from ordinary text; in characters."""
LEAST_LINE = 16
_SIGNS = ("%", "\\", "&", "+")
"""A text without any of these has no escapes."""
LONGEST_BREAK = 6
"""The most characters by which one character of a value may be written with line breaks or columns."""
LONGEST_ESCAPE = 20
"""The most characters by which one character of a value may be escaped."""
_PIECE = re.compile(
    r"%(?:25)?[0-9A-Fa-f]{2}|\\{1,8}u[0-9A-Fa-f]{4}|\\{1,8}x[0-9A-Fa-f]{2}|\\{1,8}[^\\]"
    r"|&(?:amp;)?(?:\#[0-9xA-Fa-f]{1,12}|[a-z]{2,5});|.",
    re.DOTALL,
)
"""One character of a text, escaped or not."""
_CUT = re.compile(
    r"(?:%(?:25?)?[0-9A-Fa-f]?|\\{1,8}(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?|&(?:amp;?)?[#a-zA-Z0-9]{0,12})\Z"
)
"""An incomplete escape."""
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([^ux]))")
_GRAM = 4
"""The length of the prefixes by which starts of values are found quickly; less than the shortest value."""
_SLASHES = r"\\{1,8}"
_NAMED = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_SHORT = {"\n": "n", "\r": "r", "\t": "t"}


class Masks:
    """The values to mask, by name."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._forms: dict[str, str] = {}
        self._literal: re.Pattern[str] | None = None
        self._spelt: dict[str, re.Pattern[str]] = {}
        self._read: dict[Lens, dict[str, str]] = {JOINED: {}, DIGITS: {}, OCTETS: {}}
        """What to look for in each reading of a text."""
        self._starts: dict[Lens, _Starts] = {}

    def __len__(self) -> int:
        return len(self._values)

    def learn(self, name: str, value: str) -> None:
        """Adds a value to mask, and each of its lines that is long enough."""
        if value in self._values:
            return
        for each in (value, *(line.strip() for line in value.splitlines())):
            if each == value or len(each) >= LEAST_LINE:
                self._values.setdefault(each, name)
                self._spelt.setdefault(each, re.compile("".join(map(_spellings, each))))
                for form in _forms(each):
                    self._forms.setdefault(form, name)
                    self._read[JOINED].setdefault(form, name)
                self._read[JOINED].setdefault(joined(each), name)
                self._read[DIGITS].setdefault(each.encode("utf-8", "surrogatepass").hex(), name)
                self._read[OCTETS].setdefault(each, name)
                self._read[OCTETS].setdefault(octets_of(each), name)
        self._starts = {lens: _Starts(needles) for lens, needles in self._read.items()}
        longest_first = sorted(self._forms, key=len, reverse=True)
        self._literal = re.compile("|".join(map(re.escape, longest_first)))

    def scrub(self, text: str) -> str:
        """The text with `[secret: NAME]` in place of each value; the same object if there is none."""
        if self._literal is None:
            return text
        if any(form in text for form in self._forms):
            text = self._literal.sub(lambda match: f"[secret: {self._forms[match[0]]}]", text)
        if any(sign in text for sign in _SIGNS):
            plain = list(_readings(text))
            for value, name in self._values.items():
                if any(value in reading for reading in plain):
                    text = self._spelt[value].sub(f"[secret: {name}]", text)
        for lens, needles in self._read.items():
            text = masked(text, lens, needles)
        return text

    def begun(self, text: str) -> int:
        """The number of characters at the end of a text that may be the start of a value, in any spelling."""
        if self._literal is None or not text:
            return 0
        longest = max(map(len, self._forms))
        most = max(
            self._starts[JOINED].begun(text[-longest:]),
            *(self._begun_read(text[-longest * LONGEST_BREAK :], lens) for lens in self._read),
        )
        tail = text[-longest * LONGEST_ESCAPE :]
        return max(most, self._begun_escaped(tail)) if any(sign in tail for sign in _SIGNS) else most

    def _begun_read(self, tail: str, lens: Lens) -> int:
        """The same in a lens's reading; an incomplete piece counts too."""
        if not lens.may_begin(tail):
            return 0
        cut = lens.half.search(tail)
        kept = len(tail) - cut.start() if cut and lens is OCTETS else 0
        for end in {len(tail), cut.start() if cut else len(tail)}:
            found = lens.reading(tail[:end])
            if most := self._starts[lens].begun(found.text):
                kept = max(kept, len(tail) - found.start(len(found.text) - most))
        return kept

    def _begun_escaped(self, tail: str) -> int:
        """The same with escapes; an incomplete escape counts too."""
        if cut := _CUT.search(tail):
            tail = tail[: cut.start()]
        readings = {tail, *_readings(tail)}
        longest = max((_overlap(reading, value) for reading in readings for value in self._values), default=0)
        pieces = _PIECE.findall(tail)
        kept = sum(map(len, pieces[-longest:])) if longest else 0
        return kept + (len(cut[0]) if cut else 0)


class _Starts:
    """The prefixes of values, to rule out quickly that a text ends with the start of one."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = tuple(values)
        self.grams = frozenset(value[:_GRAM] for value in self.values)
        self.shorter = frozenset(value[:size] for value in self.values for size in range(1, _GRAM))

    def begun(self, text: str) -> int:
        """The length of the longest suffix of a text that is a prefix of a value."""
        if any(text[at : at + _GRAM] in self.grams for at in range(len(text) - _GRAM + 1)):
            return max(_overlap(text, value) for value in self.values)
        return next((size for size in range(min(_GRAM - 1, len(text)), 0, -1) if text[-size:] in self.shorter), 0)


def _overlap(text: str, value: str) -> int:
    """The length of the longest suffix of `text` that is a proper prefix of `value`."""
    at = text.find(value[0], max(0, len(text) - len(value) + 1))
    while at >= 0:
        if value.startswith(text[at:]):
            return len(text) - at
        at = text.find(value[0], at + 1)
    return 0


def _forms(value: str) -> set[str]:
    """The spellings to search for literally."""
    data = value.encode("utf-8", "surrogatepass")
    wide = value.encode("utf-16-le", "surrogatepass")
    forms = {value, data.hex(), data.hex().upper(), *_base64_of(data), *_base64_of(wide)}
    return {form for form in forms if len(form) >= SHORTEST}


def _base64_of(data: bytes) -> Iterator[str]:
    """The parts of the base64 that do not depend on what precedes and follows, at each of the three alignments."""
    for offset, lead in ((0, 0), (1, 2), (2, 3)):
        whole = base64.b64encode(b"\0" * offset + data).decode()
        left_over = (offset + len(data)) % 3
        core = whole[lead : len(whole) - (0, 3, 2)[left_over]]
        yield core
        yield core.replace("+", "-").replace("/", "_")


def _readings(text: str) -> Iterable[str]:
    """The text with its escapes decoded, in each order in which they may have been nested."""
    steps: tuple[Callable[[str], str], ...] = (unquote, html.unescape, _unescaped)
    once = {step(text) for step in steps}
    twice = {step(each) for each in once for step in steps}
    spaced = {each.replace("+", " ") for each in (text, *once) if "+" in each}
    return once | twice | spaced | {unquote(each) for each in spaced}


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code:
            return chr(int(code, 16))
        return {"n": "\n", "r": "\r", "t": "\t"}.get(match[3], match[3])

    out = _ESCAPED.sub(plain, text)
    return out.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _spellings(char: str) -> str:
    """All ways to write one character of a value."""
    octets = char.encode("utf-8", "surrogatepass")
    units = char.encode("utf-16-be", "surrogatepass")
    code = ord(char)
    ways = [
        re.escape(char),
        "(?i:" + "".join(f"%(?:25)?{octet:02x}" for octet in octets) + ")",
        "(?i:" + "".join(f"{_SLASHES}u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)) + ")",
        "(?i:" + "".join(f"{_SLASHES}x{octet:02x}" for octet in octets) + ")",
        f"(?i:&(?:amp;)?\\#0{{0,8}}{code};|&(?:amp;)?\\#x0{{0,8}}{code:x};)",
        f"{_SLASHES}{re.escape(_SHORT.get(char, char))}",
    ]
    if code < 256:
        ways.append(f"(?i:{_SLASHES}x{code:02x})")
    if char in _NAMED:
        ways.append(f"(?i:&(?:amp;)?{_NAMED[char]};)")
    if char == " ":
        ways.append(r"\+")
    return f"(?:{'|'.join(ways)})"
