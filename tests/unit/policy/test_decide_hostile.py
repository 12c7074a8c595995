"""Decisions on what nobody would send: each is a decision, none allows, and none takes long."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.calls import ApprovedBinding, Call, Caller
from interlock.policy.decide import MOST_KEPT, decide
from interlock.policy.grants import Grant
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy
from tests.unit.policy.test_decide import CALLERS, CALLS, POLICIES

WHO = Caller(agent_name="a1", persona="coder", trust=Trust.LEAD, project="p1")
GENEROUS = ApprovedBinding("apr_1", "a", "a", people=9, not_requester=True)
RULES = policy_from(
    "version: 1\nrules:\n"
    "  - {id: a, risk: YELLOW, when: 'args.a == \"x\" || size(args) > 3'}\n"
    "  - {id: b, risk: YELLOW, when: 'args.list.exists(x, x in args.other)'}\n",
    "p.yaml",
)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


class Lying(dict[str, Any]):
    """Says that it is empty."""

    def __iter__(self) -> Iterator[str]:
        return iter(())


class Breaking(Mapping[str, Any]):
    """Fails at every touch."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __len__(self) -> int:
        raise RuntimeError("no")


HOSTILE: list[Any] = [
    nested(50_000), {"a": nested(50_000)}, {"a": {"b": nested(200)}}, Lying(a=1), Breaking(), {"a": Breaking()},
    {"a": float("nan")}, {"a": float("inf")}, {"a": b"bytes"}, {"a": {1: 2}}, {"a": {1, 2}}, {"a": object()},
    {"a": sys}, {"a": lambda: 1}, {"a": "s" * 3_000_000}, {"a": list(range(100_000))}, {None: 1}, "text", b"", 5, None,
    True, [], {"a": 1j},
]  # fmt: skip


@pytest.mark.parametrize("args", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("policy", [Policy.builtin(), RULES], ids=["built-in", "file"])
def test_arguments_that_are_no_sane_json_never_run(args: Any, policy: Policy) -> None:
    for approval in (None, GENEROUS):
        decision = decide(Call(tool="file_read", args=args, is_builtin=True), WHO, policy, approval=approval)
        assert decision.effect is not Effect.ALLOW
        assert decision.risk is Risk.RED
        assert decision.reasons


@pytest.mark.parametrize(
    "call",
    [
        Call(tool=None),  # type: ignore[arg-type]
        Call(tool=["x"]),  # type: ignore[arg-type]
        Call(tool="x", declared_risk="green"),
        Call(tool="x", declared_risk=["GREEN"]),  # type: ignore[arg-type]
        Call(tool="x", description=5),  # type: ignore[arg-type]
        Call(tool="x", hints=5),  # type: ignore[arg-type]
        Call(tool="x", labels=None, declared_risk="RED"),  # type: ignore[arg-type]
    ],
    ids=range(7),
)
def test_a_call_that_is_none_is_held(call: Call) -> None:
    decision = decide(call, replace(WHO, trust=Trust.INTERN), Policy.builtin(), approval=None)
    assert decision.effect is not Effect.ALLOW


@pytest.mark.parametrize("policy", [None, "allow", object()])
def test_without_a_policy_a_call_is_held(policy: Any) -> None:
    decision = decide(Call(tool="file_read", is_builtin=True), WHO, policy)
    assert (decision.risk, decision.effect, decision.rules) == (Risk.RED, Effect.HOLD, ("builtin:undecided",))


def test_huge_numbers_and_odd_texts_hold_what_a_rule_cannot_judge() -> None:
    for value in (2**80, -(2**80), "\ud800", "\x00", 10**300):
        decision = decide(Call(tool="x", args={"a": value}, declared_risk="GREEN"), WHO, RULES)
        assert decision.effect in (Effect.HOLD, Effect.DENY)


GRANTS = st.lists(
    st.builds(
        Grant, id=st.just("grn_1"), project=st.sampled_from(["p1", "p2"]), persona=st.just("coder"),
        tool=st.sampled_from(["x", "git_ops", "send_sms"]), tool_digest=st.just("d"),
    ),
    max_size=2,
)  # fmt: skip


@given(CALLS, CALLERS, POLICIES, GRANTS, st.integers(1, 3))
def test_a_grant_lifts_nothing_but_what_only_trust_holds(
    call: Call, who: Caller, rules: Policy, grants: list[Grant], people: int
) -> None:
    call, who = replace(call, digest="d"), replace(who, persona="coder", project="p1")
    before = decide(call, who, rules, people_for_red=people)
    after = decide(call, who, rules, grants=grants, people_for_red=people)
    assert after.risk is before.risk
    if after.effect is not before.effect:
        assert (before.risk, before.effect, after.effect) == (Risk.YELLOW, Effect.HOLD, Effect.ALLOW)
        assert after.grant == "grn_1"
        assert who.trust is Trust.INTERN
    if before.risk is Risk.RED and before.effect is not Effect.DENY:
        assert before.people >= people


@given(st.lists(st.tuples(CALLS, CALLERS), min_size=2, max_size=4), POLICIES)
def test_what_was_decided_before_changes_nothing(questions: list[tuple[Call, Caller]], rules: Policy) -> None:
    for call, who in questions:
        decide(call, who, rules)
    for call, who in questions:
        assert decide(call, who, rules) == decide(call, who, replace(rules))


def test_kept_decisions_do_not_grow_without_end() -> None:
    rules = Policy()
    for number in range(MOST_KEPT + 10):
        decide(Call(tool=f"t{number}", declared_risk="GREEN"), WHO, rules)
    assert len(rules.plain) <= MOST_KEPT
