"""What another program's file says about an agent, with the line of each part; nothing is judged yet.

INVARIANT: nothing here runs, fills in or resolves anything that such a file says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.agents.prompts.quoting import one_line

MINIMAL = ("file_read", "file_list")
"""What one gets who had everything, or whose file does not say."""


@dataclass(frozen=True, slots=True)
class Named:
    """A value of a file, with its line."""

    word: str
    line: int


@dataclass(slots=True, kw_only=True)
class Foreign:
    """One agent of a foreign file. `notes` say what was left out, each `file:line: …`."""

    source: str
    line: int
    name: str
    role: str
    soul: str
    prompt: str | None = None
    tools: tuple[Named, ...] | None = ()
    """None: all that there are."""
    refused: frozenset[str] = frozenset()
    """Tools that it names as ones it must not have."""
    known: Mapping[str, str] = field(default_factory=dict)
    """Our name of each of that program's tools, where ours can do no more than theirs; a reason where it is dropped."""
    model: Named | None = None
    notes: list[str] = field(default_factory=list)

    def note(self, line: int, text: str) -> None:
        """Notes that something was not carried over."""
        self.notes.append(f"{self.source}:{line}: {one_line(self.name, limit=60)}: {text}")
