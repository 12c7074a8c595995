"""A verdict on somebody's work by checks that need no understanding.

A rehearsal's verdict shows the path of a review; it says nothing about truth.
"""

import re

from interlock.llm.rehearsal.protocol import Brief
from interlock.llm.rehearsal.writing import MARK, fit

_ENOUGH_CHARS = 200
_UNFINISHED = re.compile(r"\b(?:lorem ipsum|tbd|fixme|xxx)\b|\[(?:insert|placeholder)", re.IGNORECASE)


def review(brief: Brief, room: int) -> tuple[str, str]:
    """The verdict, `pass` or `changes`, and the text with its reasons."""
    parts = brief.parts("Review")
    work = parts[-1].text if parts else brief.section("Review")
    checks = [
        (f"long enough to be useful ({len(work)} characters)", len(work) >= _ENOUGH_CHARS),
        ("ordered under headings or in a list", bool(re.search(r"^\s*(?:#|-|\d+\.)\s*\S", work, re.MULTILINE))),
        ("nothing left unfinished", not _UNFINISHED.search(work)),
        ("names what it is about", _related(brief.title, work)),
    ]
    verdict = "pass" if all(held for _, held in checks) else "changes"
    lines = "\n".join(f"- {'met' if held else 'not met'}: {what}" for what, held in checks)
    wanted = "\n".join(f"- Make it {what}." for what, held in checks if not held)
    pieces = [f"# {brief.title}", MARK, f"Verdict: {verdict}", f"## Checks\n\n{lines}"]
    if wanted:
        pieces.append(f"## What to change\n\n{wanted}")
    return verdict, fit("\n\n".join(pieces) + "\n", room)


def _related(title: str, work: str) -> bool:
    words = {word for word in re.findall(r"\w{4,}", title.lower()) if word != "review"}
    return not words or any(word in work.lower() for word in words)
