"""Who stands at the desk, and the open parts that its operations need; no operation itself."""

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
    """What most operations need. `Runtime` is one; a surface that only looks and answers opens a smaller one."""

    @property
    def settings(self) -> Settings:
        """What the user has set."""

    @property
    def clock(self) -> Clock:
        """What tells the time."""

    @property
    def store(self) -> Store:
        """The open database."""

    @property
    def policy(self) -> "Policy":
        """What calls are decided by.

        Raises ConfigError if its file cannot be used.
        """


ROLES = ("viewer", "operator", "admin")
"""What a person can be: one who looks, one who also acts, one who also says who is what."""


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
    """Where they are: cli, python, demo, …"""

    @property
    def actor(self) -> Actor:
        """The person as who acts."""
        return Actor(ActorKind.HUMAN, self.id)


class Stopping(InterlockError):
    """This process ends before what was asked for is there; it is kept, and can be asked for again."""

    def __init__(self) -> None:
        super().__init__("this process is stopping, and nothing is lost: ask again")


def is_outage(error: InterlockError) -> bool:
    """Whether the database cannot be used, or this process stops: nothing is wrong with what was asked."""
    return isinstance(error, (StoreError, Stopping))


def outage_told(error: InterlockError) -> str:
    """What may be said of an outage over a network: not where the database is, nor what it answered."""
    if isinstance(error, StoreError):
        return "the database cannot be used just now: the log of this process says why"
    return str(error)


def require_operator(person: Person, what: str) -> None:
    """Lets operators and admins pass.

    Raises Refused for anybody else.
    """
    if person.role not in ROLES_THAT_ANSWER:
        raise Refused(f"{person.name} is a {person.role} and may not {what}: ask an admin for the role operator")
