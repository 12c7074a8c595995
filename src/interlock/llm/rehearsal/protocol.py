"""Reads what a prompt asks for: the headings and sections that every model is shown.

Deciding what to answer belongs to the modules beside this one.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest

from interlock.llm.messages import Message, ModelRequest, ToolResult, ToolUse


class Kind(StrEnum):
    """What is asked for."""

    TASK = "task"
    PLAN = "plan"
    COMPILE = "compile"
    LEARN = "learn"
    VOTE = "vote"
    ROUTE = "route"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Part:
    """Somebody's work as shown in a prompt."""

    title: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class PersonaLine:
    """A persona as shown to whoever plans."""

    name: str
    role: str
    task_types: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was made in this run, with its result if there is one."""

    use: ToolUse
    result: ToolResult | None

    @property
    def failed(self) -> bool:
        """Whether it brought nothing: an error, a denial, or no result at all."""
        return self.result is None or self.result.is_error


@dataclass(frozen=True, slots=True)
class Brief:
    """What is asked, and what was done about it so far."""

    kind: Kind
    title: str
    sections: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    persona: str = ""

    def section(self, name: str) -> str:
        """Its text as its author wrote it; empty if there is none."""
        return _ESCAPED.sub(r"\1\2", self.sections.get(name, ""))

    def parts(self, name: str) -> tuple[Part, ...]:
        """The pieces of work within a section."""
        return tuple(_parts(self.sections.get(name, "")))

    def made(self, tool: str) -> tuple[Call, ...]:
        """The calls of one tool, in order."""
        return tuple(call for call in self.calls if call.use.name == tool)


_HEADING = re.compile(
    r"^# (?:Task: (?P<task>.+)|(?P<plan>Plan a mission)|(?P<compile>Compile the mission)"
    r"|(?P<learn>Learn from this mission)|(?P<vote>Vote on a (?:call|dispute))|(?P<route>Route a message))[ \t]*$",
    re.MULTILINE,
)
_SECTION = re.compile(r"^## (.+?)[ \t]*$")
_PART = re.compile(r"^### (.+) \(([^()\s]+)\)[ \t]*$", re.MULTILINE)
_PERSONA = re.compile(r"^- ([\w-]+) \((.*?)\): (.*)$", re.MULTILINE)
_IDENTITY = re.compile(r"\b[Yy]ou are (?:the |an? )?\**([A-Z][\w-]*)")

_NAMES = {
    Kind.TASK: ("Description", "Type", "Expected deliverable", "Inputs", "Review", "Notes", "Feedback"),
    Kind.PLAN: ("Goal", "Personas", "Answer"),
    Kind.COMPILE: ("Goal", "Results", "Not done"),
    Kind.LEARN: ("Facts", "Answer"),
    Kind.VOTE: ("Question", "Answer"),
    Kind.ROUTE: ("Personas", "Workflows", "Message", "Answer"),
}
_ESCAPED = re.compile(r"^(\s*)\\(\\*#)", re.MULTILINE)
"""How a heading within others' text is written, so that it is none of the prompt's."""


def read_brief(request: ModelRequest) -> Brief:
    """What the latest prompt with a heading asks for; without one it is a chat."""
    persona = _persona(request)
    for position in range(len(request.messages) - 1, -1, -1):
        message = request.messages[position]
        if message.role == "user" and (heading := _HEADING.search(message.text)):
            kind = Kind(str(heading.lastgroup))
            sections = _sections(message.text[heading.end() :], _NAMES[kind])
            title = (heading["task"] or heading.group().removeprefix("# ")).strip()
            return Brief(kind, title, sections, _calls(request.messages[position + 1 :]), persona)
    asked = [message.text for message in request.messages if message.role == "user" and message.text.strip()]
    return Brief(Kind.CHAT, asked[-1].strip() if asked else "", {}, (), persona)


def read_personas(text: str) -> tuple[PersonaLine, ...]:
    """The personas of a planning prompt's list."""
    return tuple(_persona_line(*match.groups()) for match in _PERSONA.finditer(text))


def _persona_line(name: str, fields: str, role: str) -> PersonaLine:
    listed: dict[str, tuple[str, ...]] = {}
    for piece in fields.split(";"):
        label, _, values = piece.partition(":")
        listed[label.strip()] = tuple(value.strip() for value in values.split(",") if value.strip())
    return PersonaLine(
        name,
        role.strip(),
        listed.get("task types", ()),
        listed.get("triggers", ()),
        listed.get("capabilities", ()),
        listed.get("tools", ()),
    )


def _persona(request: ModelRequest) -> str:
    for part in request.system:
        if part.name in {"identity", "persona"} and (match := _IDENTITY.search(part.text)):
            return match[1]
    return ""


def _sections(text: str, names: tuple[str, ...]) -> dict[str, str]:
    collected: dict[str, list[str]] = {}
    current: str | None = None
    for line in text.splitlines():
        match = _SECTION.match(line)
        if match and match[1] in names and match[1] not in collected:
            current = match[1]
            collected[current] = []
        elif match:
            current = None
        elif current is not None:
            collected[current].append(line)
    return {name: "\n".join(lines).strip() for name, lines in collected.items()}


def _parts(text: str) -> Iterator[Part]:
    headings = list(_PART.finditer(text))
    for heading, following in zip_longest(headings, headings[1:]):
        end = following.start() if following else len(text)
        work = _ESCAPED.sub(r"\1\2", text[heading.end() : end].strip())
        yield Part(heading[1].strip(), heading[2], work)


def _calls(messages: tuple[Message, ...]) -> tuple[Call, ...]:
    results = {b.call_id: b for message in messages for b in message.blocks if isinstance(b, ToolResult)}
    return tuple(Call(use, results.get(use.id)) for message in messages for use in message.tool_uses)
