"""Cron expressions are read as cron reads them, and what is none is told with its place."""

import pytest

from interlock.scheduler.cron import BadCron, parse


@pytest.mark.parametrize(
    ("field", "days"),
    [
        ("0", {0}), ("7", {0}), ("1", {1}), ("1-5", {1, 2, 3, 4, 5}), ("0,6", {0, 6}), ("5-7", {5, 6, 0}),
        ("*/2", {0, 2, 4, 6}), ("1-5/2", {1, 3, 5}), ("0-7", {0, 1, 2, 3, 4, 5, 6}), ("mon-sun", {1, 2, 3, 4, 5, 6, 0}),
        ("SAT-Sun", {6, 0}), ("mon,wed,fri", {1, 3, 5}), ("sun-tue", {0, 1, 2}), ("6-0", {6, 0}), ("sun", {0}),
    ],
)  # fmt: skip
def test_weekdays_count_from_sunday_and_seven_is_sunday_too(field: str, days: set[int]) -> None:
    assert parse(f"0 9 * * {field}").weekdays == days


def test_fields_are_values_lists_ranges_steps_and_names() -> None:
    found = parse("*/20 8-10,22 1,15 jan,JUN-aug *")
    assert found.minutes == {0, 20, 40}
    assert found.hours == {8, 9, 10, 22}
    assert found.days == {1, 15}
    assert found.months == {1, 6, 7, 8}


@pytest.mark.parametrize(
    ("text", "either"),
    [("0 0 13 * 5", True), ("0 0 13 * *", False), ("0 0 * * 5", False), ("0 0 */2 * 5", False), ("0 0 1 * */2", False)],
)
def test_both_kinds_of_days_are_alternatives_only_where_both_are_restricted(text: str, either: bool) -> None:
    assert parse(text).either_day is either


def test_words_stand_for_expressions() -> None:
    assert parse("@daily").hours == {0}
    assert parse("@Weekly").weekdays == {0}
    assert len(parse("@hourly").hours) == 24


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("60 * * * *", "field 1 (minute): `60` is out of range: 0 to 59"),
        ("* 24 * * *", "field 2 (hour): `24` is out of range: 0 to 23"),
        ("* * 0 * *", "field 3 (day of month): `0` is out of range: 1 to 31"),
        ("* * * 13 *", "field 4 (month): `13` is out of range: 1 to 12, or jan to dec"),
        ("* * * * 8", "field 5 (day of week): `8` is out of range: 0 to 7, or sun to sat"),
        ("x * * * *", "field 1 (minute): `x` is not understood"),
        ("0 0 L * *", "field 3 (day of month): `l` is not understood"),
        ("0 0 ? * 1", "field 3 (day of month): `?` is not understood"),
        ("-5 * * * *", "field 1 (minute): `-5` is not understood"),
        ("5- * * * *", "field 1 (minute): `5-` is not understood"),
        ("1,,2 * * * *", "field 1 (minute): `1,,2` is not complete"),
        ("*/0 * * * *", "field 1 (minute): `*/0` has no step from 1 to 60"),
        ("*/90 * * * *", "field 1 (minute): `*/90` has no step from 1 to 60"),
        ("*/ * * * *", "field 1 (minute): `*/` has no step"),
        ("5/15 * * * *", "field 1 (minute): `5/15` steps through a single value: write `5-59/15`"),
        ("* * * * 5-2", "field 5 (day of week): `5-2` runs backwards: write `5-7,0-2`"),
        ("٣ * * * *", "field 1 (minute): `٣` is not understood"),
        ("* * * *", "it has 4 fields instead of 5"),
        ("*", "it has 1 field instead of 5"),
        ("* * * * * *", "it has 6 fields instead of 5"),
        ("", "it has 0 fields instead of 5"),
        ("@reboot", "`@reboot` is not a known schedule shorthand"),
    ],
)
def test_fault_is_told_in_a_line_with_its_place(text: str, told: str) -> None:
    with pytest.raises(BadCron) as caught:
        parse(text)
    assert f"cron `{text}`: {told}" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 feb *", "* * 31 4 */2"])
def test_expression_that_never_fires_is_refused(text: str) -> None:
    with pytest.raises(BadCron, match="it never fires: no month that it names has a day 3"):
        parse(text)


@pytest.mark.parametrize("text", ["0 0 29 2 *", "0 0 30 2 5", "0 0 30 2,3 *", "0 0 31 * *"])
def test_expression_that_seldom_fires_is_none_of_them(text: str) -> None:
    assert parse(text).minutes == {0}
