"""From policy files to policies: what is accepted, and how every fault is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.errors import ConfigError
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Risk
from interlock.policy.rules import Policy

EXAMPLE = """\
version: 1
base: {git_ops: YELLOW, crm.lookup: GREEN}
rules:
  - id: git-push
    tools: [git_ops]
    when: args.action in ["push", "pull_request"]
    risk: RED
    reason: leaves the workspace
    people: 2
    not_requester: true
    consensus: true
    expires: 24h
deny:
  - id: no-root
    tools: [code_exec]
    when: args.command.contains("sudo")
    reason: no privileges
tests:
  - {call: {tool: git_ops, args: {action: push}}, persona: coder, expect: {risk: RED, effect: hold, rule: git-push}}
"""


def faults(text: str, **known: frozenset[str]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        policy_from(text, "p.yaml", **known)
    return caught.value.faults


def test_the_documented_file_is_read_whole() -> None:
    policy = policy_from(EXAMPLE, "p.yaml")
    (rule,) = policy.rules
    assert (rule.id, rule.risk, rule.people, rule.not_requester, rule.consensus, rule.expires_s) == (
        "git-push", Risk.RED, 2, True, True, 86_400,
    )  # fmt: skip
    assert policy.base == {"git_ops": Risk.YELLOW, "crm.lookup": Risk.GREEN}
    assert [denial.id for denial in policy.denials] == ["no-root"]
    assert policy.cases[0].where == "p.yaml:19"


@pytest.mark.parametrize("text", [None, "", "# only words\n", b"", "~"])
def test_no_file_and_an_empty_one_mean_the_built_in_policy(text: str | None) -> None:
    policy = policy_from(text, "p.yaml")
    assert policy is Policy.builtin()
    assert policy.applicable("git_ops").rules == ()


def test_what_arguments_mean_holds_beside_the_rules_of_a_file() -> None:
    policy = policy_from(EXAMPLE, "p.yaml")
    call = Call(tool="git_ops", args={"action": "push"}, is_builtin=True)
    assert decide(call, Caller(), policy).rules == ("builtin:git-leaves", "git-push")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rules: []", "p.yaml:1: `version` is missing: write `version: 1`"),
        ("version: 2", "p.yaml:1: `version` is `2`: write `version: 1`"),
        ("version: true", "p.yaml:1: `version` is `True`: write `version: 1`"),
        ("- a", "p.yaml:1: a policy is a mapping that starts with `version: 1`"),
        ("version: 1\nrule: []", "p.yaml:2: unknown key `rule`: did you mean `rules`?"),
        ("version: 1\nrules: {}", "p.yaml:2: `rules` is a list"),
        ("version: 1\nrules:\n - 5", "p.yaml:3: a rule is a mapping with `id`, `tools`, `when`, `risk`, `reason`"),
        ("version: 1\nbase: {a: PURPLE}", "p.yaml:2: `PURPLE` is not a valid risk: use GREEN, YELLOW or RED"),
        ("version: 1\nbase: {a: green}", "p.yaml:2: `green` is not a valid risk: use GREEN, YELLOW or RED"),
        ("version: 1\nbase: [a]", "p.yaml:2: `base` maps tools to GREEN, YELLOW or RED"),
        ("version: 1\nbase: {'a*': RED}", "p.yaml:2: `a*`: base names single tools, patterns are for rules"),
        (
            "version: 1\nrules:\n  - {tools: [a], risk: RED}",
            "p.yaml:3: `id` is missing: use lower-case letters, digits, `.`, `_` and `-`",
        ),
        (
            "version: 1\nrules:\n  - {id: 'builtin:x', risk: RED}",
            "p.yaml:3: `builtin:x` is not an id: use lower-case letters, digits, `.`, `_` and `-`",
        ),
        ("version: 1\nrules:\n  - id: x", "p.yaml:3: `risk` is missing: what does the rule raise calls to?"),
        (
            "version: 1\nrules:\n  - {id: x, risk: RED}\ndeny:\n  - {id: x}",
            "p.yaml:5: id `x` is already used on line 3: ids are unique",
        ),
        ("version: 1\nrules:\n  - {id: x, risk: RED, tools: git}", "p.yaml:3: `tools` is a list: write `[git]`"),
        (
            "version: 1\nrules:\n  - {id: x, risk: RED, tools: []}",
            "p.yaml:3: `tools` is empty: leave it out for every tool",
        ),
        ("version: 1\nrules:\n  - {id: x, risk: RED, tools: ['a b']}", "p.yaml:3: `a b` is not a tool name"),
        (
            "version: 1\nrules:\n  - id: x\n    risk: RED\n    when: args.a ==",
            "p.yaml:5: not a CEL condition: mismatched input '<EOF>' (line 1, column 10 of the condition)",
        ),
        (
            "version: 1\nrules:\n  - id: x\n    risk: RED\n    when: arg.a == 1",
            "p.yaml:5: unknown name `arg`: a condition sees args, tool, agent, task, project",
        ),
        (
            "version: 1\nrules:\n  - id: x\n    risk: RED\n    when: agent.nam == 'a'",
            "p.yaml:5: unknown field `agent.nam`: there are name, persona, trust",
        ),
        (
            "version: 1\nrules:\n  - id: x\n    risk: RED\n    when: lower(tool) == 'a'",
            "p.yaml:5: unknown function `lower`",
        ),
        (
            "version: 1\nrules:\n  - id: x\n    risk: RED\n    when: true",
            "p.yaml:5: `when` is a CEL condition: put it in quotes",
        ),
        (
            "version: 1\nrules:\n  - id: x\n    risk: RED\n    when:",
            "p.yaml:5: `when` is a CEL condition: put it in quotes",
        ),
        (
            "version: 1\nrules:\n  - {id: x, risk: RED, expires: 1 day}",
            "p.yaml:3: `1 day` is not a time: write `30m`, `24h` or `7d` (30d at most)",
        ),
        (
            "version: 1\nrules:\n  - {id: x, risk: RED, expires: 31d}",
            "p.yaml:3: `31d` is not a time: write `30m`, `24h` or `7d` (30d at most)",
        ),
        ("version: 1\nrules:\n  - {id: x, risk: RED, people: 0}", "p.yaml:3: `people` is a number from 1 to 10"),
        ("version: 1\nrules:\n  - {id: x, risk: RED, people: true}", "p.yaml:3: `people` is a number from 1 to 10"),
        (
            "version: 1\nrules:\n  - {id: x, risk: RED, not_requester: yes}",
            "p.yaml:3: `not_requester` is true or false",
        ),
        ("version: 1\ndeny:\n  - {id: x, risk: RED}", "p.yaml:3: unknown key `risk`"),
        ("version: 1\ntests:\n  - {call: {args: {}}, expect: {risk: RED}}", "p.yaml:3: `call` needs a `tool`"),
        (
            "version: 1\ntests:\n  - {call: {tool: a}, expect: {}}",
            "p.yaml:3: a test expects at least one of `risk`, `effect` and `rule`",
        ),
        (
            "version: 1\ntests:\n  - {call: {tool: a}, expect: {effect: maybe}}",
            "p.yaml:3: `maybe` is not a valid effect: use allow, hold or deny",
        ),
        ("version: 1\nbase: {a: RED, a: GREEN}", "p.yaml:2: key `a` is already on line 2: keep one"),
    ],
)
def test_each_fault_is_told_with_its_line(text: str, fault: str) -> None:
    assert faults(text) == [fault]


def test_all_faults_of_a_file_are_told_at_once() -> None:
    text = "version: 3\nrulez: 1\nbase: {a: X}\nrules:\n  - {id: A, risk: Y, when: '(', tools: 3}\n"
    assert [fault.split(": ")[0] for fault in faults(text)] == [
        "p.yaml:2", "p.yaml:1", "p.yaml:3", "p.yaml:5", "p.yaml:5", "p.yaml:5", "p.yaml:5",
    ]  # fmt: skip


def test_names_of_tools_and_personas_are_checked_where_they_are_known() -> None:
    policy_from(EXAMPLE, "p.yaml")
    found = faults(EXAMPLE, known_tools=frozenset({"git_op", "code_exec"}), known_personas=frozenset({"codar"}))
    assert found == [
        "p.yaml:2: there is no tool `git_ops`: did you mean `git_op`?",
        "p.yaml:5: there is no tool `git_ops`: did you mean `git_op`?",
        "p.yaml:19: there is no tool `git_ops`: did you mean `git_op`?",
        "p.yaml:19: there is no persona `coder`: did you mean `codar`?",
    ]
    pattern = "version: 1\nrules:\n  - {id: x, risk: RED, tools: ['crm.*']}"
    assert policy_from(pattern, "p.yaml", known_tools=frozenset({"crm.lookup"})).notes == ()
    assert faults(pattern.replace("crm.*", "*" * 5)) == ["p.yaml:3: `*****` has more than 4 `*`"]


def test_a_tool_that_is_near_to_none_is_noted() -> None:
    notes = policy_from("version: 1\nbase: {crm.lookup: RED}", "p.yaml", known_tools=frozenset({"git_ops"})).notes
    assert notes == ("p.yaml:2: no tool `crm.lookup` is known here",)


def test_lowering_a_built_in_tool_is_noted() -> None:
    assert policy_from("version: 1\nbase: {send_email: YELLOW, git_ops: RED}", "p.yaml").notes == (
        "p.yaml:2: `send_email` is RED in the built-in table, YELLOW here",
    )


def test_the_version_changes_with_what_counts_and_with_nothing_else() -> None:
    one = policy_from(EXAMPLE, "p.yaml").version_hash
    assert policy_from("# words\n" + EXAMPLE.split("tests:")[0], "q.yaml").version_hash == one
    assert policy_from(EXAMPLE.replace("people: 2", "people: 3"), "p.yaml").version_hash != one
    assert policy_from(EXAMPLE.replace("sudo", "su"), "p.yaml").version_hash != one
    assert Policy.builtin().version_hash != one


def test_so_many_tools_in_one_rule_that_reading_them_would_take_minutes_are_a_fault() -> None:
    names = ",".join(f"read_{number}" for number in range(60_000))
    assert faults(f"version: 1\nrules:\n  - {{id: x, risk: RED, tools: [{names}]}}") == [
        'p.yaml:3: `tools` has 60,000 names: 500 at most, or a pattern such as `"crm.*"`'
    ]


def test_faults_of_a_hostile_file_stay_short_enough_to_be_told() -> None:
    many = "version: 1\n" + "".join(f"unknown{number}: 1\n" for number in range(40_000))
    assert len(faults(many)) == 1_000
    (long,) = faults(f"version: 1\n? {'b' * 500_000}\n: 1\n")
    assert long.startswith("p.yaml:2: unknown key `bbb")
    assert len(long) < 600


@given(st.text(st.sampled_from(list("version: 1\nrulesdytag{}[]-,()'\".=&|!<>args")), max_size=120))
def test_any_text_gives_a_policy_or_faults(tail: str) -> None:
    try:
        policy = policy_from(f"version: 1\n{tail}", "p.yaml")
    except ConfigError:
        return
    assert policy.version_hash
