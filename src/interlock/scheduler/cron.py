"""Parses cron expressions: five fields, as crontab(5) defines them; each fault is reported with its position.

When an expression is due in a time zone is computed in `timetable`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from interlock.core.errors import UsageError
from interlock.core.text import amount

LONGEST = 200
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST_MONTHS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_NUMBER = re.compile(r"[0-9]{1,4}")
MACROS: Mapping[str, str] = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """One of the five fields: its position, its name, and the values it takes."""

    number: int
    what: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)

    @property
    def range(self) -> str:
        """Its range of values, for people."""
        named = f", or {next(iter(self.names))} to {list(self.names)[-1]}" if self.names else ""
        return f"{self.low} to {self.high}{named}"


PLACES = (
    Place(1, "minute", 0, 59),
    Place(2, "hour", 0, 23),
    Place(3, "day of month", 1, 31),
    Place(4, "month", 1, 12, {name: n for n, name in enumerate(_MONTHS, 1)}),
    Place(5, "day of week", 0, 7, {name: n for n, name in enumerate(_DAYS)}),
)


class BadCron(UsageError):
    """An invalid expression, or one that never fires."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"cron `{text[:LONGEST]}`: {problem}")


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression as sets of values; `weekdays` are 0 (Sunday) to 6. Source: crontab(5)."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether a day may match either `days` or `weekdays`, since both are restricted; else it must match both."""

    @property
    def every_hour(self) -> bool:
        """Whether it matches every hour, so that it is due by elapsed time rather than by wall-clock time."""
        return len(self.hours) == 24

    @property
    def has_days(self) -> bool:
        """Whether any of its months has any of its days of the month."""
        return min(self.days) <= max(_LONGEST_MONTHS.get(month, 31) for month in self.months)


def parse(text: str) -> Cron:
    """Parses five fields, or a shorthand such as `@daily`.

    Raises BadCron, with the position of the first fault, or for an expression that never fires.
    """
    given = " ".join(text.split())
    fields = MACROS.get(given.lower(), given).split()
    if given.startswith("@") and given.lower() not in MACROS:
        raise BadCron(given, f"`{given[:20]}` is not a known schedule shorthand: use one of {', '.join(MACROS)}")
    if len(fields) != len(PLACES) or len(given) > LONGEST:
        raise BadCron(
            given,
            f"it has {amount(len(fields), 'field')} instead of 5: minute, hour, day of month, month, day of week",
        )
    values = [frozenset(_values(given, place, part.lower())) for place, part in zip(PLACES, fields, strict=True)]
    minutes, hours, days, months, weekdays = values
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    cron = Cron(given, minutes, hours, days, months, frozenset(day % 7 for day in weekdays), either)
    if not either and not cron.has_days:
        raise BadCron(given, f"it never fires: no month that it names has a day {min(days)}")
    return cron


def _values(text: str, place: Place, part: str) -> Iterator[int]:
    for item in part.split(","):
        span, slash, step_text = item.partition("/")
        first, dash, last = span.partition("-")
        if not item:
            raise _fault(text, place, part, "is not complete: there is nothing before or after a comma")
        if span == "*":
            low, high = place.low, place.high - (place.number == 5)
        else:
            low = _value(text, place, item, first)
            high = _value(text, place, item, last) if dash else low
            high = 7 if dash and place.number == 5 and high == 0 < low else high
        if slash and span != "*" and not dash:
            raise _fault(text, place, item, f"steps through a single value: write `{first}-{place.high}/{step_text}`")
        if high < low:
            raise _fault(text, place, item, f"runs backwards: write `{low}-{place.high},{place.low}-{high}`")
        yield from range(low, high + 1, _step(text, place, item, step_text) if slash else 1)


def _step(text: str, place: Place, item: str, step: str) -> int:
    most = place.high - place.low + (place.number != 5)
    if not _NUMBER.fullmatch(step) or not 1 <= int(step) <= most:
        raise _fault(text, place, item, f"has no step from 1 to {most} after its slash")
    return int(step)


def _value(text: str, place: Place, item: str, word: str) -> int:
    if word in place.names:
        return place.names[word]
    if not _NUMBER.fullmatch(word):
        raise _fault(text, place, item, f"is not understood: {place.range}, with `*` `,` `-` and `/`")
    if not place.low <= int(word) <= place.high:
        raise _fault(text, place, item, f"is out of range: {place.range}")
    return int(word)


def _fault(text: str, place: Place, item: str, problem: str) -> BadCron:
    return BadCron(text, f"field {place.number} ({place.what}): `{item[:40]}` {problem}")


def spans(values: Sequence[int]) -> str:
    """Sorted values as a list of ranges, such as `1-5,7`."""
    out: list[list[int]] = []
    for value in values:
        if out and value == out[-1][1] + 1:
            out[-1][1] = value
        else:
            out.append([value, value])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in out)
