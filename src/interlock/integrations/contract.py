"""The interface of a surface's sender: post a message, edit it, find one of unknown outcome; and the answer of a
webhook.

Order, retries and outcomes are handled in `delivery`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from interlock.core.errors import InterlockError
from interlock.desk.chats.cards import Card


class Later(InterlockError):
    """A temporary failure; retry after `seconds`, if the surface gave a time.

    `needs_person` if nothing will be delivered until a person fixes something: people are alerted.
    """

    def __init__(self, why: str, seconds: float | None = None, *, needs_person: bool = False) -> None:
        self.seconds, self.needs_person = seconds, needs_person
        super().__init__(why)


class Undeliverable(InterlockError):
    """A permanent failure: the surface rejects the message."""


class DeliveryUnknown(InterlockError):
    """The request was sent and no response came: the outcome is unknown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The HTTP response of a surface's webhook."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message in its current form."""

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
    """Sends messages to a surface."""

    surface: str
    """slack, telegram or email."""
    repeats: bool
    """Whether a message of unknown fate that `find` does not find may be posted once more."""

    async def post(self, message: Message) -> str:
        """Posts it; returns the surface's reference to it.

        Raises Later, Undeliverable, DeliveryUnknown.
        """

    async def edit(self, message: Message) -> None:
        """Edits the posted message (`ref`) to match the card.

        Raises Later, Undeliverable, DeliveryUnknown.
        """

    async def find(self, message: Message) -> str | None:
        """The reference of a message that an earlier attempt may have posted; None if it is not there.

        Raises Later.
        """

    async def close(self) -> None:
        """Closes connections."""
