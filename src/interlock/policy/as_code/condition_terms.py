"""Decomposes conditions into comparisons, to find those that can never hold and those implied by others.

Other expressions are opaque. Used for lint only, never for decisions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.policy.as_code.condition_cost import closing
from interlock.policy.as_code.conditions import blanked, constant

MOST_WAYS = 32
_PATH = r"[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*(?!\s*\())*"
_COMPARES = re.compile(rf"({_PATH})\s*(==|!=|<=|>=|<|>)\s*(.+)", re.DOTALL)
_TURNED = re.compile(rf"(.+?)\s*(==|!=|<=|>=|<|>)\s*({_PATH})", re.DOTALL)
_IN = re.compile(rf"({_PATH})\s+in\s+(\[.*\])", re.DOTALL)
_BEGINS = re.compile(rf"({_PATH})\s*\.\s*(startsWith|endsWith|contains)\s*\((.*)\)", re.DOTALL)
_MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in"}


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison, or (`sign` "" or "!") an opaque expression or its negation."""

    path: str
    sign: str
    value: Any = None

    def admits(self, value: Any) -> bool | None:
        """Whether a value of the path can satisfy it; None if unknown."""
        if self.sign in ("in", "not in"):
            return any(_equal(value, each) for each in self.value) is (self.sign == "in")
        if self.sign in ("==", "!="):
            return _equal(value, self.value) is (self.sign == "==")
        if self.sign in _MIRROR and _is_number(value) and _is_number(self.value):
            return _ordered(value, self.sign, self.value)
        if self.sign in ("startsWith", "endsWith", "contains") and isinstance(value, str):
            return bool(_TEXT[self.sign](value, self.value))
        return None


_TEXT = {"startsWith": str.startswith, "endsWith": str.endswith, "contains": str.__contains__}
Way = tuple[Term, ...]
"""Terms that must all hold: a conjunction."""
NEVER: tuple[Way, ...] = ()
ALWAYS: tuple[Way, ...] = ((),)


def ways(source: str) -> tuple[Way, ...]:
    """The disjunctive normal form of a condition; empty if it is constantly false."""
    return _ways(source, blanked(source))


def is_contradictory(way: Way, known: Mapping[str, Sequence[Any]]) -> bool:
    """Whether its terms cannot all hold. `known` maps paths to their only possible values."""
    texts = {(term.path, term.sign) for term in way if term.sign in ("", "!")}
    if any((path, "!") in texts for path, sign in texts if sign == ""):
        return True
    paths = {term.path for term in way if term.sign not in ("", "!")}
    return any(_excluded([term for term in way if term.path == path], known.get(path)) for path in paths)


def says_no_more(narrow: tuple[Way, ...], wide: tuple[Way, ...]) -> bool:
    """Whether `narrow` certainly implies `wide`."""
    return all(any(_implies(one, other) for other in wide) for one in narrow)


def _implies(one: Way, other: Way) -> bool:
    return all(_follows(term, one) for term in other)


def _follows(term: Term, way: Way) -> bool:
    if term in way:
        return True
    same = [each for each in way if each.path == term.path and each.sign not in ("", "!")]
    values = _values(same, None)
    if values is not None:
        return bool(values) and all(term.admits(value) is True for value in values)
    if term.sign not in _MIRROR or not _is_number(term.value):
        return False
    return any(
        each.sign in _MIRROR and each.sign[0] == term.sign[0] and _is_number(each.value)
        and (_ordered(each.value, term.sign[0], term.value)
             or (each.value == term.value and not (each.sign.endswith("=") and not term.sign.endswith("="))))
        for each in same
    )  # fmt: skip


def _excluded(terms: Sequence[Term], known: Sequence[Any] | None) -> bool:
    values = _values(terms, known)
    if values is not None:
        return not any(all(term.admits(value) is not False for term in terms) for value in values)
    lows = [term for term in terms if term.sign in (">", ">=") and _is_number(term.value)]
    highs = [term for term in terms if term.sign in ("<", "<=") and _is_number(term.value)]
    if any(
        low.value > high.value or (low.value == high.value and (low.sign, high.sign) != (">=", "<="))
        for low in lows for high in highs
    ):  # fmt: skip
        return True
    begins = [term.value for term in terms if term.sign == "startsWith"]
    ends = [term.value for term in terms if term.sign == "endsWith"]
    return any(not a.startswith(b) and not b.startswith(a) for a in begins for b in begins) or any(
        not a.endswith(b) and not b.endswith(a) for a in ends for b in ends
    )


def _values(terms: Sequence[Term], known: Sequence[Any] | None) -> list[Any] | None:
    """The values that equality comparisons leave for a path; None if unrestricted."""
    found: list[Any] | None = list(known) if known is not None else None
    for term in terms:
        if term.sign in ("==", "in"):
            these = [term.value] if term.sign == "==" else list(term.value)
            found = these if found is None else [each for each in found if any(_equal(each, v) for v in these)]
    return found


def _ways(source: str, plain: str) -> tuple[Way, ...]:
    source, plain = _unwrapped(source, plain)
    if "?" in plain:
        return _opaque(source, "")
    if len(parts := _split(source, plain, "||")) > 1:
        found = tuple(way for part in parts for way in _ways(*part))
        return found if len(found) <= MOST_WAYS else _opaque(source, "")
    if len(parts := _split(source, plain, "&&")) > 1:
        joined: tuple[Way, ...] = ALWAYS
        for part in parts:
            joined = tuple((*one, *other) for one in joined for other in _ways(*part))
            if len(joined) > MOST_WAYS:
                return _opaque(source, "")
        return joined
    if plain.startswith("!") and not plain.startswith("!="):
        return _denied(source[1:], plain[1:])
    return _term(source, plain)


def _denied(source: str, plain: str) -> tuple[Way, ...]:
    source, plain = _unwrapped(source, plain)
    if any(len(_split(source, plain, sign)) > 1 for sign in ("||", "&&")) or plain.startswith("!"):
        return _opaque(source, "!")
    found = _term(source, plain)
    if found in (NEVER, ALWAYS):
        return ALWAYS if found == NEVER else NEVER
    term = found[0][0]
    if term.sign in _OPPOSITE:
        return ((Term(term.path, _OPPOSITE[term.sign], term.value),),)
    return _opaque(source, "!")


def _term(source: str, plain: str) -> tuple[Way, ...]:
    try:
        value = constant(source)
    except ValueError:
        value = None
    if value is True or value is False:
        return ALWAYS if value else NEVER
    try:
        if found := _COMPARES.fullmatch(plain):
            return (_of(found[1], found[2], source[found.start(3) :]),)
        if found := _TURNED.fullmatch(plain):
            return (_of(found[3], _MIRROR.get(found[2], found[2]), source[: found.end(1)]),)
        if found := _IN.fullmatch(plain):
            return (_of(found[1], "in", source[found.start(2) :]),)
        if found := _BEGINS.fullmatch(plain):
            return (_of(found[1], found[2], source[found.start(3) : found.end(3)]),)
    except ValueError:
        pass
    return _opaque(source, "")


def _of(path: str, sign: str, literal: str) -> Way:
    value = constant(literal)
    if (sign == "in") is not isinstance(value, list):
        raise ValueError("not comparable")
    if sign in _TEXT and not isinstance(value, str):
        raise ValueError("not a text")
    return (Term("".join(path.split()), sign, value),)


def _opaque(source: str, sign: str) -> tuple[Way, ...]:
    return ((Term(" ".join(source.split()), sign),),)


def _unwrapped(source: str, plain: str) -> tuple[str, str]:
    """The expression without surrounding white space and parentheses."""
    while True:
        start = len(plain) - len(plain.lstrip())
        end = len(plain.rstrip())
        source, plain = source[start:end], plain[start:end]
        if not plain.startswith("(") or closing(plain, 1) != len(plain) - 1:
            return source, plain
        source, plain = source[1:-1], plain[1:-1]


def _split(source: str, plain: str, sign: str) -> list[tuple[str, str]]:
    """The parts between operators outside parentheses."""
    depth, begins, parts = 0, 0, []
    for position, letter in enumerate(plain):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and plain.startswith(sign, position):
            parts.append((source[begins:position], plain[begins:position]))
            begins = position + 2
    return [*parts, (source[begins:], plain[begins:])]


def _equal(one: Any, other: Any) -> bool:
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _ordered(one: Any, sign: str, other: Any) -> bool:
    if sign.startswith("<"):
        return bool(one < other or (sign == "<=" and one == other))
    return bool(one > other or (sign == ">=" and one == other))
