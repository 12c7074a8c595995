"""Rank and fading are what they are whatever the numbers: bounded, and never better for being worse."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.memory.ranking import Pace, faded, fit, is_gone, score

NOW = datetime(2026, 3, 1, tzinfo=UTC)
weights, lengths = st.integers(0, 10**7), st.integers(0, 10**5)
shares = st.floats(0, 1)
ages = st.timedeltas(timedelta(days=-400), timedelta(days=4_000))
paces = st.builds(Pace, st.floats(0.1, 1), st.floats(0, 0.5), st.floats(0, 1))


@given(weights, lengths, shares, shares, ages)
def test_a_score_is_a_share(weight: int, length: int, importance: float, decay: float, age: timedelta) -> None:
    assert 0 <= score(weight, length, importance, decay, age) <= 1
    assert 0 <= fit(weight, length) < 1


@given(
    weights,
    lengths,
    shares,
    shares,
    ages,
    st.integers(0, 10_000),
    shares,
    st.timedeltas(timedelta(0), timedelta(days=900)),
)
def test_what_fits_better_matters_more_or_is_newer_is_never_ranked_lower(
    weight: int, length: int, importance: float, decay: float, age: timedelta, more: int, up: float, later: timedelta
) -> None:
    usual = score(weight, length, importance, decay, age)
    assert score(weight + more, length, importance, decay, age) >= usual
    assert score(weight, length, max(importance, up), decay, age) >= usual
    assert score(weight, length, importance, max(decay, up), age) >= usual
    assert score(weight, length, importance, decay, age + later) <= usual
    assert score(weight, length + more, importance, decay, age) <= usual


@given(shares, st.timedeltas(timedelta(0), timedelta(days=3_000)), paces)
def test_fading_in_steps_is_fading_at_once(decay: float, gone_by: timedelta, pace: Pace) -> None:
    once = faded(decay, NOW, NOW + gone_by, pace)
    left, upto = decay, NOW
    for day in range(1, int(gone_by.days) + 1, 7):
        step = faded(left, upto, NOW + timedelta(days=day), pace)
        left, upto = step if step is not None else (left, upto)
    step = faded(left, upto, NOW + gone_by, pace)
    left, upto = step if step is not None else (left, upto)
    if once is None:
        assert (left, upto) == (decay, NOW)
    else:
        assert left == pytest.approx(once[0], rel=1e-9, abs=1e-300)
        assert upto == once[1]
        assert upto <= NOW + gone_by < upto + timedelta(days=1)


@given(shares, ages, paces)
def test_a_clock_that_jumps_back_takes_nothing(decay: float, jump: timedelta, pace: Pace) -> None:
    assert faded(decay, NOW + abs(jump), NOW, pace) is None


def test_memories_go_after_29_days_and_facts_that_matter_never() -> None:
    pace, decay = Pace(), 1.0
    days = 0
    while not is_gone(decay, "observation", 1.0, pace):
        decay, days = decay * pace.daily, days + 1
    assert days == 29
    assert is_gone(decay, "fact", 0.89, pace)
    assert not is_gone(0.0, "fact", 0.9, pace)
