"""Splits an SQL text into words: one reading for each way in which databases quote and comment.

The words are judged in `sql`, `sql_acts` and `sql_names`.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Reading(NamedTuple):
    """The words of a text without comments; quoted ones keep their quotes."""

    words: list[str]
    is_broken: bool
    """Whether a quote or comment is unterminated; the statement in which it begins is invalid."""
    is_usual: bool
    """Whether most databases would read the text like this."""


_END = "(?:{}|\\Z)"
"""What ends a quote: its delimiter, or the end of the text, so that no quote is searched twice."""
_BACKSLASHES = (
    r"'(?:[^'\\]|\\(?:.|\Z)|'')*+" + _END.format("'"),
    r'"(?:[^"\\]|\\(?:.|\Z)|"")*+' + _END.format('"'),
)
_PLAIN_TEXT, _PLAIN_NAME = r"'[^']*+(?:''[^']*+)*+'", r'"[^"]*+(?:""[^"]*+)*+"'
_TRIPLE = tuple(rf"{sign}{{3}}(?:[^\\]|\\.)*?" + _END.format(f"{sign}{{3}}") for sign in "'\"")
_BLOCK = r"/\*.*?\*/"
_DASHES, _HASH = r"--[^\n]*+", r"\#[^\n]*+"
_WORD, _NUMBER, _TICKS = r"[^\W\d][\w$]*+", r"0[xX][0-9A-Fa-f]++|\d[\d_]*+(?:\.\d*+)?+(?:[eE][+-]?\d++)?+", r"`[^`]*+`"
_BRACKETS = r"\[[^\]]*+" + _END.format(r"\]")
_HEREDOC = r"\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?" + _END.format(r"\$(?P=tag)\$")
_READINGS = {
    "plain": ((_DASHES,), (_PLAIN_TEXT, _PLAIN_NAME, _TICKS)),
    "postgres": ((_DASHES,), (f"[eE]{_BACKSLASHES[0]}", _PLAIN_TEXT, _PLAIN_NAME, _TICKS, _HEREDOC)),
    "brackets": ((_DASHES,), (_PLAIN_TEXT, _PLAIN_NAME, _TICKS, _BRACKETS)),
    "mysql": ((r"--(?=\s|$)[^\n]*+", _HASH), (*_BACKSLASHES, _TICKS)),
    "hashes": ((_DASHES, _HASH), (_PLAIN_TEXT, _PLAIN_NAME, _TICKS)),
    "escapes": ((_DASHES,), (*_BACKSLASHES, _TICKS, _HEREDOC)),
    "triple": ((_DASHES, _HASH), (*_TRIPLE, *_BACKSLASHES, _TICKS)),
    "slashes": ((_DASHES, r"//[^\n]*+"), (*_BACKSLASHES, _TICKS, _HEREDOC)),
}
"""By name: the line comments and the quotes that are recognised."""
_USUAL = frozenset(("plain", "postgres", "brackets", "mysql"))
_UNENDED = frozenset(("'", '"', "`", "/*"))
_TAG = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_SPACELESS = re.compile(r"--(?![\s-]|$)")


def readings(text: str) -> Iterator[Reading]:
    """Every reading of a text by a common database, each once."""
    seen: list[list[str]] = []
    for name in _names(text):
        words = _cut(name, text)
        if words not in seen:
            seen.append(words)
            yield Reading(words, _is_broken(name, words), name in _USUAL)


def _is_broken(name: str, words: list[str]) -> bool:
    if not words:
        return False
    last = words[-1]
    return not _UNENDED.isdisjoint(words) or (len(last) > 1 and not last.isalnum() and not _ended(name).fullmatch(last))


def _names(text: str) -> list[str]:
    escapes, heredocs = "\\" in text, "$" in text and _TAG.search(text) is not None
    names = ["postgres" if escapes or heredocs else "plain"]
    if escapes or heredocs:
        names += ["plain", "mysql", "escapes"]
    if "[" in text:
        names.append("brackets")
    if "#" in text:
        names += ["mysql", "hashes"]
    elif not escapes and "--" in text and _SPACELESS.search(text):
        names.append("mysql")
    if "'''" in text or '"""' in text:
        names.append("triple")
    if "//" in text:
        names.append("slashes")
    return names


def _cut(name: str, text: str) -> list[str]:
    pattern = _pattern(name)
    found = pattern.findall(text)
    words = [each[0] for each in found] if pattern.groups > 1 else found
    while words and not words[-1]:
        words.pop()
    return words


@cache
def _ended(name: str) -> re.Pattern[str]:
    """A pattern for a word, or a quote with its end."""
    kept = "|".join((*_READINGS[name][1], _WORD, _NUMBER))
    return re.compile(kept.replace(r"|\Z", ""), re.DOTALL)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    comments, quotes = _READINGS[name]
    skipped = "|".join((r"\s++", *comments, _BLOCK))
    kept = "|".join((*quotes, _WORD, _NUMBER, r"/\*", ".", r"\Z"))
    return re.compile(rf"(?:{skipped})*+({kept})", re.DOTALL)
