"""Signals that stop a run from outside, at once or after its step; the runner acts on them."""

import asyncio
from dataclasses import dataclass, field
from enum import Enum, auto


class Interruption(Enum):
    """Why work on a run is interrupted from outside."""

    SHUTDOWN = auto()
    """The process ends; the run goes on at the next start."""
    SILENCE = auto()
    """The worker could not show for long that it is alive: others may be given the run."""
    STOP = auto()
    """A person stopped the squad or quarantined the agent; the run goes on where it was once that is lifted."""
    CONTROL = auto()
    """A person cancelled it."""

    @property
    def is_at_once(self) -> bool:
        """Whether running tool calls get no time to end by themselves."""
        return self is not Interruption.SHUTDOWN


@dataclass(slots=True)
class Interrupt:
    """Shared by a worker and a run. `reason` is set before the run's task is cancelled."""

    reason: Interruption | None = None
    has_begun: bool = False
    """Whether the run's task has; one that has not only gets a reason, since a cancelled one would never be run."""
    _pausing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pausing(self) -> bool:
        """Whether the run is to be handed back after its current step."""
        return self._pausing.is_set()

    def pause(self, *, wanted: bool) -> None:
        """Asks the run to be handed back after its current step, or withdraws that."""
        if wanted:
            self._pausing.set()
        else:
            self._pausing.clear()

    async def rest(self, seconds: float) -> None:
        """Returns after some seconds, or as soon as the run is to be handed back."""
        try:
            async with asyncio.timeout(seconds):
                await self._pausing.wait()
        except TimeoutError:
            return
