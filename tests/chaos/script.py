"""The scripted model for the chaos mission: five tasks, answered from each request alone; no server here."""

import json
import re
from collections.abc import Mapping
from typing import Any

from interlock.testing.messages_script import Answer, text, tool_use

GOAL = "Order ten chairs and pay for them"
MODEL = "claude-sonnet-5-5"
ORDERS = "clerk"
"""The persona that has the tools with effects outside."""
HEADINGS = {
    "# Plan a mission": "plan",
    "# Compile the mission": "compile",
    "# Learn from this mission": "learn",
    "# Task: Facts": "facts",
    "# Task: Stock": "stock",
    "# Task: Note": "note",
    "# Task: Pay": "pay",
    "# Task: Ship": "ship",
}
RESULTS = {
    "facts": "The chairs are good.",
    "stock": "Ten chairs are set aside.",
    "note": "The note is in note.md.",
    "pay": "The chairs are paid for.",
    "ship": "The chairs are on their way.",
}
DELIVERABLE = "# Order\n\n" + "\n".join(f"- {key.title()}: {RESULTS[key]}" for key in sorted(RESULTS))
CHECKS: list[dict[str, Any]] = [
    {"kind": "contains", "text": "- Pay: The chairs are paid for."},
    {"kind": "command", "argv": ["grep", "-q", "Ship"]},
]
"""What the mission must show before it counts as done."""
EFFECTS = {
    "set_stock": {"item": "chair", "count": 10},
    "pay": {"to": "the carpenter", "cents": 12_300},
    "ship": {"item": "chair", "count": 10},
}
"""What must happen outside, each once, by tool."""
_RESULT = re.compile(r"^### (\w+) \(\S+\)\n(.+)$", re.MULTILINE)


def _task(key: str, persona: str, kind: str, *depends_on: str) -> dict[str, Any]:
    return {
        "key": key, "title": key.title(), "description": f"Do {key}.", "persona": persona, "type": kind,
        "priority": "medium", "estimated_minutes": 10, "capabilities": [], "deliverable": "a text",
        "budget_share": 0.15, "depends_on": list(depends_on), "reviews": None,
    }  # fmt: skip


PLAN = {
    "summary": "Look at the chairs and set them aside, pay, then ship.",
    "tasks": [
        _task("facts", "research", "research"),
        _task("stock", ORDERS, "ops"),
        _task("note", "storyteller", "content"),
        _task("pay", ORDERS, "ops", "facts", "stock"),
        _task("ship", ORDERS, "ops", "pay", "note"),
    ],
}


def purpose_of(body: Mapping[str, Any]) -> tuple[str, int]:
    """The purpose of a request, and the number of earlier replies in its run."""
    messages = body["messages"]
    for position in range(len(messages) - 1, -1, -1):
        words = _words(messages[position])
        if messages[position]["role"] == "user" and (found := [p for h, p in HEADINGS.items() if words.startswith(h)]):
            return found[0], sum(message["role"] == "assistant" for message in messages[position + 1 :])
    raise AssertionError(f"a request that nobody expects: {_words(messages[-1])[:200]}")


def usage_of(purpose: str, turn: int) -> dict[str, int]:
    """The usage that the server reports and bills: different for each request."""
    return {"input_tokens": 200 + 7 * turn + len(purpose), "output_tokens": 80 + 11 * turn}


def answer(body: Mapping[str, Any]) -> Answer:
    """The reply to a request."""
    purpose, turn = purpose_of(body)
    return Answer(_blocks(purpose, turn, body), usage=usage_of(purpose, turn), piece_chars=200)


def _blocks(purpose: str, turn: int, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    match purpose, turn:
        case "plan", _:
            return [text(json.dumps(PLAN))]
        case "learn", _:
            return [text('{"lessons": []}')]
        case "compile", _:
            results = sorted(_RESULT.findall(_words(body["messages"][-1])))
            return [text("# Order\n\n" + "\n".join(f"- {title}: {line}" for title, line in results))]
        case "facts", 0:
            return [tool_use("toolu_facts", "file_list"), tool_use("toolu_word", "post_progress", message="looking")]
        case "note", 0:
            return [tool_use("toolu_look", "file_list")]
        case "note", 1:
            return [tool_use("toolu_note", "file_write", path="note.md", content="ten chairs\n")]
        case "stock", 0:
            return [tool_use("toolu_stock", "set_stock", **EFFECTS["set_stock"])]
        case (("pay" | "ship"), 0):
            return [tool_use(f"toolu_{purpose}", purpose, **EFFECTS[purpose])]
        case ("note", 2) | (_, 1):
            return [_submit(purpose)]
    return [text("Done.")]


def _submit(purpose: str) -> dict[str, Any]:
    said = {"title": purpose.title(), "summary": "in a line", "content": RESULTS[purpose]}
    return tool_use(f"toolu_hand_in_{purpose}", "submit_deliverable", **said)


def _words(message: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in message["content"] if block["type"] == "text")
