"""The rules about loops: just below, at and above each limit, and what holds for all figures."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.loops import RULES, Facts, Loop, is_progress, loops, pair_of
from interlock.settings.model import Loops

LIMITS = Loops()
STATES = ("ASSIGNED", "IN_PROGRESS", "REVIEW", "BLOCKED")
BACK, FORTH = ("BLOCKED", "IN_PROGRESS"), ("IN_PROGRESS", "BLOCKED")
OTHER = [("INBOX", "ASSIGNED"), ("ASSIGNED", "IN_PROGRESS"), ("REVIEW", "BLOCKED"), ("ASSIGNED", "BLOCKED")]


def rules(**figures: Any) -> list[str]:
    """The rules that the figures break."""
    return [loop.rule for loop in loops(Facts(**figures), LIMITS)]


@pytest.mark.parametrize(
    ("rule", "below", "at"),
    [
        ("comments", {"comments": 20}, {"comments": 21}),
        ("review_cycles", {"review_cycles": 3}, {"review_cycles": 4}),
        ("failed_calls", {"failed_calls": 4}, {"failed_calls": 5}),
        ("transitions", {"transitions": [BACK, FORTH] * 2 + [BACK]}, {"transitions": [BACK, FORTH] * 3}),
        ("messages", {"messages": {("a", "b"): 7}}, {"messages": {("a", "b"): 8}}),
    ],
)
def test_each_rule_begins_at_its_limit(rule: str, below: dict[str, Any], at: dict[str, Any]) -> None:
    assert rules(**below) == []
    assert rules(**at) == [rule]


def test_one_pair_of_states_must_make_up_half() -> None:
    assert rules(transitions=[BACK] * 3 + OTHER[:3]) == ["transitions"]
    assert rules(transitions=[BACK] * 3 + OTHER) == []
    assert rules(transitions=[BACK] * 2 + OTHER) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("IN_PROGRESS", "REVIEW"),
        ("REVIEW", "IN_PROGRESS"),
        ("IN_PROGRESS", "NEEDS_APPROVAL"),
        ("NEEDS_APPROVAL", "DONE"),
    ],
)
def test_reviews_and_answers_of_people_are_no_going_to_and_fro(before: str, after: str) -> None:
    assert is_progress(before, after)
    assert not is_progress(*BACK)


def test_messages_between_others_do_not_add_up() -> None:
    assert rules(messages={("a", "b"): 7, ("a", "c"): 7, ("b", "c"): 7}) == []


def test_reason_has_the_figures() -> None:
    (found,) = loops(Facts(messages={("coder", "qa"): 9}), LIMITS)
    assert found == Loop(
        "messages", "coder and qa sent each other 9 messages in 10 min, 8 are a loop", 9, 8, ("coder", "qa")
    )


def test_all_broken_rules_are_told_in_order() -> None:
    everything = Facts(
        comments=99, review_cycles=99, failed_calls=99, transitions=[BACK] * 9, messages={("a", "b"): 99}
    )  # fmt: skip
    assert tuple(loop.rule for loop in loops(everything, LIMITS)) == RULES


counts = st.integers(0, 40)
walks = st.lists(st.sampled_from(STATES), max_size=20).map(lambda states: [p for p in pairwise(states) if p[0] != p[1]])
agents = st.sampled_from("abc")
facts = st.builds(
    Facts,
    comments=counts,
    review_cycles=counts,
    failed_calls=counts,
    transitions=walks,
    messages=st.dictionaries(st.tuples(agents, agents).map(lambda pair: pair_of(*pair)), counts, max_size=4),
)
limits = st.builds(
    Loops,
    comments=st.integers(1, 30),
    review_cycles=st.integers(1, 30),
    failed_calls=st.integers(1, 30),
    transitions=st.integers(1, 30),
    messages=st.integers(1, 30),
)


@given(facts, limits)
def test_nothing_is_told_that_is_not_over_its_limit(known: Facts, where: Loops) -> None:
    for loop in loops(known, where):
        strict = loop.rule in ("comments", "review_cycles")
        assert loop.count > loop.limit if strict else loop.count >= loop.limit
        assert loop.limit == getattr(where, loop.rule)
        assert str(loop.count) in loop.reason


@given(facts, limits, st.sampled_from([f for f in Loops.model_fields if f in RULES]))
def test_a_higher_limit_never_finds_more(known: Facts, where: Loops, name: str) -> None:
    higher = where.model_copy(update={name: getattr(where, name) + 1})
    assert {loop.rule for loop in loops(known, higher)} <= {loop.rule for loop in loops(known, where)}


@given(walks, st.randoms())
def test_the_order_of_changes_does_not_matter(walk: list[tuple[str, str]], random: Any) -> None:
    mixed = list(walk)
    random.shuffle(mixed)
    assert loops(Facts(transitions=walk), LIMITS) == loops(Facts(transitions=mixed), LIMITS)


@given(walks)
def test_going_to_and_fro_long_enough_is_always_found(walk: list[tuple[str, str]]) -> None:
    assert rules(transitions=[*walk, *([BACK, FORTH] * 10)]) == ["transitions"]


@given(agents, agents)
def test_a_pair_has_one_spelling(one: str, other: str) -> None:
    spelled: Callable[[str, str], tuple[str, str]] = pair_of
    assert spelled(one, other) == spelled(other, one)
