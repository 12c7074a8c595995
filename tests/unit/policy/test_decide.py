"""Decisions: risk, effect and reasons of calls, approvals, and what must hold of every decision."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.as_code.conditions import compile_condition
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.calls import ApprovedBinding, Call, Caller, Decision
from interlock.policy.decide import decide
from interlock.policy.risk import MATRIX, Effect, Risk, Trust, highest, needs_person
from interlock.policy.rules import Policy, Rule

BUILTIN = Policy.builtin()
CODER = Caller(agent_name="a1", persona="coder", trust=Trust.SPECIALIST, project="p1", task_type="engineering")
APPROVED = ApprovedBinding("apr_1", "same", "same", people=1)


def policy(rules: str) -> Policy:
    return policy_from("version: 1\n" + rules, "p.yaml")


def ours(tool: str, **args: Any) -> Call:
    return Call(tool=tool, args=args, is_builtin=True)


def risk_of(call: Call, rules: Policy = BUILTIN) -> Risk:
    return decide(call, CODER, rules).risk


@pytest.mark.parametrize("risk", list(Risk))
@pytest.mark.parametrize("trust", list(Trust))
def test_the_effect_follows_the_matrix(risk: Risk, trust: Trust) -> None:
    decision = decide(Call(tool="x", declared_risk=risk), replace(CODER, trust=trust), BUILTIN)
    assert (decision.risk, decision.effect) == (risk, MATRIX[risk][trust])
    assert (decision.effect is Effect.ALLOW) is (
        risk is Risk.GREEN or (risk is Risk.YELLOW and trust is not Trust.INTERN)
    )


@pytest.mark.parametrize(
    ("call", "risk"),
    [
        (ours("file_read", path="a.md"), Risk.GREEN),
        (ours("web_search", query="milk production"), Risk.GREEN),
        (ours("file_write", path="a.md", content="x"), Risk.YELLOW),
        (ours("file_write", path="./SOUL.md", content="x"), Risk.RED),
        (ours("file_edit", path="a/../memory.MD"), Risk.RED),
        (ours("file_write", path="MYSOUL.md", content="x"), Risk.YELLOW),
        (ours("send_email", to="a@b.c"), Risk.RED),
        (ours("delete_event", id="e"), Risk.RED),
        (ours("git_ops", action="commit"), Risk.YELLOW),
        (ours("git_ops", action="push"), Risk.RED),
        (ours("git_ops", action="pull_request"), Risk.RED),
        (ours("git_ops"), Risk.RED),
        (ours("fetch", url="https://example.com/a?b=c"), Risk.GREEN),
        (ours("fetch", url="https://example.com", method="POST"), Risk.RED),
        (ours("fetch", url="http://169.254.169.254/latest"), Risk.RED),
        (ours("fetch", url="http://localhost:8400/api"), Risk.RED),
        (ours("fetch", url="http://[::1]/"), Risk.RED),
        (ours("fetch", url="file:///etc/passwd"), Risk.RED),
        (ours("database", sql="select * from notes"), Risk.GREEN),
        (ours("database", action="read"), Risk.GREEN),
        (ours("database", sql="insert into notes values (1)"), Risk.YELLOW),
        (ours("database", sql="select 1; drop table notes"), Risk.RED),
        (ours("database", sql="delete from notes"), Risk.RED),
        (ours("database", sql="select 1", query="delete from notes"), Risk.RED),
        (ours("database"), Risk.YELLOW),
        (ours("file_read", path="a", note="password=hunter22"), Risk.RED),
        (ours("code_exec", command="psql -h db.prod.acme.io"), Risk.RED),
    ],
)
def test_built_in_tools_have_the_risk_of_the_table_raised_by_their_arguments(call: Call, risk: Risk) -> None:
    assert risk_of(call) is risk


def test_a_tool_without_a_rule_is_yellow_and_red_by_its_words() -> None:
    assert risk_of(Call(tool="get_weather")) is Risk.YELLOW
    assert risk_of(Call(tool="send_sms")) is Risk.RED
    assert risk_of(Call(tool="x", description="Deletes a page")) is Risk.RED


def test_a_namesake_of_a_built_in_tool_does_not_inherit_its_risk() -> None:
    assert risk_of(Call(tool="web_search", args={"query": "a"})) is Risk.YELLOW


def test_only_the_base_table_and_the_declared_risk_make_a_tool_green() -> None:
    assert risk_of(Call(tool="send_sms", declared_risk="GREEN")) is Risk.GREEN
    assert risk_of(Call(tool="send_sms"), policy("base: {send_sms: GREEN}")) is Risk.GREEN
    assert risk_of(Call(tool="x", declared_risk="GREEN"), policy("base: {x: RED}")) is Risk.RED
    assert risk_of(Call(tool="send_sms"), policy("rules: [{id: a, tools: [send_sms], risk: GREEN}]")) is Risk.RED


def test_the_base_table_does_not_weaken_rules_by_arguments() -> None:
    assert risk_of(ours("git_ops", action="push"), policy("base: {git_ops: GREEN}")) is Risk.RED
    assert risk_of(Call(tool="x", args={"password": "hunter2"}), policy("base: {x: GREEN}")) is Risk.RED


def test_conditions_see_arguments_tool_agent_task_and_project() -> None:
    rules = policy(
        """rules:
  - {id: args, risk: YELLOW, when: 'args.amount > 100'}
  - {id: tool, risk: YELLOW, when: 'tool == "pay_bill"'}
  - {id: agent, risk: YELLOW, when: 'agent.persona == "coder" && agent.trust == "specialist" && agent.name == "a1"'}
  - {id: task, risk: YELLOW, when: 'task.type == "engineering" && task.project == "p1" && task.cost_usd >= 2.5'}
  - {id: project, risk: YELLOW, when: 'project == "p1"'}
  - {id: all, risk: YELLOW, when: 'args.to.exists(t, !t.endsWith("@acme.io")) && size(args) == 2'}
  - {id: other, risk: RED, when: 'args["amount"] < 100'}
"""
    )
    call = Call(tool="pay_bill", args={"amount": 101, "to": ["a@acme.io", "b@evil.io"]}, declared_risk="GREEN")
    decision = decide(call, replace(CODER, cost_usd=2.5), rules)
    assert decision.rules[-6:] == ("args", "tool", "agent", "task", "project", "all")
    assert "other" not in decision.rules


def test_a_chat_has_a_task_without_a_type() -> None:
    rules = policy("rules: [{id: a, risk: RED, when: 'task.type == \"\"'}]")
    assert decide(Call(tool="x"), replace(CODER, task_type=None), rules).rules == ("a",)


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("args.missing == 1", "there is no `missing`"),
        ("args.text > 5", "its condition fails on this call"),
        ("args.text", "its condition gives a str, not true or false"),
        ("1 / args.zero == 1", "its condition fails on this call (ZeroDivisionError)"),
    ],
)
def test_a_rule_that_cannot_be_evaluated_holds_the_call(when: str, reason: str) -> None:
    rules = policy(f"rules:\n  - {{id: odd, risk: GREEN, when: '{when}'}}")
    decision = decide(Call(tool="x", args={"text": "s3cr3t-value", "zero": 0}, declared_risk="GREEN"), CODER, rules)
    assert (decision.risk, decision.effect, decision.rules) == (Risk.GREEN, Effect.HOLD, ("odd",))
    assert reason in " ".join(decision.reasons)
    assert "s3cr3t" not in " ".join(decision.reasons)


def test_a_denial_that_cannot_be_evaluated_holds_the_call() -> None:
    rules = policy("deny:\n  - {id: odd, when: 'args.command.contains(\"sudo\")'}")
    assert decide(Call(tool="x", declared_risk="GREEN"), CODER, rules).effect is Effect.HOLD


def test_arguments_that_conditions_cannot_take_hold_the_call() -> None:
    rules = policy("rules: [{id: a, risk: GREEN, when: 'args.x == \"a\"'}]")
    decision = decide(Call(tool="x", args={"x": "\ud800"}, declared_risk="GREEN"), CODER, rules)
    assert (decision.effect, decision.rules) == (Effect.HOLD, ("a",))


def test_the_strictest_of_what_rules_ask_of_people_counts() -> None:
    rules = policy(
        "rules:\n"
        "  - {id: a, risk: RED, people: 2, expires: 2h}\n"
        "  - {id: b, risk: YELLOW, not_requester: true, consensus: true, expires: 24h}\n"
        "  - {id: c, risk: RED, people: 5, when: 'false'}\n"
    )
    decision = decide(Call(tool="x"), CODER, rules)
    assert (decision.people, decision.not_requester, decision.consensus, decision.expires_s) == (2, True, True, 7200)
    assert decide(Call(tool="x"), CODER, BUILTIN).expires_s is None


def test_a_pattern_concerns_every_tool_that_it_fits() -> None:
    rules = policy("rules: [{id: a, tools: ['crm.*'], risk: RED}]")
    assert decide(Call(tool="crm.lookup"), CODER, rules).rules == ("a",)
    assert decide(Call(tool="crmx"), CODER, rules).rules == ()


def test_a_denied_call_is_denied_whoever_approved_it() -> None:
    rules = policy("deny: [{id: never, tools: [x], reason: no}]")
    decision = decide(Call(tool="x"), CODER, rules, approval=APPROVED)
    assert (decision.effect, decision.rules) == (Effect.DENY, ("never",))
    assert "rule `never` denies it: no" in decision.reasons


RED = Call(tool="send_sms", args={"to": "1"})


def test_an_approval_of_exactly_this_call_lifts_a_hold() -> None:
    decision = decide(RED, CODER, BUILTIN, approval=APPROVED)
    assert (decision.risk, decision.effect) == (Risk.RED, Effect.ALLOW)


@pytest.mark.parametrize(
    ("approval", "rules"),
    [
        (ApprovedBinding("apr_1", "one", "other"), BUILTIN),
        (ApprovedBinding("apr_1", "", ""), BUILTIN),
        (APPROVED, policy("rules: [{id: two, risk: RED, people: 2}]")),
        (APPROVED, policy("rules: [{id: second, risk: RED, not_requester: true}]")),
    ],
)
def test_an_approval_of_less_than_what_is_asked_lifts_nothing(approval: ApprovedBinding, rules: Policy) -> None:
    assert decide(RED, CODER, rules, approval=approval).effect is Effect.HOLD


def test_the_people_whom_a_rule_asks_for_lift_it() -> None:
    rules = policy("rules: [{id: two, risk: RED, people: 2, not_requester: true}]")
    approval = ApprovedBinding("apr_1", "same", "same", people=2, not_requester=True)
    assert decide(RED, CODER, rules, approval=approval).effect is Effect.ALLOW


@pytest.mark.parametrize("args", [None, [], {"a": math.nan}, {1: 2}, {"a": object()}])
def test_arguments_to_which_no_approval_can_bind_are_denied(args: Any) -> None:
    decision = decide(Call(tool="file_read", args=args, is_builtin=True), CODER, BUILTIN, approval=APPROVED)
    assert (decision.risk, decision.effect) == (Risk.RED, Effect.DENY)


def test_a_decision_that_fails_is_a_hold_that_no_approval_lifts() -> None:
    odd: Any = "PURPLE"
    decision = decide(Call(tool="x", declared_risk=odd), CODER, BUILTIN, approval=APPROVED)
    assert (decision.risk, decision.effect, decision.rules) == (Risk.RED, Effect.HOLD, ("builtin:undecided",))
    nobody: Any = "root"
    assert decide(Call(tool="x"), replace(CODER, trust=nobody), BUILTIN).effect is Effect.HOLD


def test_reasons_carry_no_secret() -> None:
    decision = decide(Call(tool="x", args={"password": "hunter2", "t": "AKIA" + "IOSFODNN7EXAMPLE"}), CODER, BUILTIN)
    told = " ".join(decision.reasons)
    assert "`args.password` looks like a secret" in told or "`args.t` looks like a secret" in told
    assert "hunter2" not in told
    assert "IOSFODNN7" not in told


@pytest.mark.parametrize(
    ("risks", "risk"), [((), "GREEN"), (("YELLOW", "GREEN"), "YELLOW"), (("GREEN", "RED", "YELLOW"), "RED"),
                        (("GREEN", "purple"), "RED"), (("",), "RED")],
)  # fmt: skip
def test_risk_of_a_deliverable_is_the_highest_and_an_unknown_one_is_red(risks: tuple[str, ...], risk: str) -> None:
    assert highest(risks) is Risk(risk)


@given(st.sampled_from(Risk), st.sampled_from(Trust))
def test_deliverable_waits_for_a_person_exactly_where_a_call_of_its_risk_would(risk: Risk, trust: Trust) -> None:
    assert needs_person(str(risk), str(trust)) == (MATRIX[risk][trust] is Effect.HOLD)
    assert needs_person(str(risk), str(trust)) == (risk is Risk.RED or (risk is Risk.YELLOW and trust is Trust.INTERN))


def test_risks_are_in_order() -> None:
    assert Risk.GREEN < Risk.YELLOW < Risk.RED
    assert max(Risk, key=lambda risk: risk.level) is Risk.RED
    assert sorted([Risk.RED, Risk.GREEN, Risk.YELLOW]) == list(Risk)


TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["prod", "push", "select 1", "a.md", "password=hunter22"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)
CALLS = st.builds(
    Call,
    tool=st.sampled_from(["file_read", "file_write", "git_ops", "fetch", "database", "send_email", "x", "send_sms"]),
    args=st.dictionaries(st.sampled_from(["action", "path", "url", "sql", "to", "a"]) | TEXTS, JSON, max_size=4) | JSON,
    description=TEXTS,
    input_schema=JSON,
    declared_risk=st.none() | st.sampled_from(Risk),
    is_builtin=st.booleans(),
)
CALLERS = st.builds(
    Caller, agent_name=TEXTS, persona=TEXTS, trust=st.sampled_from(Trust), project=TEXTS, cost_usd=st.floats(0, 100)
)
WHEN = st.none() | st.sampled_from(
    ["args.action == 'push'", "args.a > 3", "has(args.path)", "agent.trust == 'intern'", "true", "size(args) > 1"]
).map(compile_condition)
RULES = st.builds(
    Rule,
    id=st.sampled_from(["r1", "r2", "r3"]),
    tools=st.sampled_from([(), ("x",), ("git_ops",), ("f*",)]),
    condition=WHEN,
    risk=st.sampled_from(Risk),
    people=st.integers(1, 3),
    not_requester=st.booleans(),
)
DENIALS = st.builds(Rule, id=st.just("d1"), tools=st.sampled_from([("x",), ("git_ops",)]), condition=WHEN)
POLICIES = st.builds(
    Policy,
    base=st.dictionaries(st.sampled_from(["x", "git_ops", "send_email"]), st.sampled_from(Risk)),
    rules=st.lists(RULES, max_size=3).map(tuple),
    denials=st.lists(DENIALS, max_size=1).map(tuple),
)
HASHES = st.sampled_from(["", "a", "b"])
APPROVALS = st.none() | st.builds(
    ApprovedBinding, st.just("apr_1"), HASHES, HASHES, people=st.integers(1, 3), not_requester=st.booleans()
)
STRICTNESS = [Effect.ALLOW, Effect.HOLD, Effect.DENY]


@given(CALLS, CALLERS, POLICIES, APPROVALS)
def test_red_is_never_allowed_without_an_approval_of_exactly_this_call(
    call: Call, who: Caller, rules: Policy, approval: ApprovedBinding | None
) -> None:
    decision = decide(call, who, rules, approval=approval)
    if decision.effect is Effect.ALLOW and decision.risk is Risk.RED:
        assert approval is not None
        assert approval.subject == approval.presented != ""
        assert approval.people >= decision.people
        assert approval.not_requester or not decision.not_requester


@given(CALLS, CALLERS, POLICIES, RULES | DENIALS)
def test_another_rule_never_lowers_anything(call: Call, who: Caller, rules: Policy, rule: Rule) -> None:
    before = decide(call, who, rules)
    more = (
        replace(rules, denials=(*rules.denials, rule))
        if rule.risk is None
        else replace(rules, rules=(*rules.rules, rule))
    )
    after = decide(call, who, more)
    assert after.risk >= before.risk
    assert STRICTNESS.index(after.effect) >= STRICTNESS.index(before.effect)
    assert after.people >= before.people
    assert after.not_requester >= before.not_requester


@given(CALLS, CALLERS, POLICIES, APPROVALS)
def test_the_same_question_has_the_same_answer_and_a_whole_one(
    call: Call, who: Caller, rules: Policy, approval: ApprovedBinding | None
) -> None:
    one: Decision = decide(call, who, rules, approval=approval)
    assert one == decide(call, who, rules, approval=approval)
    assert one.reasons
    assert one.policy_hash == rules.version_hash
    json.dumps([one.risk, one.effect, one.rules, one.reasons])


@given(CALLS, CALLERS, POLICIES)
def test_an_approval_lifts_no_denial(call: Call, who: Caller, rules: Policy) -> None:
    if decide(call, who, rules).effect is Effect.DENY:
        generous = ApprovedBinding("apr_1", "a", "a", people=9, not_requester=True)
        assert decide(call, who, rules, approval=generous).effect is Effect.DENY
