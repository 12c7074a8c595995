"""Requests from surfaces: a verified command, where it came from, and how to reply.

Commands are executed in `commands`; `reception` stores them and resumes them after a crash.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """The origin of a message, and the destination of the reply."""

    surface: str
    """slack or telegram."""
    channel: str
    """A channel's or chat's id."""
    thread: str | None = None
    user: str | None = None
    """The only person who should see the reply, if the surface supports that."""
    reply: Mapping[str, Any] = field(default_factory=dict)
    """What else the surface needs for the reply: `response_url`, `message_id`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A command or a button press.

    INVARIANT: only a surface that has verified the origin creates one; `identity` is from the verified part.
    """

    key: str
    """The same for every delivery of the same command: `slack:<trigger id>`, `telegram:<update id>`."""
    identity: str
    """`slack:U123`, `telegram:42`."""
    name: str
    """The sender's display name; shown, never trusted."""
    place: Place
    command: str
    """A command from the table, or whatever text was sent instead."""
    words: str = ""
    """The text after the command."""
    fields: Mapping[str, Any] | None = None
    """For a tap or a form, instead of text: `id`, `reason`, `note`, `args`."""
    said_at: float | None = None
    """When it was sent, in Unix time, according to the surface; None if unknown."""

    def to_json(self) -> dict[str, Any]:
        """The request as it is stored in the inbox."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Request":
        """The request that `to_json` made."""
        return cls(**{**data, "place": Place(**data["place"])})
