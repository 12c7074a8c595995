"""HEARTBEAT.md: a project's standing instructions, read at intervals; tells whether there are any.

When it is read, and who acts on it, is decided elsewhere.
"""

import re
from pathlib import Path

from interlock.core.errors import InterlockError

LONGEST = 20_000
"""In characters. Source: row F2."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NO_WORDS = re.compile(r"\s*(?:#.*|[-*+]?\s*(?:\[[ xX]?\])?|-{3,}|={3,}|\*{3,}|_{3,}|`{3,})\s*")


def read(path: Path, workspaces: Path) -> str:
    """The instructions in the file, visibly truncated if too long; empty if there is no file, or nothing in it.

    Headings, comments, blank lines and empty list items are no instructions.

    Raises InterlockError if it cannot be read, or if its path (or the target of a link) is where agents can write.
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
    """Whether there is anything but headings, comments, blank lines and empty list items."""
    return any(not _NO_WORDS.fullmatch(line) for line in _COMMENT.sub("", text).splitlines())


def prompt(name: str, text: str) -> str:
    """The message to the agent."""
    return (
        f"This is your regular look at {name}, in which the people of this project have written what they want looked "
        "at every so often. Do what it asks for now, and nothing beyond it.\n\n"
        f"{text}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[cut here: only {LONGEST:,} characters are read]"
