"""Conditions: what they may be made of, and that none takes long, however large the call."""

from dataclasses import replace
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.as_code.conditions import (
    BadCondition,
    Condition,
    blanked,
    compile_condition,
    constant,
    context_of,
)
from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy, Rule

QUICK_S = 1.0
"""Of a processor that others use too; what is bounded takes a few hundredths of it."""


def decided(when: str, args: dict[str, Any]) -> tuple[Effect, str, float]:
    rule = Rule(id="r", tools=("x",), condition=compile_condition(when), risk=Risk.GREEN)
    begun = process_time()
    decision = decide(Call(tool="x", args=args, declared_risk="GREEN"), Caller(), Policy(rules=(rule,)))
    return decision.effect, " ".join(decision.reasons), process_time() - begun


@pytest.mark.parametrize(
    ("when", "args"),
    [
        ("args.a.all(x, args.a.all(y, x + y >= 0))", {"a": list(range(5_000))}),
        ("args.a.map(x, x).size() > 0", {"a": list(range(15_000))}),
        ("args.a.all(x, args.b.size() > 0)", {"a": list(range(15_000)), "b": "b"}),
        ("args.m.all(k, args.m[k] == 1)", {"m": {str(n): 1 for n in range(2_000)}}),
        ("args.a.exists(x, (args.s + args.s).contains('zz'))", {"a": list(range(3_000)), "s": "s" * 1_000_000}),
        (" + ".join(["args.s"] * 200) + ' == ""', {"s": "s" * 1_500_000}),
    ],
)
def test_a_call_that_is_too_large_for_a_condition_is_held_at_once(when: str, args: dict[str, Any]) -> None:
    effect, told, seconds = decided(when, args)
    assert effect is Effect.HOLD
    assert "too large for its condition" in told
    assert seconds < QUICK_S


@pytest.mark.parametrize(
    ("when", "args"),
    [
        ("args.names.all(t, !t.endsWith('acme'))", {"names": ["word"] * 4_000, "words": "b" * 500_000}),
        ("args.s.matches('^(a+)+$')", {"s": "a" * 1_000_000 + "b"}),
        ("'z' in args.names", {"names": ["a"] * 10_000}),
    ],
)
def test_what_grows_with_the_call_alone_is_evaluated(when: str, args: dict[str, Any]) -> None:
    effect, told, seconds = decided(when, args)
    assert "too large" not in told
    assert effect is Effect.ALLOW
    assert seconds < QUICK_S


def test_loops_within_loops_are_evaluated_over_small_calls() -> None:
    when = "args.a.exists(one, args.b.exists(other, one == other))"
    assert "GREEN by rule `r`" in decided(when, {"a": ["a", "b"], "b": ["c", "b"]})[1]
    assert "rule `r`" not in decided(when, {"a": ["a", "b"], "b": ["c", "d"]})[1]


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        ("[1].map(x, x + x)" + ".map(x, x + x)" * 20 + " == []", "too many sums"),
        ("[1].all(a, [1].all(b, [1].map(c, [1].map(d, [1].map(e, true))) == args.a))", "too many loops within loops"),
        ("args.s.matches(args.p)", "the pattern of `matches` is a text in quotes, not made of the call"),
        ("args.s.matches('a' + args.p)", "the pattern of `matches` is a text in quotes, not made of the call"),
        ("matches(args.s, args.p)", "the pattern of `matches` is a text in quotes, not made of the call"),
        ("args.s.matches('(?=a)b')", "not a pattern for `matches`: look-around"),
        ("args.s.matches('(')", "not a pattern for `matches`: unclosed group"),
        ("args.s.matches('[a-z]{1,1000}')", "a pattern of `matches` repeats too often"),
        ("args.s.matches('(a{1,20}){1,20}')", "a pattern of `matches` repeats too often"),
        ("(" * 500 + "true" + ")" * 500, "not a CEL condition"),
        ("true ||" * 500, "condition of 3500 characters: 2000 at most"),
    ],
)
def test_what_would_take_long_for_every_call_is_a_fault(when: str, problem: str) -> None:
    with pytest.raises(BadCondition) as caught:
        compile_condition(when)
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


@given(st.text(st.sampled_from(list("args.abcmaptchesl()[]{}\"'\\+,!&|<>= 01rR?:/\n")), max_size=40))
def test_any_text_is_a_condition_or_a_fault_of_one_line(text: str) -> None:
    try:
        found: Condition | str = compile_condition(text)
    except BadCondition as error:
        found = str(error)
    if isinstance(found, str):
        assert "\n" not in found
    else:
        assert isinstance(found.holds(context_of({"args": {"a": 1}})), (bool, str))


SHAPES = st.sampled_from(
    [
        "args.a > 3", "args.a.b == 1", "args.s.startsWith('args.a')", "args.l.all(x, x == args.a)", "args.a == args.s",
        "agent.trust == 'intern' && args.a > 1", "task.cost_usd > 1.0 || args.s == 'x'", "args . a in [1, 2]",
        "tool == 'x' && args.l.exists(t, t == project)", "args.l.exists(a, a == 1) || args.a", "size(args.s) > 2",
        "args.s.matches('a+') ? args.a == 1 : args.l == [1]", "args.missing == 1 || true",
        "args.a == 1 // args.s\n && true", "args.l[0] == args.a", "!(args.a == 1)", "agent.name + args.s == 'a1x'",
    ]
)  # fmt: skip
VALUES: Any = st.none() | st.booleans() | st.integers(-2, 5) | st.sampled_from(["x", "aa", ""]) | st.floats()
FLAT_ARGS = st.dictionaries(
    st.sampled_from(["a", "s", "l"]), VALUES | st.lists(VALUES, max_size=3) | st.just({"b": 1}), max_size=3
)


@given(SHAPES, FLAT_ARGS, st.sampled_from(Trust))
def test_a_condition_over_single_values_means_what_it_says(when: str, args: dict[str, Any], trust: Trust) -> None:
    try:
        condition = compile_condition(when)
    except BadCondition:
        return
    rule = Rule(id="r", tools=("x",), condition=condition, risk=Risk.YELLOW)
    plain = Rule(id="r", tools=("x",), condition=replace(condition, flat=None, flat_program=None), risk=Risk.YELLOW)
    call, who = Call(tool="x", args=args, declared_risk="GREEN"), Caller(agent_name="a1", trust=trust, project="x")
    one, other = (decide(call, who, Policy(rules=(each,))) for each in (rule, plain))
    assert one == other


@pytest.mark.parametrize(
    "when",
    [
        "has(args.a) && args.a == 1", "args['a'] == 1", "size(args) > 1", "args.l.exists(args, args.b)",
        "args.a.exists(task, task.type == 1)", "args.contains('a')", "__x == 1", "args.exists(__args_a, true)",
    ],
)  # fmt: skip
def test_what_needs_the_whole_is_left_as_it_is(when: str) -> None:
    try:
        assert compile_condition(when).flat is None
    except BadCondition:
        assert "__x" in when or "task" in when


def test_texts_and_comments_are_blanked_in_place() -> None:
    assert blanked("a == 'x && y' && b // no, c\n") == "a == 00000000 && b         \n"


def test_a_constant_reads_nothing() -> None:
    assert constant("['a', 'b']") == ["a", "b"]
    for wrong in ("args.a", "1 +", "1 / 0"):
        with pytest.raises(ValueError, match=r"."):
            constant(wrong)


@given(st.dictionaries(st.sampled_from(["a", "b", "s"]), st.integers() | st.text() | st.floats() | st.none()))
def test_a_condition_gives_true_false_or_words(args: dict[str, Any]) -> None:
    for when in ("args.a > 3", "args.s.startsWith('a')", "args.a == args.b", "has(args.a) && args.a in [1, 2]"):
        condition = compile_condition(when)
        try:
            context = context_of({"args": args})
        except ValueError:
            continue
        assert isinstance(condition.holds(context), (bool, str))
