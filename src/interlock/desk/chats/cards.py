"""Cards: messages for chats, independent of a surface's format: a title, facts, texts, actions.

Their contents are composed in `drawing`; each surface renders them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Tone(StrEnum):
    """The tone of a card, for its colour."""

    PLAIN = "plain"
    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Fact:
    """A short value with its label."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A text. INVARIANT: what is approved is never shortened; a surface with a size limit uses several messages."""

    text: str
    heading: str | None = None
    verbatim: bool = False
    """A command, a diff, JSON: shown unformatted."""
    is_diff: bool = field(default=False, compare=False)
    """Whether we made the text by comparing two: a surface may colour its lines. Not what an agent says is a diff."""


@dataclass(frozen=True, slots=True)
class Action:
    """A button: the command `verb` with the id `target`."""

    verb: str
    """approve or deny."""
    label: str
    target: str
    needs_reason: bool = False
    """Whether the surface asks for a reason before it sends the command."""
    has_arguments: bool = False
    """Whether the arguments may be edited: a surface with forms offers that."""


@dataclass(frozen=True, slots=True)
class Card:
    """A message for people."""

    title: str
    facts: tuple[Fact, ...] = ()
    passages: tuple[Passage, ...] = ()
    actions: tuple[Action, ...] = ()
    footer: str = ""
    tone: Tone = Tone.PLAIN

    def to_json(self) -> dict[str, Any]:
        """The card as stored in the outbox."""
        return {
            "title": self.title,
            "facts": [[fact.label, fact.value] for fact in self.facts],
            "passages": [[p.text, p.heading, p.verbatim] for p in self.passages],
            "actions": [[a.verb, a.label, a.target, a.needs_reason, a.has_arguments] for a in self.actions],
            "footer": self.footer,
            "tone": str(self.tone),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Card":
        """The card that `to_json` made."""
        return cls(
            title=data["title"],
            facts=tuple(Fact(*fact) for fact in data["facts"]),
            passages=tuple(Passage(*passage) for passage in data["passages"]),
            actions=tuple(Action(*action) for action in data["actions"]),
            footer=data["footer"],
            tone=Tone(data["tone"]),
        )
