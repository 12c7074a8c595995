"""Who a message is for by the words in it, so that a rehearsal shows the path of what is addressed to nobody.

It understands nothing: whoever's words it has most of gets it, else the first who takes what is left.
"""

import json
import re
from typing import Any

from interlock.llm.rehearsal.planning import matches
from interlock.llm.rehearsal.protocol import Brief, read_personas

_BLOCK = re.compile(r"```json\n(?P<inner>.*)\n```", re.DOTALL)
_SURE, _GUESS = 0.7, 0.5


def route(brief: Brief) -> dict[str, Any]:
    """The choice, its confidence and its reason."""
    found = _BLOCK.search(brief.section("Message"))
    try:
        payload: Any = json.loads(found["inner"]) if found else {}
    except ValueError:
        payload = {}
    text = str(payload.get("text", "")) if isinstance(payload, dict) else ""
    people = read_personas(brief.section("Personas"))
    if not people or not text.strip():
        return {"target": "nobody", "work": False, "confidence": 0.0, "reason": "Rehearsal: nothing to go by."}
    hits = {each.name: [word for word in each.triggers if matches(word, text)] for each in people}
    best = max(people, key=lambda each: (len(hits[each.name]), _is_general(each.role)))
    words = hits[best.name]
    return {
        "target": best.name,
        "work": False,
        "confidence": _SURE if words else _GUESS,
        "reason": f"Rehearsal: {', '.join(words)}" if words else "Rehearsal: no word of anybody's is in it.",
    }


def _is_general(role: str) -> bool:
    return "follow-ups" in role.lower() or "process" in role.lower()
