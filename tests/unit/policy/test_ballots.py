"""Votes of models: what counts as one, and what three of them come to."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.ballots import LOST, NO, YES, Ballot, Outcome, read, tally


def test_strict_answer_is_a_vote_also_in_a_fence() -> None:
    assert read('{"verdict": "yes", "reason": "it  serves\\n the goal"}') == Ballot("yes", "it serves the goal")
    assert read('```json\n{"verdict": "no", "reason": "it hides what it does"}\n```') == Ballot("no", "it hides what it does")  # fmt: skip # noqa: E501


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yes", "not one JSON object"),
        ('Sure: {"verdict": "yes", "reason": "r"}', "not one JSON object"),
        ('{"verdict": "yes", "reason": "r"} {"verdict": "no", "reason": "r"}', "not one JSON object"),
        ('{"verdict": "no", "verdict": "yes", "reason": "r"}', "stands in an object twice"),
        ('{"verdict": "yes"}', "`verdict` and `reason` and nothing else"),
        ('{"verdict": "yes", "reason": "r", "risk": "GREEN"}', "nothing else"),
        ('{"verdict": "YES", "reason": "r"}', "`yes` or `no`"),
        ('{"verdict": true, "reason": "r"}', "`yes` or `no`"),
        ('{"verdict": "yes", "reason": " "}', "`reason` is a sentence"),
        ("[" * 5_000, "not one JSON object"),
        ("x" * 20_000, "one small JSON object"),
        ("", "not one JSON object"),
    ],
)
def test_anything_else_is_none_and_is_told_why(text: str, why: str) -> None:
    said = read(text)
    assert isinstance(said, str)
    assert why in said


@given(st.text())
def test_reading_is_total(text: str) -> None:
    assert isinstance(read(text), (Ballot, str))


def test_two_of_three_decide_and_there_is_no_tie() -> None:
    for verdicts in product((YES, NO, LOST, None), repeat=3):
        outcome = tally(verdicts)
        if verdicts.count(YES) >= 2:
            assert outcome is Outcome.YES
        elif verdicts.count(NO) >= 2:
            assert outcome is Outcome.NO
        elif None in verdicts:
            assert outcome is Outcome.OPEN
        else:
            assert outcome is Outcome.NONE
    assert tally(()) is Outcome.OPEN
    assert tally((YES,)) is Outcome.OPEN
