"""The person who uses the desk, and the open parts that its operations need; no operation itself."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from interlock.core.clock import Clock
from interlock.core.errors import InterlockError, Refused
from interlock.core.values import Actor, ActorKind
from interlock.settings import Settings
from interlock.store.approvals import ROLES_THAT_ANSWER
from interlock.store.engine import Store
from interlock.store.errors import StoreError

if TYPE_CHECKING:
    from interlock.policy.rules import Policy


class Office(Protocol):
    """What most operations need. `Runtime` is one; a surface that only shows and answers opens a smaller one."""

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
        """What calls are decided by.

        Raises ConfigError if its file cannot be used.
        """


ROLES = ("viewer", "operator", "admin")
"""The roles: viewers look, operators also act, admins also manage people."""


@dataclass(frozen=True, slots=True)
class Person:
    """A human being whom a surface has authenticated.

    INVARIANT: only surfaces build one, from what they have verified; never from what a message says.
    """

    id: str
    name: str
    role: str
    """viewer, operator or admin."""
    surface: str
    """The surface they use: cli, python, demo, …"""

    @property
    def actor(self) -> Actor:
        """The person as the actor of what they do."""
        return Actor(ActorKind.HUMAN, self.id)


class Stopping(InterlockError):
    """This process is stopping before the result is there; the result is kept, and can be asked for again."""

    def __init__(self) -> None:
        super().__init__("this process is stopping, and nothing is lost: ask again")


def is_outage(error: InterlockError) -> bool:
    """Whether the database is unavailable or this process is stopping, so that the request itself is not at fault."""
    return isinstance(error, (StoreError, Stopping))


def outage_told(error: InterlockError) -> str:
    """What a client may be told about an outage: neither where the database is nor what it answered."""
    if isinstance(error, StoreError):
        return "the database cannot be used just now: the log of this process says why"
    return str(error)


def require_operator(person: Person, what: str) -> None:
    """Checks that a person is an operator or admin.

    Raises Refused for anybody else.
    """
    if person.role not in ROLES_THAT_ANSWER:
        raise Refused(f"{person.name} is a {person.role} and may not {what}: ask an admin for the role operator")
