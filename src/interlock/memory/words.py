"""The search terms of texts: folded, without stop words and plurals.

Nothing is ranked or stored here; both databases get the same terms, so that they find the same.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from interlock.core.values import digest

LONGEST_WORD = 40
MOST_WORDS = 16
"""The most terms of a query."""
LONGEST_QUESTION = 2_000
"""The most characters of a query that are read."""
_SMALL = frozenset(
    "a about after again all also am an and any are as at be been before being both but by can could did do does doing "
    "done for from get got had has have having he her here him his how i if in into is it its just let like me might "
    "more most my no nor not of off on once only or other our out over own please re s same shall she should so some "
    "such t than that the their them then there these they this those through to too under until up us very was we "
    "were what when where which while who whom why will with would yes you your d ll m o ve y ok okay".split()
)
"""English stop words; those of other languages weigh little, because so many memories have them."""
_JOINED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF), (0x20000, 0x323AF),
)  # fmt: skip
"""Scripts without spaces between words, or with compounds unlike English: bigrams stand for words."""
_ACCENTS = ((0x0300, 0x036F), (0x0591, 0x05C7), (0x0610, 0x061A), (0x064B, 0x065F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF))


def words_of(text: str) -> Counter[str]:
    """The frequency of each term in a text; stop words count only if there are no others."""
    found = list(_words(_folded(text)))
    return Counter([_stem(word) for word in found if word not in _SMALL] or map(_stem, found))


def query_terms(text: str) -> tuple[str, ...]:
    """The terms of a query: the longest ones, which are the rarest, in a fixed order."""
    return _query_terms(text[:LONGEST_QUESTION])


@lru_cache(maxsize=256)
def _query_terms(text: str) -> tuple[str, ...]:
    found = words_of(text)
    return tuple(sorted(found, key=lambda word: (-len(word), word))[:MOST_WORDS])


def same_text(text: str) -> str:
    """A digest of a text, independent of spacing, case and final punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return digest(" ".join(plain.split()).rstrip(".!; "))


def _folded(text: str) -> str:
    """Lower case and compatibility form without accents; ASCII is the common case."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(char for char in plain if not _within(char, _ACCENTS) and unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFC", kept)


def _within(char: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    code = ord(char)
    return code >= ranges[0][0] and any(first <= code <= last for first, last in ranges)


def _words(folded: str) -> Iterator[str]:
    spaced = "".join(char if char.isalnum() or (char > "\x7f" and _is_mark(char)) else " " for char in folded)
    for run in spaced.split():
        if run.isascii():
            yield run[:LONGEST_WORD]
        else:
            yield from _pieces(run)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _pieces(run: str) -> Iterator[str]:
    """A run of letters as it is, or its bigrams if its script joins words."""
    start = 0
    while start < len(run):
        is_joined, end = _within(run[start], _JOINED), start + 1
        while end < len(run) and _within(run[end], _JOINED) is is_joined:
            end += 1
        piece = run[start:end]
        if not is_joined:
            yield piece[:LONGEST_WORD]
        elif len(piece) == 1:
            yield piece
        else:
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        start = end


def _stem(word: str) -> str:
    """A common form of a word and its plural; not itself a word."""
    if len(word) < 4 or not word.isascii() or word.isdigit():
        return word
    if word.endswith(("ies", "sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif word[-1] == "s" and word[-2] not in "sui":
        word = word[:-1]
    if len(word) > 3 and word[-1] == "e":
        return word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word[-1] == "y" else word
