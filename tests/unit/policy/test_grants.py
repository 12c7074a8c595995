"""Grants: they lift what is held for an agent's trust alone, for exactly what was granted, and never anything else."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.calls import ApprovedBinding, Call, Caller
from interlock.policy.decide import decide
from interlock.policy.grants import Grant, alike, covers, shape_of
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy

BUILTIN = Policy.builtin()
WHO = Caller(agent_name="a", persona="coder", trust=Trust.INTERN, project="p", task_id="t1")
WRITE = Call(tool="note", args={"path": "a.md", "content": "x"}, declared_risk="YELLOW", digest="d1")
GRANT = Grant(id="gra_1", project="p", persona="coder", tool="note", tool_digest="d1")


def test_yellow_call_of_an_intern_is_held_and_a_grant_lets_it_run() -> None:
    held = decide(WRITE, WHO, BUILTIN)
    assert (held.effect, held.grantable, held.grant) == (Effect.HOLD, True, None)
    granted = decide(WRITE, WHO, BUILTIN, grants=(GRANT,))
    assert (granted.effect, granted.risk, granted.grant) == (Effect.ALLOW, Risk.YELLOW, "gra_1")
    assert "allowed by grant `gra_1`" in granted.reasons


@pytest.mark.parametrize(
    "other",
    [
        replace(GRANT, project="q"), replace(GRANT, persona="writer"), replace(GRANT, tool="other"),
        replace(GRANT, tool_digest="d2"), replace(GRANT, tool_digest=""), replace(GRANT, task_id="t2"),
        replace(GRANT, shape=shape_of({"path": "b.md"})),
    ],
)  # fmt: skip
def test_grant_for_anything_else_lifts_nothing(other: Grant) -> None:
    assert decide(WRITE, WHO, BUILTIN, grants=(other,)).effect is Effect.HOLD


def test_tool_without_a_digest_is_covered_by_nothing() -> None:
    assert not covers(replace(GRANT, tool_digest=""), replace(WRITE, digest=""), WHO)


@pytest.mark.parametrize(
    "rules",
    [
        "rules: [{id: r, tools: [note], risk: RED}]",
        "rules: [{id: r, tools: [note], risk: YELLOW, people: 2}]",
        "rules: [{id: r, tools: [note], risk: YELLOW, not_requester: true}]",
        "rules: [{id: r, tools: [note], risk: YELLOW, consensus: true}]",
        "rules: [{id: r, tools: [note], when: args.missing == 1, risk: YELLOW}]",
        "deny: [{id: r, tools: [note], reason: no}]",
    ],
)
def test_grant_never_lifts_red_a_denial_or_what_a_rule_asks_of_people(rules: str) -> None:
    policy = policy_from(f"version: 1\n{rules}", "p.yaml")
    decision = decide(WRITE, WHO, policy, grants=(GRANT,))
    assert decision.effect is not Effect.ALLOW
    assert (decision.grantable, decision.grant) == (False, None)


def test_red_call_is_held_whatever_is_granted() -> None:
    decision = decide(replace(WRITE, declared_risk="RED"), WHO, BUILTIN, grants=(GRANT,))
    assert (decision.effect, decision.grantable) == (Effect.HOLD, False)


def test_more_people_are_asked_for_red_where_the_settings_say_so() -> None:
    red = replace(WRITE, declared_risk="RED")
    assert decide(red, WHO, BUILTIN, people_for_red=2).people == 2
    assert decide(WRITE, WHO, BUILTIN, people_for_red=2).people == 1
    one = ApprovedBinding("apr_1", "same", "same", people=1)
    assert decide(red, WHO, BUILTIN, approval=one, people_for_red=2).effect is Effect.HOLD
    assert decide(red, WHO, BUILTIN, approval=replace(one, people=2), people_for_red=2).effect is Effect.ALLOW


def test_narrow_grant_is_for_the_same_targets_with_other_words() -> None:
    narrow = replace(GRANT, shape=shape_of(WRITE.args))
    assert covers(narrow, replace(WRITE, args={"path": "a.md", "content": "something else"}), WHO)
    assert not covers(narrow, replace(WRITE, args={"path": "b.md", "content": "x"}), WHO)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    args=st.dictionaries(st.text(max_size=6), json_values, max_size=4),
    risk=st.sampled_from(["GREEN", "YELLOW", "RED"]),
    trust=st.sampled_from(list(Trust)),
)
def test_grants_change_nothing_but_yellow_of_interns(args: dict[str, Any], risk: str, trust: Trust) -> None:
    call, who = replace(WRITE, args=args, declared_risk=risk), replace(WHO, trust=trust)
    without, granted = decide(call, who, BUILTIN), decide(call, who, BUILTIN, grants=(GRANT,))
    assert granted.risk == without.risk
    if granted.effect is not without.effect:
        assert (without.effect, granted.effect) == (Effect.HOLD, Effect.ALLOW)
        assert (granted.risk, trust) == (Risk.YELLOW, Trust.INTERN)


def test_questions_are_alike_where_only_values_differ() -> None:
    same: dict[str, Any] = {
        "project": "p", "persona": "coder", "tool": "mail", "tool_digest": "d", "risk": "RED", "rules": ["r"],
        "people": 1,
    }  # fmt: skip
    one = alike(**same, args={"to": ["a@x.y"], "n": 1})
    assert one == alike(**same, args={"n": 2, "to": ["b@x.y", "c@x.y"]})
    others: list[dict[str, Any]] = [
        {"persona": "writer"}, {"risk": "YELLOW"}, {"rules": []}, {"tool_digest": "e"}, {"people": 2},
    ]  # fmt: skip
    for other in others:
        assert one != alike(**{**same, **other}, args={"to": ["a@x.y"], "n": 1})
    assert one != alike(**same, args={"to": ["a@x.y"], "n": 1, "bcc": "z"})
    assert one != alike(**same, args={"to": "a@x.y", "n": 1})
