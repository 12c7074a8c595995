"""What a surface hands to the desk: a verified person's command, from where, and how the reply gets back.

How commands are carried out is in `commands`; how they are kept and taken up again after a crash, in `reception`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was said, and where the reply goes."""

    surface: str
    """slack or telegram."""
    channel: str
    """A channel's or chat's id."""
    thread: str | None = None
    user: str | None = None
    """Who alone is to see the reply, where the surface can do that."""
    reply: Mapping[str, Any] = field(default_factory=dict)
    """What else the surface needs to reply: `response_url`, `message_id`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One command or tap.

    INVARIANT: only a surface that has verified where it comes from builds one; `identity` is from the verified part.
    """

    key: str
    """The same for every delivery of the same command: `slack:<trigger id>`, `telegram:<update id>`."""
    identity: str
    """`slack:U123`, `telegram:42`."""
    name: str
    """What they call themselves; shown, never trusted."""
    place: Place
    command: str
    """A name of the table, or whatever they wrote instead."""
    words: str = ""
    """What follows the command."""
    fields: Mapping[str, Any] | None = None
    """Of a tap or a form, in place of words: `id`, `reason`, `note`, `args`."""
    said_at: float | None = None
    """When it was said, in Unix time, as the surface tells; None if it tells nothing."""

    def to_json(self) -> dict[str, Any]:
        """The request as it is kept in the inbox."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Request":
        """The request that `to_json` made."""
        return cls(**{**data, "place": Place(**data["place"])})
