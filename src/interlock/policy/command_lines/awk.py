"""Finds the side effects of awk programs: programs they run, and files they write."""

import re

_SURE = re.compile(r"system\s*\(|getline[^;}\n)]*<|\"\s*/inet|@load|@include|@\w+\s*\(|ENVIRON", re.IGNORECASE)
_RUNS = re.compile(
    r"(?<!\|)\|(?!\|)\s*&?\s*(?:\"\"|[$a-z(])|\bprintf?\b[^;}\n]*>>?\s*(?:(?!\"\")[$a-z(]|\"\"\s*[\"$\w(])",
    re.IGNORECASE,
)
"""Constructs that run programs or write to a computed name, in a program without strings and patterns."""
_TOKEN = re.compile(r'"(?:(?s:\\.)|[^"\\\n])*"|#[^\n]*|/(?:\\.|\[\^?\]?[^\]\n]*\]|[^/\\\n\[])+/')
_BEFORE_PATTERN = re.compile(r"(?:[~({;,!&|}\n]|^|\b(?:print|return|else|do|case))\s*\Z")


def effects(text: str) -> tuple[bool, list[str]]:
    """Whether a program runs others or writes to a computed name; and the file names after `>`."""
    plain, targets = _bare(text)
    return _SURE.search(text) is not None or _RUNS.search(plain) is not None, targets


def _bare(text: str) -> tuple[str, list[str]]:
    """A program with empty strings and without patterns and comments; and the strings after `>`."""
    out, targets, at = [], [], 0
    while (found := _TOKEN.search(text, at)) is not None:
        start, sign = found.start(), found.group()[0]
        out.append(text[at:start])
        at = found.end()
        before = text[max(0, start - 100) : start]
        if sign == '"':
            out.append('""')
            targets += [found.group()[1:-1]] if before.rstrip().endswith(">") else []
        elif sign == "/" and not _BEFORE_PATTERN.search(before):
            out.append("/")
            at = start + 1
    return "".join((*out, text[at:])), targets
