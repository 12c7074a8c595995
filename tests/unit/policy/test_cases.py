"""The tests of a policy file, and questions in JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.as_code.cases import Surroundings, answer, run_tests
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.risk import Effect, Risk
from interlock.policy.rules import Policy

FILE = """\
version: 1
rules:
  - {id: git-push, tools: [git_ops], when: 'args.action in ["push"]', risk: RED}
tests:
  - {call: {tool: git_ops, args: {action: push}}, persona: coder, expect: {risk: RED, effect: hold, rule: git-push}}
  - {call: {tool: git_ops, args: {action: commit}}, persona: coder, expect: {risk: YELLOW, effect: EFFECT}}
  - {call: {tool: get_rows, args: {}}, trust: intern, expect: {effect: hold}}
"""


def test_a_policy_whose_tests_hold_has_no_failures() -> None:
    assert run_tests(policy_from(FILE.replace("EFFECT", "allow"), "p.yaml")) == []


def test_a_failed_test_says_where_and_what() -> None:
    found = run_tests(policy_from(FILE.replace("EFFECT", "hold").replace("rule: git-push", "rule: other"), "p.yaml"))
    assert [str(failure) for failure in found] == [
        "p.yaml:5: `git_ops`: rule `other` did not match (matched: builtin:git-leaves, git-push)",
        "p.yaml:6: `git_ops`: effect is allow, not hold",
    ]


def test_the_trust_of_a_test_is_that_of_its_persona() -> None:
    policy = policy_from(FILE.replace("EFFECT", "hold"), "p.yaml")
    assert run_tests(policy, {"coder": "intern"}) == []


@pytest.mark.parametrize(
    ("question", "risk", "effect"),
    [
        ({"tool": "file_read", "args": {"path": "a"}}, Risk.GREEN, Effect.ALLOW),
        ({"tool": "file_write", "args": {}, "trust": "intern"}, Risk.YELLOW, Effect.HOLD),
        ({"tool": "file_write", "args": {}, "trust": "emperor"}, Risk.YELLOW, Effect.HOLD),
        ({"tool": "file_read", "args": {}, "description": "Sends it"}, Risk.RED, Effect.HOLD),
        ({"tool": "lookup_order", "args": {}}, Risk.GREEN, Effect.ALLOW),
        ({"tool": "lookup_order", "args": {}, "input_schema": {}}, Risk.YELLOW, Effect.ALLOW),
        ({"tool": "x"}, Risk.YELLOW, Effect.ALLOW),
        ({"tool": "x", "args": 5}, Risk.RED, Effect.DENY),
        ({"tool": "x", "declared_risk": "PURPLE"}, Risk.RED, Effect.HOLD),
        ({}, Risk.YELLOW, Effect.ALLOW),
    ],
)
def test_a_question_in_json_is_answered(question: dict[str, Any], risk: Risk, effect: Effect) -> None:
    decision = answer(Policy.builtin(), question, Surroundings({"coder": "specialist"}, {"lookup_order": "GREEN"}))
    assert (decision.risk, decision.effect) == (risk, effect)


VALUES: Any = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(st.dictionaries(st.sampled_from(["tool", "args", "persona", "trust", "task", "project", "description"]), VALUES))
def test_no_question_is_too_odd_to_be_answered(question: dict[str, Any]) -> None:
    assert answer(Policy.builtin(), question).reasons
