"""What people are shown in a chat, before it is anybody's format: a title, facts, texts, and what can be done.

What a card says of an approval or a mission is drawn up in `drawing`; how it looks is each surface's job.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Tone(StrEnum):
    """What a card is to be taken for at a glance."""

    PLAIN = "plain"
    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Fact:
    """One short thing, with what it is called."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A text. INVARIANT: what is approved is never shortened; a surface with little room uses several messages."""

    text: str
    heading: str | None = None
    verbatim: bool = False
    """A command, a diff, JSON: shown letter by letter."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a person can do with one tap: the command `verb` with the id `target`."""

    verb: str
    """approve or deny."""
    label: str
    target: str
    needs_reason: bool = False
    """Whether the surface asks for words before it sends the command."""
    has_arguments: bool = False
    """Whether it may be done with other arguments: a surface that has forms offers that beside it."""


@dataclass(frozen=True, slots=True)
class Card:
    """One message for people."""

    title: str
    facts: tuple[Fact, ...] = ()
    passages: tuple[Passage, ...] = ()
    actions: tuple[Action, ...] = ()
    footer: str = ""
    tone: Tone = Tone.PLAIN

    def to_json(self) -> dict[str, Any]:
        """The card as it is kept in the outbox."""
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
