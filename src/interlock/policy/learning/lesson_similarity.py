"""Compares two lessons by their words: the same, the opposite, or different.

If in doubt, they are different. Merging is in `memory.lesson_book`.
"""

import re
from enum import StrEnum

_WORD = re.compile(r"[^\W_]+(?:['’]t)?")
_NAMED = re.compile(r"`[^`]+`|“[^”]+”|\"[^\"]+\"|\d+")
_SMALL = frozenset("a an and as at be by for from in into is it its of on or that the then this to when with".split())
_NEGATION = frozenset("not no never don't don’t doesn't cannot can't without avoid stop neither nor".split())
_PAIRS = "before/after always/never more/less more/fewer first/last longer/shorter larger/smaller most/least"
_ANTONYMS = tuple(frozenset(pair.split("/")) for pair in _PAIRS.split())
_TURNS = re.compile(r"\b(?:before|after|instead|rather|than|over)\b", re.IGNORECASE)
"""Asymmetric words: exchanging their two sides changes the meaning."""
ALIKE = 0.8


class Likeness(StrEnum):
    """The relation of two rules."""

    SAME = "same"
    OPPOSITE = "opposite"
    OTHER = "other"


def likeness(one: str, other: str) -> Likeness:
    """Whether two rules say the same in nearly the same words, or the opposite. Source: row H9.

    Their quotations and numbers must be the same, in the same order.
    """
    if _named(one) != _named(other):
        return Likeness.OTHER
    a, b = _words(one), _words(other)
    turned = any((a & pair) and (b & pair) and (a & pair) != (b & pair) for pair in _ANTONYMS)
    apart = frozenset().union(*_ANTONYMS) if turned else frozenset()
    plain_a, plain_b = a - _NEGATION - apart, b - _NEGATION - apart
    if len(plain_a & plain_b) < ALIKE * max(1, len(plain_a | plain_b)):
        return Likeness.OTHER
    if turned or (_negations(one) - _negations(other)) % 2:
        return Likeness.OPPOSITE
    is_same = _negations(one) == _negations(other) and not _crossed(one, other)
    return Likeness.SAME if is_same else Likeness.OTHER


def _named(rule: str) -> list[str]:
    return list(dict.fromkeys(_NAMED.findall(rule.lower())))


def _words(rule: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(rule.lower())) - _SMALL


def _stem(word: str) -> str:
    """A word without the -s of a plural or a third person."""
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui'’" else word


def _negations(rule: str) -> int:
    return sum(word in _NEGATION for word in _WORD.findall(rule.lower()))


def _crossed(one: str, other: str) -> bool:
    """Whether two rules have their words on opposite sides of a word of order or preference."""
    (a_first, a_then), (b_first, b_then) = _sides(one), _sides(other)
    return bool(a_first & b_then) and bool(a_then & b_first)


def _sides(rule: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words on both sides of such a word; `Before that, do this` equals `Do this before that`."""
    first, *then = _TURNS.split(rule, maxsplit=1)
    if not then:
        return frozenset(), frozenset()
    if not first.strip() and "," in then[0]:
        then[0], _, first = then[0].partition(",")
    return _words(first), _words(then[0])
