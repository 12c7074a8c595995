"""The model's side of one mission, answered from each request alone, so that a repeated request is answered alike.

How the mission is executed, killed and looked at is elsewhere.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from interlock.testing.messages_script import Answer, Refusal, Scripted, text, thinking, tool_use

GOAL = "Choose a session store for the web shop and tell Ana and Ben"
MODEL = "claude-sonnet-5-5"
ANA = {"to": ["ana@example.com"], "subject": "Session store", "body": "Hello Ana, we take Redis."}
BEN = {"to": ["ben@example.com"], "subject": "Session store", "body": "Hello Ben, we take Redis."}
PURPOSES = {
    "# Plan a mission": "plan",
    "# Compile the mission": "compile",
    "# Learn from this mission": "learn",
    "# Task: Facts": "facts",
    "# Task: Code": "code",
    "# Task: Mail": "mail",
}
_RESULT = re.compile(r"^### (\w+) \(\S+\)\n(.+)$", re.MULTILINE)
_INTO_CACHE, _FROM_CACHE = 300, 500
_LONGEST_WAIT_S = 60


def _task(key: str, persona: str, kind: str, *depends_on: str) -> dict[str, Any]:
    return {
        "key": key, "title": key.title(), "description": f"Do {key}.", "persona": persona, "type": kind,
        "priority": "medium", "estimated_minutes": 10, "capabilities": [], "deliverable": "a text",
        "budget_share": 0.3, "depends_on": list(depends_on), "reviews": None,
    }  # fmt: skip


PLAN = {
    "summary": "Find the facts and write the code at once, then tell people.",
    "tasks": [
        _task("facts", "research", "research"),
        _task("code", "coder", "engineering"),
        _task("mail", "operations", "email", "facts", "code"),
    ],
}


@dataclass(frozen=True)
class Asked:
    """A request as the script understands it: for what, and how many replies its run has had before."""

    purpose: str
    turn: int
    body: Mapping[str, Any]
    number: int

    @property
    def name(self) -> str:
        """Such as `facts:0`."""
        return f"{self.purpose}:{self.turn}"


Interference = Callable[[Asked], Awaitable[Scripted | None]]
"""Happens before a request is answered; what it returns is answered instead, None changes nothing."""


@dataclass
class Story:
    """The script. `interferences` are by name of a request and happen once each."""

    interferences: dict[str, Interference] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Requests that no provider would take, or that nobody expects."""
    most_at_once: int = 0
    together: frozenset[str] = frozenset()
    """Requests that are answered only once all of them are there."""
    _open: int = 0
    _arrived: set[str] = field(default_factory=set)
    _all_there: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, body: dict[str, Any], number: int) -> Scripted:
        try:
            asked = understand(body, number)
            check_order(body)
            check_echo(asked)
        except AssertionError as error:
            self.faults.append(str(error))
            return Refusal(400, "invalid_request_error", str(error))
        self.asked.append(asked)
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            await self._gather(asked)
            interference = self.interferences.pop(asked.name, None)
            instead = await interference(asked) if interference is not None else None
            return instead if instead is not None else answer(asked)
        finally:
            self._open -= 1

    def count(self, name: str) -> int:
        """How often a request came."""
        return sum(asked.name == name for asked in self.asked)

    def last(self, name: str) -> Asked:
        """The latest request of a name."""
        return next(asked for asked in reversed(self.asked) if asked.name == name)

    async def _gather(self, asked: Asked) -> None:
        if asked.name in self.together:
            self._arrived.add(asked.name)
            if self._arrived == self.together:
                self._all_there.set()
            await asyncio.wait_for(self._all_there.wait(), _LONGEST_WAIT_S)


def understand(body: Mapping[str, Any], number: int = 0) -> Asked:
    """What a request is for, by the last heading that its user wrote."""
    messages = body["messages"]
    for position in range(len(messages) - 1, -1, -1):
        words = words_of(messages[position])
        if messages[position]["role"] == "user" and (found := [p for h, p in PURPOSES.items() if words.startswith(h)]):
            turn = sum(m["role"] == "assistant" for m in messages[position + 1 :])
            return Asked(found[0], turn, body, number)
    raise AssertionError(f"a request that nobody expects: {words_of(messages[-1])[:200]}")


def words_of(message: Mapping[str, Any]) -> str:
    """All text of a message."""
    return "\n".join(block["text"] for block in message["content"] if block["type"] == "text")


def usage_of(asked: Asked) -> dict[str, int]:
    """What the server reports: another count for each request."""
    later = asked.turn > 0
    return {
        "input_tokens": 200 + 7 * asked.turn + len(asked.purpose),
        "output_tokens": 80 + 11 * asked.turn,
        "cache_creation_input_tokens": 40 if later else _INTO_CACHE,
        "cache_read_input_tokens": _FROM_CACHE if later else 0,
    }


def cost_of(usage: Mapping[str, int]) -> int:
    """What a usage as the server reports it costs by the shipped table, in micro-dollars, rounded up."""
    table = json.loads(files("interlock.llm").joinpath("prices.json").read_text("utf-8"))
    row = next(m for m in table["models"] if m["model"] == MODEL)
    band = row["bands"][0]
    prompt = usage["input_tokens"] * 1000
    prompt += usage["cache_creation_input_tokens"] * row["cache_write_5m_permille"]
    prompt += usage["cache_read_input_tokens"] * row["cache_read_permille"]
    return int(-(-(prompt * band["input"] + usage["output_tokens"] * band["output"] * 1000) // 10**9))


def answer(asked: Asked) -> Answer:
    """The reply to a request."""
    return Answer(blocks_of(asked), usage=usage_of(asked))


def blocks_of(asked: Asked) -> list[dict[str, Any]]:
    """The content of the reply to a request."""
    match asked.purpose:
        case "plan":
            return [text(json.dumps(PLAN))]
        case "learn":
            return [text('{"lessons": []}')]
        case "compile":
            results = sorted(_RESULT.findall(words_of(asked.body["messages"][-1])))
            return [text("# Decision\n\n" + "\n".join(f"- {title}: {line}" for title, line in results))]
        case "facts":
            return _facts(asked.turn)
        case "code":
            return _code(asked.turn)
    return _mail(asked.turn)


def _facts(turn: int) -> list[dict[str, Any]]:
    if turn == 0:
        return [
            thinking("What do I know of stores?", "sig-facts-0"),
            text("I look around first."),
            tool_use("toolu_f1", "teleport", to="the moon"),
            tool_use("toolu_f2", "post_progress", mesage="misspelled"),
            tool_use("toolu_f3", "file_write", path="locked/a.md", content="x"),
            tool_use("toolu_f4", "file_list"),
        ]
    if turn == 1:
        return [thinking("Then I hand in.", "sig-facts-1"), _submit("toolu_f5", "Facts", "Redis is fast.")]
    return [text("Done.")]


def _code(turn: int) -> list[dict[str, Any]]:
    if turn == 0:
        return [
            thinking("A file.", "sig-code-0"),
            tool_use("toolu_c1", "file_write", path="store.py", content="R = 1\n"),
        ]
    if turn == 1:
        return [tool_use("toolu_c2", "file_read", path="store.py"), tool_use("toolu_c3", "post_progress", message="ok")]
    if turn == 2:
        return [_submit("toolu_c4", "Code", "The code is in store.py.")]
    return [text("Done.")]


def _mail(turn: int) -> list[dict[str, Any]]:
    if turn == 0:
        return [
            thinking("Both are to know.", "sig-mail-0"),
            tool_use("toolu_m1", "send_email", **ANA),
            tool_use("toolu_m2", "send_email", **BEN),
        ]
    if turn == 1:
        return [thinking("That is all.", "sig-mail-1"), _submit("toolu_m3", "Mail", "People were told.")]
    return [text("Done.")]


def _submit(ident: str, title: str, content: str) -> dict[str, Any]:
    return tool_use(ident, "submit_deliverable", title=title, summary=f"{title} in a line", content=content)


def check_order(body: Mapping[str, Any]) -> None:
    """Sides alternate from the user on; the next message answers all calls of one, first of all and in their order."""
    due: list[str] = []
    for position, message in enumerate(body["messages"]):
        assert message["role"] == ("assistant" if position % 2 else "user")
        kinds = [block["type"] for block in message["content"]]
        given = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert given == due
        assert kinds[: len(due)] == ["tool_result"] * len(due)
        due = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    assert not due


def check_echo(asked: Asked) -> None:
    """What the model said before comes back as it was said, thinking and its signatures included."""
    said = [message["content"] for message in asked.body["messages"] if message["role"] == "assistant"]
    for turn, content in enumerate(said[len(said) - asked.turn :]):
        plain = [{k: v for k, v in block.items() if k != "cache_control"} for block in content]
        assert plain == blocks_of(Asked(asked.purpose, turn, asked.body, 0))
