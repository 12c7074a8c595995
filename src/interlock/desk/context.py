"""What the desk's operations take: the person who acts, and the settings, clock, store and policy of the open home."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from interlock.core.clock import Clock
from interlock.core.errors import InterlockError, Refused
from interlock.core.values import Actor, ActorKind
from interlock.settings import Settings
from interlock.store.engine import Store
from interlock.store.errors import StoreError
from interlock.store.signoff.approvals import ROLES_THAT_ANSWER

if TYPE_CHECKING:
    from interlock.policy.rules import Policy


class DeskContext(Protocol):
    """What most operations of the desk need. `Runtime` is one; surfaces that execute nothing open a smaller one."""

    @property
    def settings(self) -> Settings:
        """The settings."""

    @property
    def clock(self) -> Clock:
        """The clock."""

    @property
    def store(self) -> Store:
        """The open database."""

    @property
    def policy(self) -> "Policy":
        """The policy in force.

        Raises ConfigError if its file cannot be used.
        """


ROLES = ("viewer", "operator", "admin")
"""The roles: viewers look, operators also act, admins also manage people."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person whom a surface has authenticated.

    INVARIANT: only surfaces create one, from verified data, never from the content of a message.
    """

    id: str
    name: str
    role: str
    """viewer, operator or admin."""
    surface: str
    """The surface they use: cli, python, demo, …"""

    @property
    def is_operator(self) -> bool:
        """Whether they may act, as operators and admins may."""
        return self.role in ROLES_THAT_ANSWER

    @property
    def actor(self) -> Actor:
        """The person as an actor."""
        return Actor(ActorKind.HUMAN, self.id)


class Stopping(InterlockError):
    """This process is stopping before the result is available; the result is kept, and can be requested again."""

    def __init__(self) -> None:
        super().__init__("this process is stopping, and nothing is lost: ask again")


def is_outage(error: InterlockError) -> bool:
    """Whether the database is unavailable or this process is stopping, so that the request itself is not at fault."""
    return isinstance(error, (StoreError, Stopping))


def outage_message(error: InterlockError) -> str:
    """A message about an outage for clients, without the database's address or error."""
    if isinstance(error, StoreError):
        return "the database cannot be used just now: the log of this process says why"
    return str(error)


def require_operator(person: Person, what: str) -> None:
    """Checks that a person is an operator or admin.

    Raises Refused for anybody else.
    """
    if not person.is_operator:
        raise Refused(f"{person.name} is a {person.role} and may not {what}: ask an admin for the role operator")
