"""Bounds the cost of evaluating a condition, from its text, so that large arguments cannot block a process.

The engine has no limit of its own; `decide` holds calls that are too large for a condition.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_STEPS = 30_000
"""Loop iterations, each at most half a microsecond."""
MOST_COPIED = 1_000_000_000
FEW_LOOPS, FEW_SUMS = 4, 16
"""A condition with no more of these is cheap for any arguments of permitted size."""
_CHARACTERS_A_STEP = 256
_MOST_REPEATS = 250
_MACRO = re.compile(r"\.\s*(all|exists|exists_one|existsOne|map|filter)\s*\(")
_MATCHES = re.compile(r"\bmatches\s*\(")
_REPEATS = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")
_BUILDS = frozenset(("map", "filter"))


@dataclass(frozen=True, slots=True)
class Effort:
    """The limits for a condition with nested loops, or with many sums."""

    fields: frozenset[str] | None
    """The arguments that it reads; None for all."""
    most_values: int
    most_characters: int

    def exceeded_by(self, args: Mapping[str, Any]) -> bool:
        """Whether a call's arguments are too large for it; stops as soon as that is known."""
        rest: list[Any] = [args] if self.fields is None else [args[name] for name in self.fields if name in args]
        values = characters = 0
        while rest:
            value = rest.pop()
            values += 1
            if isinstance(value, str):
                characters += len(value)
            elif isinstance(value, dict):
                characters += sum(map(len, value))
                rest.extend(value.values())
            elif isinstance(value, (list, tuple)):
                rest.extend(value)
            if values + characters // _CHARACTERS_A_STEP > self.most_values or characters > self.most_characters:
                return True
        return False


def effort_of(plain: str, fields: frozenset[str] | None) -> Effort | None:
    """The limits of a condition without its literals (see `conditions`); None if it is cheap for any call.

    Raises ValueError if it would be too expensive for every call.
    """
    loops, sums, commas = len(_MACRO.findall(plain)), plain.count("+"), plain.count(",")
    degree = _degree(plain)
    copies: int = (1 + sums) ** (2 * (1 + sum(found in _BUILDS for found in _MACRO.findall(plain))))
    if degree <= 1 and loops <= FEW_LOOPS and sums <= FEW_SUMS:
        return None
    most_values = int((MOST_STEPS / max(loops, 1)) ** (1 / degree)) - commas if degree else MOST_STEPS
    most_characters = MOST_COPIED // copies
    if most_values < 1:
        raise ValueError("too many loops within loops: they could take seconds for every call")
    if most_characters < len(plain):
        raise ValueError("too many sums: they could take seconds for every call")
    return Effort(fields, most_values, most_characters)


def _degree(text: str) -> int:
    """The degree of the polynomial by which cost grows with the size of the arguments.

    A loop that builds a list, or that reads the arguments again in each iteration, copies them in each iteration.
    """
    worst = position = 0
    while found := _MACRO.search(text, position):
        position = closing(text, found.end())
        inner = text[found.end() : position]
        body = inner.partition(",")[2]
        own = 2 if found[1] in _BUILDS or re.search(r"\bargs\b", body) else 1
        worst = max(worst, own + _degree(inner))
    return worst


def closing(text: str, start: int) -> int:
    """The position of the parenthesis that closes the one opened before `start`."""
    depth = 1
    for position in range(start, len(text)):
        if text[position] in "([{":
            depth += 1
        elif text[position] in ")]}":
            depth -= 1
            if depth == 0:
                return position
    return len(text)


def patterns(source: str, plain: str) -> list[str | None]:
    """The patterns passed to `matches`, as written; None for one that is not a literal."""
    found: list[str | None] = []
    for call in _MATCHES.finditer(plain):
        end = closing(plain, call.end())
        start = call.end() + _last(plain[call.end() : end])
        found.append(source[start:end] if re.fullmatch(r"\s*0+\s*", plain[start:end]) else None)
    return found


def repeats_too_often(pattern: str) -> bool:
    """Whether a pattern takes long to compile, which is done for every call."""
    product = 1
    for least, most in _REPEATS.findall(pattern):
        product *= max(int(least), int(most or 0), 1)
    return product > _MOST_REPEATS


def _last(arguments: str) -> int:
    """The position of the last of several arguments."""
    depth, begins = 0, 0
    for position, letter in enumerate(arguments):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            begins = position + 1
    return begins
