"""What can be set of agents: what they are shown and remember, whom they start, who talks to whom."""

from interlock.settings.part import Part
from interlock.settings.values import Count, ModelName, Seconds, Share, Tokens


class AgentSettings(Part):
    """How much of what was said agents are shown again.

    Source: numbers, "Session history limits", "Memory".
    """

    emergency_context_limit: Tokens = 200_000
    """Tokens of a prompt at which an agent is reset."""
    compact_at: Share = 0.8
    """Of the smaller of that limit and the model's window: from there on what was said is summed up."""
    chat_turns: Count = 30
    """Earlier runs in a chat of a connector, a page or a program."""
    command_line_turns: Count = 50
    background_turns: Count = 10
    """Of subagents, and of what schedules wake."""


class SubagentSettings(Part):
    """How many agents may be started by agents, and how long they live.

    Source: numbers, "Subagents".
    """

    most: Count = 30
    per_parent: Count = 3
    life_s: Seconds = 21_600.0


class WorkspaceChat(Part):
    """The built-in chat between agents and people.

    Source: numbers, "Chat".
    """

    context_messages: Count = 20
    """The last messages of a channel, or of a thread beside its root, that an agent is shown."""
    chain_depth: Count = 3
    """How many agents may answer each other before a person has spoken again."""


class Routing(Part):
    """Who answers what is addressed to nobody: trigger patterns where they are sure enough, else a model is asked.

    Source: row A13.
    """

    confidence: Share = 0.9
    model: ModelName | None = None
    """The one that is asked; the usual one where none is named."""


class MemorySettings(Part):
    """What agents recall, and when they forget.

    Source: numbers, "Memory".
    """

    recall: Count = 5
    daily_decay: Share = 0.9
    """A memory keeps so much of its weight over each day on which it was not used."""
    remove_below: Share = 0.05
    keep_importance: Share = 0.9
    """Facts of at least this importance are kept whatever their weight."""
    save_chats: bool = True
    """Whether something is kept of each chat when it ends: what it was about, and what people said of themselves."""
