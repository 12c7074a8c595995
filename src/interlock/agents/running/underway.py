"""What a run has under way: the tool calls of its last step, and a model call.

What comes of either is the session's job.
"""

from dataclasses import dataclass
from typing import Any

from interlock.tools.execute import ENDED


@dataclass(slots=True)
class CallState:
    """A tool call of the current step, with the columns of a `tool_calls` row."""

    id: str
    position: int
    call_id: str
    tool: str
    args: Any
    risk: str
    status: str
    approval_id: str | None = None
    result: str | None = None
    is_error: bool = False
    simulated: bool = False
    token: str = ""
    """What outside services are given to tell a repeat from a new request. Source: row E9."""

    @property
    def is_open(self) -> bool:
        """Whether it has no outcome yet."""
        return self.status not in ENDED


@dataclass(slots=True)
class InFlight:
    """A model call under way, to be booked if it is cut off."""

    prompt_tokens: int
    streamed_chars: int = 0
