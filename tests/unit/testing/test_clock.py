"""A clock that is told the time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from interlock.testing import FakeClock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_both_clocks_move_together() -> None:
    clock = FakeClock(NOON, monotonic=5.0)
    clock.advance(90)
    assert clock.now() == NOON + timedelta(seconds=90)
    assert clock.monotonic() == 95.0


def test_a_jump_of_the_wall_clock_leaves_durations_alone() -> None:
    clock = FakeClock(NOON, monotonic=5.0)
    clock.jump_to(NOON - timedelta(days=1))
    assert clock.now() == NOON - timedelta(days=1)
    assert clock.monotonic() == 5.0


def test_the_wall_clock_speaks_utc() -> None:
    assert FakeClock(NOON.astimezone(timezone(timedelta(hours=5)))).now().utcoffset() == timedelta(0)


def test_durations_never_shrink() -> None:
    with pytest.raises(ValueError, match="time does not go back"):
        FakeClock().advance(-1)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        FakeClock(NOON.replace(tzinfo=None))
