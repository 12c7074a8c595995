"""Time as an argument: the wall clock for records, a monotonic clock for durations."""

import time
from datetime import UTC, datetime, tzinfo
from typing import Protocol


class Clock(Protocol):
    """A source of time; tests pass `interlock.testing.FakeClock`."""

    def now(self) -> datetime:
        """The wall clock as an aware UTC datetime; it may jump."""

    def monotonic(self) -> float:
        """Seconds that only ever grow, for leases and timeouts."""


def moment_of(text: str, zone: tzinfo | None) -> datetime:
    """The moment that an ISO date or time names, in UTC; one without a zone is in `zone`.

    Raises ValueError if it is none, OverflowError at the ends of the calendar.
    """
    found = datetime.fromisoformat(text.strip())
    return (found if found.tzinfo is not None else found.replace(tzinfo=zone)).astimezone(UTC)


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The wall clock as an aware UTC datetime."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()
