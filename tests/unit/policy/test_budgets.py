"""The arithmetic of budgets."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.errors import UsageError
from interlock.policy.budgets import (
    AGENT_DAY,
    LEAST_MAX_TOKENS,
    RUN,
    affordable_tokens,
    day_end,
    day_key,
    task_limits,
)
from interlock.policy.risk import Trust

PRICES = st.integers(0, 100_000)


def test_limits_are_those_of_the_table() -> None:
    assert [AGENT_DAY[t] // 1_000_000 for t in Trust] == [2, 5, 12]
    assert [RUN[t] for t in Trust] == [250_000, 750_000, 1_500_000]
    of_tasks = task_limits({"docs": 0.5})
    assert (of_tasks["engineering"], of_tasks["other"], of_tasks["docs"]) == (8_000_000, 4_000_000, 500_000)


@given(PRICES, PRICES, st.integers(0, 2_000_000), st.integers(-1_000, 10**9))
def test_what_is_affordable_fits_and_one_token_more_would_not(prompt: int, price: int, wanted: int, left: int) -> None:
    def worst(tokens: int) -> int:
        return prompt + tokens * price

    found = affordable_tokens(worst, max_tokens=wanted, left=left)
    if found is not None:
        assert worst(found) <= left
        assert found == wanted or worst(found + 1) > left
        assert found == wanted or found >= LEAST_MAX_TOKENS
    else:
        assert worst(min(wanted, LEAST_MAX_TOKENS)) > left


def test_a_short_answer_that_was_wanted_short_is_not_refused() -> None:
    def worst(tokens: int) -> int:
        return tokens * 10

    assert affordable_tokens(worst, max_tokens=100, left=1_000) == 100
    assert affordable_tokens(worst, max_tokens=4_096, left=2_559) is None
    assert affordable_tokens(worst, max_tokens=4_096, left=2_560) == 256


def test_a_day_begins_at_midnight_in_the_time_zone_of_the_project() -> None:
    now = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
    assert day_key(now, "UTC") == "2026-11-21"
    assert day_key(now, "Europe/Berlin") == "2026-11-22"
    assert day_key(now, "America/New_York") == "2026-11-21"
    assert day_end(now, "Europe/Berlin") == datetime(2026, 11, 22, 23, 0, tzinfo=UTC)


def test_days_of_23_and_25_hours_end_at_midnight_too() -> None:
    short = datetime(2026, 3, 28, 23, 0, tzinfo=UTC)
    long = datetime(2026, 10, 24, 22, 0, tzinfo=UTC)
    assert day_end(short, "Europe/Berlin") - short == timedelta(hours=23)
    assert day_end(long, "Europe/Berlin") - long == timedelta(hours=25)


def test_an_unknown_time_zone_is_told() -> None:
    for name in ("Mars/Olympus", "../etc", ""):
        with pytest.raises(UsageError, match="unknown time zone"):
            day_key(datetime(2026, 1, 1, tzinfo=UTC), name)


@given(st.integers(0, 35 * 366 * 86_400), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]))
def test_a_day_ends_after_now_and_another_begins(seconds: int, zone: str) -> None:
    now = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    end = day_end(now, zone)
    assert now < end <= now + timedelta(hours=25)
    assert day_key(end, zone) > day_key(now, zone) == day_key(end - timedelta(microseconds=1), zone)
