"""Trigger words in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.persona import load_personas
from interlock.graph.triggers import find_triggers, match_triggers

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("Build a site", "build"),
        ("we are building it", "build"),
        ("comparing three vendors", "compare"),
        ("planned for May", "plan"),
        ("planning the launch", "plan"),
        ("writes well", "write"),
        ("a new ui, please", "UI"),
        ("UIs", "UI"),
        ("fix the login bug", "fix bug"),
        ("fixing bugs", "fix bug"),
        ("please find out why", "find out"),
        ("WHAT IS THE ROI?", "ROI"),
        ("the contract's end", "contract"),
        ("two stories", "story"),
        ("two pitches", "pitch"),
        ("analysing the logs", "analyze"),
        ("organise a meeting", "organize"),
        ("it analyzes", "analyse"),
    ],
)
def test_a_trigger_is_found_in_any_case_and_with_common_endings(text: str, trigger: str) -> None:
    assert find_triggers(text, [trigger]) == (trigger,)


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("a preview", "review"),
        ("decode it", "code"),
        ("a guide", "UI"),
        ("bug fix", "fix bug"),
        ("fix it. A bug is left", "fix bug"),
        ("fix one and two and three bug", "fix bug"),
        ("the planet", "plan"),
        ("two planes", "plan"),
        ("the designer", "design"),
        ("find a way out of the very deep wood", "find wood"),
        ("", "plan"),
    ],
)
def test_a_part_of_a_word_or_scattered_words_are_no_trigger(text: str, trigger: str) -> None:
    assert find_triggers(text, [trigger]) == ()


def test_personas_are_ranked_by_their_share_of_the_matches() -> None:
    assert match_triggers("Find out the pricing and compare it", PERSONAS) == [("research", 0.75), ("finance", 0.25)]


def test_an_obvious_case_has_full_confidence() -> None:
    assert match_triggers("Implement the parser", PERSONAS) == [("coder", 1.0)]


def test_a_text_that_calls_for_nobody_matches_nobody() -> None:
    assert match_triggers("Hello there", PERSONAS) == []


@given(st.text())
def test_shares_add_up_to_one(text: str) -> None:
    shares = [share for _, share in match_triggers(text, PERSONAS)]
    assert not shares or sum(shares) == pytest.approx(1)
