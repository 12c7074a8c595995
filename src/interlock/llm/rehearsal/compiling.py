"""A mission's deliverable from the results of its tasks."""

import re

from interlock.llm.rehearsal.planning import topic
from interlock.llm.rehearsal.protocol import Brief, Part
from interlock.llm.rehearsal.writing import MARK, fit, listed

_FRAME_CHARS = 1200


def compiled(brief: Brief, room: int) -> str:
    """One text: what was reached at a glance, each result, and what is not done."""
    parts = brief.parts("Results")
    goal = brief.section("Goal")
    share = max((room - _FRAME_CHARS) // max(len(parts), 1), 200)
    pieces = [f"# {topic(goal) or brief.title}", MARK, f"**Goal:** {' '.join(goal.split())}"]
    pieces.append("## At a glance\n\n" + (listed(parts) or "- No task has a result."))
    pieces += [f"## {part.title}\n\n{fit(_within(part), share).strip()}" for part in parts]
    if left := brief.section("Not done"):
        pieces.append(f"## Left open\n\n{left}")
    return fit("\n\n".join(pieces) + "\n", room)


def _within(part: Part) -> str:
    """A part's text without its title and mark, its headings one level down."""
    text = part.text.replace(MARK, "")
    text = re.sub(r"\A\s*# .+\n", "", text)
    return re.sub(r"^(#{1,5}) ", r"#\1 ", text, flags=re.MULTILINE).strip()
