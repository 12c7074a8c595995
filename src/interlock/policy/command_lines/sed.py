"""Finds the side effects of a `sed` script: programs it runs, files it writes and reads.

The command line of `sed` is judged in `program_rules`.
"""

import re
from dataclasses import dataclass, field

_ADDRESS = re.compile(r"[0-9]+(?:~[0-9]+)?|\$|\+[0-9]+|~[0-9]+")
_LABEL = re.compile(r"[^;\n}]*")
_LINE = re.compile(r"(?:\\\n|[^\n])*")


@dataclass(slots=True)
class Effects:
    """The side effects of a script."""

    runs: bool = False
    """Whether it runs programs, or cannot be parsed reliably."""
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)


def effects(script: str) -> Effects:
    """Parses a script command by command; one that cannot be parsed counts as running programs."""
    found = Effects()
    at = 0
    while at < len(script):
        at = _command(script, at, found)
        if at < 0:
            found.runs = True
            return found
    return found


def _command(text: str, at: int, found: Effects) -> int:
    """The position of the next command; -1 if this one cannot be parsed."""
    at = _spaces(text, at, " \t\n;{}")
    for _ in range(2):
        at = _address(text, at)
        if at < 0:
            return -1
        at = _spaces(text, at, " \t")
        if text[at : at + 1] != ",":
            break
        at = _spaces(text, at + 1, " \t")
    at = _spaces(text, at, " \t!")
    if at >= len(text):
        return at
    letter, rest = text[at], at + 1
    if letter in "sy":
        return _substitution(text, rest, found, flags=letter == "s")
    if letter in "aic#":
        return _end(_LINE, text, rest)
    if letter in "rRwW":
        end = _end(_LINE, text, rest)
        (found.writes if letter in "wW" else found.reads).append(text[rest:end].strip())
        return end
    if letter in ":btT":
        return _end(_LABEL, text, rest)
    if letter in "{}=dDgGhHnNpPxzlqQF;\n":
        return rest + len(text[rest:]) - len(text[rest:].lstrip("0123456789 \t"))
    return -1


def _spaces(text: str, at: int, which: str) -> int:
    while at < len(text) and text[at] in which:
        at += 1
    return at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else len(text)


def _address(text: str, at: int) -> int:
    if (match := _ADDRESS.match(text, at)) is not None:
        return match.end()
    if text[at : at + 1] == "/":
        end = _closed(text, at + 1, "/")
    elif text[at : at + 1] == "\\" and at + 1 < len(text):
        end = _closed(text, at + 2, text[at + 1])
    else:
        return at
    while 0 <= end < len(text) and text[end] in "IM":
        end += 1
    return end


_BRACKETS = re.compile(r"\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]\n])*\]")


def _closed(text: str, at: int, sign: str, *, pattern: bool = True) -> int:
    """The position after the next delimiter that is neither escaped nor, in a pattern, in brackets; -1 if none."""
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == sign:
            return at + 1
        elif pattern and text[at] == "[":
            match = _BRACKETS.match(text, at)
            if match is None:
                return -1
            at = match.end()
        else:
            at += 1
    return -1


def _substitution(text: str, at: int, found: Effects, *, flags: bool) -> int:
    sign = text[at : at + 1]
    if not sign or sign in "\\\n":
        return -1
    at = _closed(text, at + 1, sign)
    at = _closed(text, at, sign, pattern=False) if at >= 0 else -1
    if at < 0:
        return -1
    while flags and at < len(text) and text[at] not in " \t\n;}":
        flag = text[at]
        at += 1
        if flag == "w":
            end = _end(_LINE, text, at)
            found.writes.append(text[at:end].strip())
            return end
        if flag not in "gpiImM0123456789":
            return -1
    return at
