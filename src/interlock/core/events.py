"""Live events: their names and their shape; who sends and receives them is not known here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LIFECYCLE, ASSISTANT, TOOL, COMPACTION = "lifecycle", "assistant", "tool", "compaction"
"""Of runs. Source: S4 "Streaming Events"."""
TYPING, DONE = "agent_typing", "agent_done"
"""Of agents in a channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens now. `payload` is JSON without secrets; see interfaces, "SSE payloads"."""

    name: str
    payload: Mapping[str, Any]
    project_id: str
    run_id: str | None = None
    agent_id: str | None = None
    channel_id: str | None = None
    """Of what only members of that channel may see."""
    person_id: str | None = None
    """Of a conversation with an agent: whose it is. Of other people's, viewers are told nothing."""
    mission_id: str | None = None
    id: int | None = None
    """Of the row of the feed that it is; None for what is told without one."""
    is_relayed: bool = False
    """Whether another process told it."""
