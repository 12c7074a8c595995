"""A clock that tells the time it was told; the real one is `core.clock`."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """A `Clock` that only moves when it is told to."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC), monotonic: float = 1000.0) -> None:
        if now.tzinfo is None:
            raise ValueError("a clock needs an aware datetime")
        self._now, self._monotonic = now.astimezone(UTC), monotonic

    def now(self) -> datetime:
        """The wall clock."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Lets time pass on both clocks. Raises ValueError for a step back."""
        if seconds < 0:
            raise ValueError("time does not go back: `jump_to` moves the wall clock alone")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def jump_to(self, now: datetime) -> None:
        """Sets the wall clock, forward or back; the monotonic one does not notice."""
        self._now = now.astimezone(UTC)
