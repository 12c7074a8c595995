"""Settings of agents: how much history they see, what they remember, whom they may start, how messages are routed."""

from interlock.settings.part import Part
from interlock.settings.values import Attempts, Count, ModelName, Points, Seconds, Share, Tokens


class AgentSettings(Part):
    """How much of a conversation's history an agent sees, and how often a failed run of a task is retried.

    Source: numbers, "Session history limits", "Memory", "Other defaults".
    """

    emergency_context_limit: Tokens = 200_000
    """A prompt of so many tokens resets its agent."""
    compact_at: Share = 0.8
    """The share of the model's context window (or of that limit, if smaller) at which history is summarised."""
    chat_turns: Count = 30
    """How many earlier runs an agent sees in a chat or over HTTP."""
    command_line_turns: Count = 50
    """How many earlier runs an agent sees on the command line and in Python."""
    background_turns: Count = 10
    """How many earlier runs subagents and scheduled agents see."""
    task_tries: Attempts = 3
    """How often a task's run is tried in all before a person is asked; the steps of a workflow say it themselves."""


class DelegationSettings(Part):
    """How a task is assigned: the points of each part of a candidate's score.

    Source: row A5, numbers, "Delegation score".
    """

    capabilities: Points = 40.0
    """For having all the capabilities that a task requires; for some of them, the share."""
    none_required: Points = 20.0
    """The same for a task that requires none."""
    track_record: Points = 25.0
    """For tasks done without failing; a newcomer gets half."""
    intern: Points = 5.0
    """For the trust `intern`."""
    specialist: Points = 10.0
    """For the trust `specialist`."""
    lead: Points = 15.0
    """For the trust `lead`."""
    headroom: Points = 10.0
    """For a day's budget of which nothing is spent; for less, the share that is left."""
    triggers: Points = 10.0
    """For the persona's trigger words in the task, the most; one word is worth half."""
    active_task: Points = 2.5
    """What each task that a candidate is at work on takes away."""
    workload: Points = 10.0
    """What these tasks take away at most."""


class SubagentSettings(Part):
    """How many subagents agents may start, and how long these may run.

    Source: numbers, "Subagents".
    """

    most: Count = 30
    """How many subagents there may be at a time."""
    per_parent: Count = 3
    """How many subagents one agent may have at a time."""
    life_s: Seconds = 21_600.0
    """How long a subagent may live, in seconds."""


class WorkspaceChat(Part):
    """The built-in chat between agents and people.

    Source: numbers, "Chat".
    """

    context_messages: Count = 20
    """How many of the last messages of a channel or thread an agent sees."""
    chain_depth: Count = 3
    """How many agents may answer each other before a person has to speak."""


class Routing(Part):
    """Who answers messages that name nobody: by trigger patterns if they are sure enough, else by asking a model.

    Source: row A13.
    """

    confidence: Share = 0.9
    """How sure a choice must be, 0 to 1; below it, a model is asked, or a mission is not started."""
    model: ModelName | None = None
    """The model that routes messages; the usual one by default."""


class MemorySettings(Part):
    """What agents recall, and when memories are archived.

    Source: numbers, "Memory".
    """

    recall: Count = 5
    """How many memories an agent recalls for a run."""
    daily_decay: Share = 0.9
    """The share of its weight that a memory keeps for each day on which it is not used."""
    remove_below: Share = 0.05
    """Memories below this weight are removed."""
    keep_importance: Share = 0.9
    """Facts of at least this importance are kept whatever their weight."""
    save_chats: bool = True
    """Whether a memory of each chat is kept when it ends."""
