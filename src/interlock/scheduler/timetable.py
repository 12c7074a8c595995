"""When a schedule is due: by a cron expression in a time zone (daylight saving included), or at an interval.

APScheduler finds the next wall-clock time; this module maps it to a point in time, exactly once even when clocks
change. Knows nothing of what is started.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from apscheduler.triggers.cron import CronTrigger

from interlock.core.errors import UsageError
from interlock.scheduler.cron import Cron, parse, spans

LEAST_S, MOST_S = 60.0, 366 * 86_400.0
LONGEST_FOLD = timedelta(hours=3)
"""The longest time by which a time zone's clocks are set back."""
_TICK = timedelta(microseconds=1)
_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,3})?\s*(?:sec|s|min|m|h|d|w)\s*)+")
_PART = re.compile(r"([0-9.]+)\s*([a-z]+)")


@dataclass(frozen=True, slots=True)
class Timetable:
    """When a schedule is due. Either `cron` or `every_s` is set."""

    cron: str | None
    every_s: float | None
    timezone: str
    anchor_at: datetime
    """The origin of intervals."""

    def after(self, moment: datetime) -> datetime:
        """The first due time after `moment`.

        When clocks go back, a repeated wall-clock time is due once, at its first occurrence; when they go forward, a
        skipped time is due at the first moment after the gap. An expression for every hour goes by elapsed time
        instead: it is due in both occurrences of a repeated hour, and not in a skipped one.
        """
        if self.every_s is not None:
            period = timedelta(seconds=self.every_s)
            return self.anchor_at + max(1, (moment - self.anchor_at) // period + 1) * period
        assert self.cron is not None
        return _clock(self.cron, self.timezone).after(moment)

    def following(self, moment: datetime, count: int) -> list[datetime]:
        """The next `count` due times after `moment`."""
        found: list[datetime] = []
        for _ in range(count):
            found.append(self.after(found[-1] if found else moment))
        return found


def timetable(
    *, cron: str | None, every: str | None, timezone: str, anchor_at: datetime
) -> Timetable:  # fmt: skip
    """A timetable from user input.

    Raises UsageError for an invalid expression, interval or time zone.
    """
    if (cron is None) == (every is None):
        raise UsageError('say when: either `--cron "0 9 * * 1-5"` or `--every 30m`')
    zone = _zone(timezone)
    if cron is not None:
        return Timetable(parse(cron).text, None, zone, anchor_at)
    assert every is not None
    return Timetable(None, interval(every), zone, anchor_at)


def stored(row: Any) -> Timetable:
    """The timetable of a row of `schedules`.

    Raises UsageError if the row's values are invalid.
    """
    if row.cron is not None:
        parse(row.cron)
        _zone(row.timezone)
    elif row.every_s is None or not row.every_s >= LEAST_S:
        raise UsageError("it has neither a cron expression nor an interval")
    return Timetable(row.cron, row.every_s, row.timezone, row.anchor_at)


def interval(text: str) -> float:
    """Seconds, from text such as `30m`, `1h30m` or `2d`.

    Raises UsageError if it is invalid, or shorter than a minute.
    """
    words = text.strip().lower()
    if not _SPAN.fullmatch(words):
        raise UsageError(f"`{text}` is not an interval: write it like `30m`, `2h`, `1h30m` or `1d`")
    total = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(words))
    if not LEAST_S <= total <= MOST_S:
        raise UsageError(f"an interval of `{text}` is out of range: from 60 s to 366 d")
    return total


def _zone(name: str) -> str:
    if name not in _zones():
        near = difflib.get_close_matches(name, sorted(_zones()), n=1, cutoff=0.7)
        meant = f", did you mean `{near[0]}`" if near else ""
        raise UsageError(f"`{name}` is not a time zone{meant}: write one such as `Europe/Berlin` or `UTC`")
    return name


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


class CronClock:
    """A cron expression in a time zone."""

    def __init__(self, cron: Cron, zone: ZoneInfo) -> None:
        self.cron, self.zone = cron, zone
        self._triggers = tuple(_triggers(cron))

    def after(self, moment: datetime) -> datetime:
        """The first due time after `moment`."""
        wall = moment.astimezone(self.zone).replace(tzinfo=None, fold=0)
        return self._by_elapsed_time(moment, wall) if self.cron.every_hour else self._by_the_wall(moment, wall)

    def _by_the_wall(self, moment: datetime, wall: datetime) -> datetime:
        """INVARIANT: a later wall-clock time never maps to an earlier moment: each counts when first reached."""
        return next(found for each in self._walls(wall) if (found := self._reached(each)) > moment)

    def _by_elapsed_time(self, moment: datetime, wall: datetime) -> datetime:
        goes_back = _offset(moment + LONGEST_FOLD, self.zone) < _offset(moment, self.zone)
        best: datetime | None = None
        for each in self._walls(wall - LONGEST_FOLD if goes_back else wall):
            first, second = self._moments(each)
            if best is not None and first >= best:
                return best
            if first.astimezone(self.zone).replace(tzinfo=None) == each:
                found = next((m for m in (first, second) if m > moment), None)
                best = found if best is None or (found is not None and found < best) else best
        raise AssertionError("an expression that fires once fires again")

    def _walls(self, start: datetime) -> Iterator[datetime]:
        """The matching wall-clock times from `start` on, as if every day had 24 hours."""
        at = start.replace(tzinfo=UTC)
        while True:
            found = min(trigger.get_next_fire_time(None, at) for trigger in self._triggers)
            yield found.replace(tzinfo=None, fold=0)
            at = found + _TICK

    def _moments(self, wall: datetime) -> tuple[datetime, datetime]:
        local = wall.replace(tzinfo=self.zone)
        return local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)

    def _reached(self, wall: datetime) -> datetime:
        """The moment at which a wall-clock time is first reached or passed."""
        first, second = self._moments(wall)
        if first.astimezone(self.zone).replace(tzinfo=None) == wall:
            return first
        low, high = second, first
        after = _offset(high, self.zone)
        while high - low > timedelta(seconds=1):
            middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
            low, high = (low, middle) if _offset(middle, self.zone) == after else (middle, high)
        return high


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    found = moment.astimezone(zone).utcoffset()
    assert found is not None
    return found


def _triggers(cron: Cron) -> Iterator[CronTrigger]:
    """One trigger, or two if either the day of the month or the weekday may match. APScheduler's Monday is 0.

    No trigger is made for days that do not exist: its search would never end.
    """
    days = spans(sorted(cron.days))
    weekdays = spans(sorted((day - 1) % 7 for day in cron.weekdays))
    kinds = [(days, "*"), ("*", weekdays)] if cron.either_day else [(days, weekdays)]
    for day, weekday in kinds if cron.has_days else kinds[1:]:
        yield CronTrigger(
            month=spans(sorted(cron.months)), day=day, day_of_week=weekday, hour=spans(sorted(cron.hours)),
            minute=spans(sorted(cron.minutes)), second=0, timezone=UTC,
        )  # fmt: skip


@lru_cache(maxsize=1_000)
def _clock(cron: str, timezone: str) -> CronClock:
    return CronClock(parse(cron), ZoneInfo(timezone))
