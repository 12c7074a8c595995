"""Cron by looking at every minute of two years on a zone's clocks; shares nothing with what it is held against.

Minutes are counted from the begin of these years; those of a clock as if it were never changed.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

SINCE, MINUTES = datetime(2026, 1, 1, tzinfo=UTC), 2 * 365 * 24 * 60
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
BLOCK = 30
"""Minutes in which no zone changes its clocks: it does so at whole half hours."""


class Shown(NamedTuple):
    """What a clock shows at the begin of a block."""

    clock: int
    month: int
    day: int
    weekday: int
    hour: int
    minute: int


def read(at: datetime) -> Shown:
    """A clock's face, from what it shows as a naive time."""
    clock = (at - SINCE.replace(tzinfo=None)) // timedelta(minutes=1)
    return Shown(clock, at.month, at.day, at.isoweekday() % 7, at.hour, at.minute)


@cache
def clocks(zone: str) -> list[Shown]:
    """What the clocks show at the begin of each block."""
    there = ZoneInfo(zone)
    starts = (SINCE + timedelta(minutes=n) for n in range(0, MINUTES, BLOCK))
    return [read(start.astimezone(there).replace(tzinfo=None)) for start in starts]


@cache
def changes(zone: str) -> list[datetime]:
    """The moments at which the clocks are changed."""
    shown = clocks(zone)
    changed = [n for n in range(1, len(shown)) if shown[n].clock != shown[n - 1].clock + BLOCK]
    return [SINCE + timedelta(minutes=n * BLOCK) for n in changed]


class Oracle:
    """All moments of two years at which an expression is due, minute by minute."""

    def __init__(self, text: str, zone: str) -> None:
        parts = text.split()
        ranges = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
        fields = [field(part, low, high) for part, (low, high) in zip(parts, ranges, strict=True)]
        self.minutes, self.hours, self.days, self.months, self.weekdays = fields
        self.either = not parts[2].startswith("*") and not parts[4].startswith("*")
        self.within = {at: [n for n in range(BLOCK) if at + n in self.minutes] for at in (0, 30)}
        by_elapsed_time = len(self.hours) == 24
        self.due = sorted(set(self.elapsed(zone) if by_elapsed_time else self.by_the_wall(zone)))

    def after(self, moment: datetime) -> datetime | None:
        """The first one after a moment; None if the two years end before it."""
        at = bisect_right(self.due, (moment - SINCE) // timedelta(minutes=1))
        return SINCE + timedelta(minutes=self.due[at]) if at < len(self.due) else None

    def matching(self, shown: Shown) -> Sequence[int]:
        """The minutes of the block that a clock begins so and that match, from its begin. Source: crontab(5)."""
        if shown.hour not in self.hours or shown.month not in self.months:
            return ()
        is_day = shown.day in self.days
        is_weekday = shown.weekday in self.weekdays or (shown.weekday == 0 and 7 in self.weekdays)
        matches = (is_day or is_weekday) if self.either else (is_day and is_weekday)
        return self.within[shown.minute] if matches else ()

    def elapsed(self, zone: str) -> Iterator[int]:
        """Whenever the clocks show it."""
        for block, shown in enumerate(clocks(zone)):
            yield from (block * BLOCK + n for n in self.matching(shown))

    def by_the_wall(self, zone: str) -> Iterator[int]:
        """When the clocks show it first, or have left it out."""
        latest = clocks(zone)[0].clock
        for block, shown in enumerate(clocks(zone)):
            for left_out in range(latest, shown.clock, BLOCK):
                face = read(SINCE.replace(tzinfo=None) + timedelta(minutes=left_out))
                yield from (block * BLOCK for _ in self.matching(face))
            yield from (block * BLOCK + n for n in self.matching(shown) if shown.clock + n >= latest)
            latest = max(latest, shown.clock + BLOCK)


def field(part: str, low: int, high: int) -> set[int]:
    """The values of one field of numbers."""
    found: set[int] = set()
    for item in part.split(","):
        span, _, step = item.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return found
