"""What the outbox asks of a surface: post a message, edit it, look for one whose fate is unknown; what a hook answers.

Order, retries and what became of a message are `delivery`'s job.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from interlock.core.errors import InterlockError
from interlock.desk.cards import Card


class Later(InterlockError):
    """The surface does not take it now; not before `seconds` from now, where it said so.

    `needs_person` where nothing gets through until somebody has put something right: people are told.
    """

    def __init__(self, why: str, seconds: float | None = None, *, needs_person: bool = False) -> None:
        self.seconds, self.needs_person = seconds, needs_person
        super().__init__(why)


class Undeliverable(InterlockError):
    """The surface will never take it as it is."""


class Unheard(InterlockError):
    """The request left and no answer came: nobody knows whether the message is there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a surface says to the service that posted to its hook."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as it is to be seen now."""

    key: str
    """The same at every attempt; a surface that can carry it along finds the message by it."""
    kind: str
    channel: str
    address: Mapping[str, Any]
    """Of the conversation: `thread`, `user`."""
    card: Card | None
    """None for a letter."""
    payload: Mapping[str, Any]
    """`response_url`, `message_id` of a reply; the letter."""
    root: str | None = None
    """What the surface calls the first message of the thread that this one belongs to."""
    ref: str | None = None
    """What the surface calls this message, once it has been posted."""


class Sender(Protocol):
    """A surface that messages go out to."""

    surface: str
    """slack, telegram or email."""
    repeats: bool
    """Whether a message of unknown fate that `find` does not find may be posted once more."""

    async def post(self, message: Message) -> str:
        """Posts it; returns what the surface calls it.

        Raises Later, Undeliverable, Unheard.
        """

    async def edit(self, message: Message) -> None:
        """Makes the posted message (`ref`) say what the card says now.

        Raises Later, Undeliverable, Unheard.
        """

    async def find(self, message: Message) -> str | None:
        """What the surface calls a message that an earlier attempt may have posted; None if it is not there.

        Raises Later.
        """

    async def close(self) -> None:
        """Lets go of connections."""
