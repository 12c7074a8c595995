"""HEARTBEAT.md: what a project's people want looked at every so often; whether anything is asked in it at all.

When it is read, and by whom it is acted on, is decided elsewhere.
"""

import re
from pathlib import Path

from interlock.core.errors import InterlockError

LONGEST = 20_000
"""Characters. Source: row F2."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NO_WORDS = re.compile(r"\s*(?:#.*|[-*+]?\s*(?:\[[ xX]?\])?|-{3,}|={3,}|\*{3,}|_{3,}|`{3,})\s*")


def read(path: Path, workspaces: Path) -> str:
    """What is asked in the file, cut visibly where it is too long; empty if there is no file, or nothing in it.

    Headings, comments, blank lines and empty points ask nothing.

    Raises InterlockError if it cannot be read, or if it lies or leads to where agents write.
    """
    try:
        if path.resolve().is_relative_to(workspaces.resolve()):
            raise InterlockError(f"`{path.name}` is in a workspace, where agents write: put it elsewhere")
        if not path.exists():
            return ""
        if not path.is_file():
            raise InterlockError(f"`{path.name}` is not a file: remove it, or write what is to be looked at")
        with path.open("rb") as file:
            data = file.read(4 * LONGEST + 1)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise InterlockError(f"`{path.name}` cannot be read: {problem}") from error
    text = data.decode("utf-8-sig", "replace")
    return _cut(text) if asks(text) else ""


def asks(text: str) -> bool:
    """Whether there is anything in it but headings, comments, blank lines and empty points."""
    return any(not _NO_WORDS.fullmatch(line) for line in _COMMENT.sub("", text).splitlines())


def prompt(name: str, text: str) -> str:
    """What the agent is told."""
    return (
        f"This is your regular look at {name}, in which the people of this project have written what they want looked "
        "at every so often. Do what it asks for now, and nothing beyond it.\n\n"
        f"{text}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[cut here: only {LONGEST:,} characters are read]"
