"""Time as an argument: the wall clock for records, a monotonic clock for durations."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What tells the time; tests pass `interlock.testing.FakeClock`."""

    def now(self) -> datetime:
        """The wall clock as an aware UTC datetime; it may jump."""

    def monotonic(self) -> float:
        """Seconds that only ever grow, for leases and timeouts."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The wall clock as an aware UTC datetime."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()
