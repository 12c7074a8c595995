"""Making text written by agents, users and the outside safe to stand between headings of a message.

What a message's headings are is the business of task_messages; nothing is judged or left out here except by length.
"""

import json
import unicodedata
from typing import Any

LONGEST_INPUT = 20_000


def quoted(text: str, *, limit: int | None = None) -> str:
    r"""The text with every line that would begin a heading escaped as Markdown does it: `\## Feedback`.

    INVARIANT: no line of the result begins, after blanks and invisible characters, with `#`.
    Line breaks of every kind become `\n`. Beyond `limit` characters it is cut, and says so.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit]
    lines = [_escaped(line) for line in cut.strip("\n").splitlines()]
    if len(cut) < len(text):
        lines.append(f"[cut here: {len(text) - len(cut):,} of {len(text):,} characters are left out]")
    return "\n".join(lines)


def one_line(text: str, *, limit: int = 200) -> str:
    """The text as a single line of at most `limit` characters, fit for a heading or a list item."""
    if text.isascii() and text.isprintable():
        visible = text
    else:
        visible = "".join(c if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp") else " " for c in text)
    line = " ".join(visible.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def json_block(value: Any) -> str:
    """A JSON value in a fenced block that nothing inside it can close.

    Raises ValueError for NaN and infinities, TypeError for anything that is not JSON.
    """
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    for char in "\x7f\x85\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"```json\n{text}\n```"


def _escaped(line: str) -> str:
    start = 0
    while start < len(line) and (line[start].isspace() or unicodedata.category(line[start]) in ("Cc", "Cf")):
        start += 1
    if line[start:].lstrip("\\").startswith("#"):
        return f"{line[:start]}\\{line[start:]}"
    return line
