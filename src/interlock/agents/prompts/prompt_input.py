"""The data behind the layers of a system prompt: who the agent is, where it works, what it knows.

How it reads is the layers' matter, where it comes from `prompt_data`'s and `background`'s.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from interlock.agents.persona import Persona
from interlock.llm.messages import ToolSpec

Mode = Literal["full", "minimal", "none"]
"""How much of a prompt there is. Source: row F2."""


@dataclass(frozen=True, slots=True)
class LessonNote:
    """A lesson as the prompt shows it. `kind` is win, error, fix or optimisation."""

    id: str
    kind: str
    rule: str
    confidence: float
    on_probation: bool = False
    is_untrusted: bool = False
    """Whether strangers' words are in its evidence, and no person has vouched for it."""
    disputed: str = ""
    """Where another one shown says the opposite: whether this one is the `newer` or the `older`."""


@dataclass(frozen=True, slots=True)
class FileNote:
    """A bootstrap file as it is shown: its name, and its text with secrets masked."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class BlockNote:
    """A block of core memory. Source: row H2."""

    label: str
    content: str
    is_untrusted: bool = False


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """A recalled memory. Source: row H3."""

    id: str
    kind: str
    text: str
    importance: float
    created_at: datetime
    is_untrusted: bool = False


@dataclass(frozen=True, slots=True)
class TaskNote:
    """A task that the persona is working on."""

    id: str
    title: str
    status: str
    priority: str
    blocked: str = ""
    """Why it is, where it is."""
    is_this: bool = False
    """Whether this run is about it."""


@dataclass(frozen=True, slots=True)
class SaidNote:
    """A message of a channel or a thread. `author_kind` is person, agent or system."""

    author_kind: str
    author: str
    text: str
    created_at: datetime
    is_untrusted: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where the agent's words are read. `kind` is that of its descriptor, `connector` that of a user's chat."""

    kind: str = ""
    connector: str = ""
    channel: str = ""
    """Of a room: its name, where that is known."""


@dataclass(frozen=True, slots=True)
class PromptData:
    """The data of all layers of a system prompt.

    `model` is `provider/model`; `rules` are lessons that were promoted; `failures` names what could not be read
    (`lessons: database is locked`), each of which costs the prompt its optional layers.
    """

    persona: Persona
    tools: tuple[ToolSpec, ...]
    now: datetime
    agent_id: str
    project: str
    model: str
    timezone: str = "UTC"
    rules: tuple[LessonNote, ...] = ()
    lessons: tuple[LessonNote, ...] = ()
    max_turns: int | None = None
    run_budget_microusd: int | None = None
    failures: tuple[str, ...] = ()
    text_is_delivered: bool = False
    """Whether the final text is sent to somebody: in connector, command line and HTTP chats. Source: row J4."""
    mode: Mode = "full"
    place: Place = Place()
    host: str = ""
    codebase: tuple[str, ...] = ()
    """What the folder of the bootstrap files holds, in words: `a Git repository`."""
    heartbeat_s: float | None = None
    """How often the agent is sent HEARTBEAT.md; None if it is not."""
    files: tuple[FileNote, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """Of what cannot be shown: what, and why."""
    blocks: tuple[BlockNote, ...] = ()
    memories: tuple[MemoryNote, ...] = ()
    tasks: tuple[TaskNote, ...] = ()
    said: tuple[SaidNote, ...] = ()
    extra: str = ""
    """What who sent the message wants the agent to be told beside it."""
    clean: Callable[[str], str] = str
    """Takes out of a text what a model must not see; every layer goes through it, or through `clean_lines`."""
    clean_lines: Callable[[str], str] | None = None
    """The same of a text of which each line stands for itself; where there is none, `clean` gets line after line."""

    def offers(self, *names: str) -> bool:
        """Whether one of these tools is offered."""
        return not {tool.name for tool in self.tools}.isdisjoint(names)
