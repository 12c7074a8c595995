"""A schedule is due when the clocks on the wall say so, once on the nights when they are changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from interlock.core.errors import UsageError
from interlock.scheduler.timetable import Timetable, interval, timetable
from tests.unit.scheduler.oracle import MINUTES, SINCE, ZONES, Oracle, changes

ANCHOR = datetime(2026, 1, 1, 12, 0, 7, tzinfo=UTC)


def of(cron: str, zone: str = "UTC") -> Timetable:
    return timetable(cron=cron, every=None, timezone=zone, anchor_at=ANCHOR)


def shown(cron: str, zone: str, since: str, count: int) -> list[str]:
    """The next times on the clocks of a zone, from a time there."""
    there = ZoneInfo(zone)
    found = of(cron, zone).following(datetime.fromisoformat(since).replace(tzinfo=there), count)
    return [f"{at.astimezone(there):%d %H:%M%z}" for at in found]


def test_weekdays_are_those_of_cron_and_not_those_of_the_library() -> None:
    found = of("0 9 * * 1-5").following(datetime(2026, 11, 20, 10, tzinfo=UTC), 5)
    assert [f"{at:%a}" for at in found] == ["Mon", "Tue", "Wed", "Thu", "Fri"]
    assert {f"{at:%a}" for at in of("0 9 * * 0").following(ANCHOR, 10)} == {"Sun"}
    assert [f"{at:%a}" for at in of("0 9 * * 5-7").following(ANCHOR, 3)] == ["Fri", "Sat", "Sun"]


def test_either_kind_of_day_will_do_where_both_are_restricted() -> None:
    found = of("0 0 13 * 5").following(datetime(2026, 4, 3, 0, 0, tzinfo=UTC), 3)
    assert [f"{at:%a %d}" for at in found] == ["Fri 10", "Mon 13", "Fri 17"]


@pytest.mark.parametrize("cron", ["0 0 30 2 5", "0 0 31 2,4 5"])
def test_weekday_will_do_where_no_month_has_the_other_kind_of_day(cron: str) -> None:
    found = of(cron).following(datetime(2026, 2, 1, tzinfo=UTC), 4)
    assert [f"{at:%a %d}" for at in found] == ["Fri 06", "Fri 13", "Fri 20", "Fri 27"]


def test_job_in_the_hour_that_comes_twice_is_due_once() -> None:
    assert shown("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", 2) == ["25 02:30+0200", "26 02:30+0100"]
    assert shown("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00", 2) == ["05 01:45+1100", "06 01:45+1030"]


def test_job_in_the_hour_that_is_left_out_is_due_once_at_the_end_of_the_gap() -> None:
    assert shown("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", 2) == ["29 03:00+0200", "30 02:30+0200"]
    assert shown("10,20 2 * * *", "Europe/Berlin", "2026-03-28T12:00", 2) == ["29 03:00+0200", "30 02:10+0200"]
    assert shown("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00", 2) == ["29 03:00+0200", "30 02:00+0200"]
    assert shown("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", 2) == ["04 02:30+1100", "05 02:15+1100"]


def test_expression_for_every_hour_goes_by_elapsed_time() -> None:
    assert shown("30 * * * *", "Europe/Berlin", "2026-10-25T01:00", 4) == [
        "25 01:30+0200", "25 02:30+0200", "25 02:30+0100", "25 03:30+0100",
    ]  # fmt: skip
    assert shown("30 * * * *", "Europe/Berlin", "2026-03-29T01:00", 2) == ["29 01:30+0100", "29 03:30+0200"]


def test_leap_day_is_found_across_a_century_without_one() -> None:
    assert of("0 0 29 2 *").after(datetime(2096, 3, 1, tzinfo=UTC)) == datetime(2104, 2, 29, tzinfo=UTC)


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    """A field of numbers: anything, values, ranges, steps."""
    pair = st.tuples(st.integers(low, high), st.integers(low, high)).map(sorted)
    span = pair.map(lambda p: f"{p[0]}-{p[1]}")
    stepped = st.tuples(st.one_of(st.just("*"), span), st.integers(1, 5)).map(lambda p: f"{p[0]}/{p[1]}")
    lists = st.lists(st.one_of(st.integers(low, high).map(str), span), min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), lists, stepped)


EXPRESSIONS = st.tuples(
    st.one_of(st.just("0"), st.just("30"), st.just("*/15"), fields(0, 59)),
    st.one_of(st.just("*"), st.just("2"), st.just("1-3"), fields(0, 23)),
    st.one_of(st.just("*"), fields(1, 28)), st.one_of(st.just("*"), fields(1, 12)),
    st.one_of(st.just("*"), fields(0, 7)),
).map(" ".join)  # fmt: skip


@hypothesis_settings(max_examples=12)
@example(text="*/7 * * * *", zone="Australia/Lord_Howe", somewhere=[0])
@example(text="30 2 * * *", zone="Europe/Berlin", somewhere=[0])
@example(text="* 1-2 * * *", zone="Europe/Berlin", somewhere=[0])
@example(text="0-59/11 2 8-14 3,10-11 0", zone="America/New_York", somewhere=[0])
@given(
    text=EXPRESSIONS,
    zone=st.sampled_from(ZONES),
    somewhere=st.lists(st.integers(0, MINUTES - 60), min_size=5, max_size=5),
)
def test_every_expression_is_due_when_a_look_at_every_minute_says_so(
    text: str, zone: str, somewhere: list[int]
) -> None:
    oracle, times = Oracle(text, zone), of(text, zone)
    around = [at + timedelta(minutes=n) for at in changes(zone) for n in range(-130, 131, 13)]
    for start in [*around, *(SINCE + timedelta(minutes=n, seconds=n % 60) for n in somewhere)]:
        expected = oracle.after(start)
        assert expected is None or times.after(start) == expected, f"{text} in {zone} after {start}"


def test_intervals_are_counted_from_their_anchor_whatever_the_clocks_do() -> None:
    times = timetable(cron=None, every="90m", timezone="Europe/Berlin", anchor_at=ANCHOR)
    assert times.after(ANCHOR) == ANCHOR + timedelta(minutes=90)
    assert times.after(ANCHOR + timedelta(minutes=90)) == ANCHOR + timedelta(minutes=180)
    assert times.after(ANCHOR - timedelta(days=3)) == ANCHOR + timedelta(minutes=90)
    late = datetime(2026, 10, 25, 0, 59, tzinfo=UTC)
    assert (times.after(late) - ANCHOR) % timedelta(minutes=90) == timedelta(0)


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60), ("30m", 1800), ("1h30m", 5400), ("1d", 86400), (" 2 H ", 7200), ("1.5h", 5400)]
)
def test_interval_is_read(text: str, seconds: float) -> None:
    assert interval(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "m", "-5m", "1e3s", "30x", "٣m", "nan", "inf", "59s", "0m", "367d", "9" * 50]
)
def test_interval_that_cannot_be_is_told_in_a_line(text: str) -> None:
    with pytest.raises(UsageError, match="interval") as caught:
        interval(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("zone", ["Europe/Berln", "", "../etc/passwd", "CET+1", "Mars/Olympus"])
def test_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(UsageError, match="is not a time zone"):
        of("0 9 * * *", zone)


def test_zone_that_was_nearly_meant_is_named() -> None:
    with pytest.raises(UsageError, match="did you mean `Europe/Berlin`"):
        of("0 9 * * *", "Europe/Berln")


@pytest.mark.parametrize(("cron", "every"), [(None, None), ("0 9 * * *", "30m")])
def test_either_an_expression_or_an_interval_is_needed(cron: str | None, every: str | None) -> None:
    with pytest.raises(UsageError, match="say when"):
        timetable(cron=cron, every=every, timezone="UTC", anchor_at=ANCHOR)
