"""How a run is told from outside why its task is cancelled; what follows from it is the runner's matter."""

from dataclasses import dataclass
from enum import Enum, auto


class Interruption(Enum):
    """Why the work on a run is cut off from outside."""

    SHUTDOWN = auto()
    """The process ends; the run goes on at the next start."""
    CONTROL = auto()
    """A person cancelled it."""


@dataclass(slots=True)
class Interrupt:
    """Set before a run's task is cancelled, to tell it why."""

    reason: Interruption | None = None
