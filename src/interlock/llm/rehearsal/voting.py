"""A vote by checks that need no understanding, so that a rehearsal shows the path of a question to three models.

It says nothing about whether a call is right or a work good.
"""

import json
import re
from typing import Any

from interlock.llm.rehearsal.protocol import Brief

_ENOUGH_CHARS = 200
_BLOCK = re.compile(r"```json\n(?P<inner>.*)\n```", re.DOTALL)


def vote(brief: Brief) -> dict[str, str]:
    """The verdict and its reason."""
    found = _BLOCK.search(brief.section("Question"))
    try:
        facts: Any = json.loads(found["inner"]) if found else {}
    except ValueError:
        facts = {}
    if not isinstance(facts, dict) or not facts:
        return {"verdict": "no", "reason": "Rehearsal: the question cannot be read."}
    if facts.get("what") == "dispute":
        return _on_work(str(facts.get("work") or ""))
    return {
        "verdict": "yes",
        "reason": f"Rehearsal: a person looks at `{facts.get('tool')}` next; this judges nothing.",
    }


def _on_work(work: str) -> dict[str, str]:
    if len(work) >= _ENOUGH_CHARS:
        return {"verdict": "yes", "reason": f"Rehearsal: the work is there, with {len(work)} characters."}
    return {"verdict": "no", "reason": f"Rehearsal: the work has only {len(work)} characters."}
