"""Rules that do nothing: which are told, how, and that honest ones are left alone."""

import pytest

from interlock.core.errors import ConfigError
from interlock.policy.as_code.lint import remarks, without_people, without_voters
from interlock.policy.as_code.policy_file import policy_from

HINT = ", those of an MCP server are known with `--tools FILE`"
TOOLS = frozenset({"git_ops", "send_email", "file_read", "code_exec", "pay"})


def told(rules: str) -> list[str]:
    policy = policy_from(f"version: 1\n{rules}", "p.yaml")
    return [f"{each.kind} {each}" for each in remarks(policy, {"pay": "RED"}, TOOLS)]


def of_rules(*rules: str, deny: tuple[str, ...] = ()) -> list[str]:
    lines = ["rules:", *(f"  - {{{rule}}}" for rule in rules)]
    return told("\n".join([*lines, *(["deny:"] if deny else []), *(f"  - {{{rule}}}" for rule in deny)]))


@pytest.mark.parametrize(
    ("rules", "remark"),
    [
        (
            ["id: a, risk: RED, tools: [pay], people: 2, when: 'args.n > 3 && args.n < 2'"],
            "unreachable p.yaml:3: rule `a` is unreachable: its condition never holds",
        ),
        (
            ["id: a, risk: RED, tools: [git_ops], when: 'tool == \"code_exec\"'"],
            "unreachable p.yaml:3: rule `a` is unreachable: its condition never holds",
        ),
        (
            ["id: a, risk: RED, tools: ['crm.*']"],
            f"unreachable p.yaml:3: rule `a` is unreachable: no `crm.*` is known here{HINT}",
        ),
        (
            ["id: a, risk: RED, tools: [git_ops, crm.write]"],
            f"unknown-tool p.yaml:3: rule `a` names an unknown tool: no `crm.write` is known here{HINT}",
        ),
        (
            ["id: a, risk: RED, when: 'true'"],
            "always p.yaml:3: the condition of rule `a` always holds: leave `when` out",
        ),
        (
            ["id: a, risk: RED, tools: [git_ops], when: 'args.n == 1'", "id: b, risk: RED, tools: ['git*']"],
            "shadowed p.yaml:3: rule `a` is shadowed: `b` (p.yaml:4) already raises as high whatever it matches",
        ),
        (
            ["id: a, risk: RED, tools: ['git*', pay]", "id: b, risk: RED, tools: ['git*', 'p*']"],
            "shadowed p.yaml:3: rule `a` is shadowed: `b` (p.yaml:4) already raises as high whatever it matches",
        ),
        (
            ["id: a, risk: RED, tools: [git_ops]", "id: b, risk: YELLOW, tools: [git_ops]"],
            "shadowed p.yaml:4: rule `b` is shadowed: `a` (p.yaml:3) already raises as high whatever it matches",
        ),
        (
            ["id: a, risk: RED, tools: [git_ops]", "id: b, risk: RED, tools: [git_ops]"],
            "shadowed p.yaml:4: rule `b` is shadowed: `a` (p.yaml:3) already raises as high whatever it matches",
        ),
        (
            ["id: a, risk: RED, tools: [send_email, pay]"],
            "no-effect p.yaml:3: rule `a` raises nothing: `send_email`, `pay` are RED or more already",
        ),
        (
            ["id: a, risk: GREEN, tools: [git_ops]"],
            "no-effect p.yaml:3: rule `a` raises nothing: every call is GREEN or more already",
        ),
    ],
)
def test_a_rule_that_does_nothing_is_told_once(rules: list[str], remark: str) -> None:
    assert of_rules(*rules) == [remark]


def test_a_rule_and_a_denial_that_a_denial_covers_are_told() -> None:
    found = of_rules(
        "id: a, risk: RED, tools: [code_exec], when: 'args.n == 1'",
        deny=("id: c, tools: [code_exec], when: 'args.n == 1 && args.m == 2'", "id: d, tools: [code_exec]"),
    )
    assert found == [
        "shadowed p.yaml:3: rule `a` is shadowed: `d` (p.yaml:6) denies whatever it matches",
        "shadowed p.yaml:5: rule `c` is shadowed: `d` (p.yaml:6) denies whatever it matches",
    ]


@pytest.mark.parametrize(
    "rules",
    [
        ["id: a, risk: RED, tools: [git_ops], when: 'args.action == \"push\"'"],
        [
            "id: a, risk: RED, tools: [git_ops], when: 'args.n > 3'",
            "id: b, risk: RED, tools: [git_ops], when: 'args.m'",
        ],
        ["id: a, risk: RED, tools: [send_email], people: 2"],
        ["id: a, risk: RED, tools: [send_email], expires: 1h"],
        ["id: a, risk: RED, tools: [git_ops]", "id: b, risk: RED, tools: [git_ops], people: 2, when: 'args.n > 3'"],
        ["id: a, risk: RED, tools: [git_ops], expires: 1h", "id: b, risk: RED, tools: [git_ops], people: 2"],
        ["id: a, risk: YELLOW, tools: [file_read]", "id: b, risk: RED, tools: [file_read], when: 'args.n == 1'"],
        ["id: a, risk: YELLOW"],
        ["id: a, risk: RED, when: 'agent.trust == \"intern\"'"],
    ],
)
def test_a_rule_that_does_something_is_left_alone(rules: list[str]) -> None:
    assert of_rules(*rules) == []


def test_rules_that_nobody_can_answer_are_told() -> None:
    policy = policy_from(
        "version: 1\nrules:\n"
        "  - {id: a, risk: RED, people: 2}\n"
        "  - {id: b, risk: RED, not_requester: true, consensus: true}\n",
        "p.yaml",
    )
    assert [str(each) for each in without_people(policy, 1)] == [
        "p.yaml:3: rule `a` asks for 2 people, and 1 may answer",
        "p.yaml:4: rule `b` asks for somebody other than the requester, and 1 may answer",
    ]
    assert without_people(policy, 2) == []
    assert [each.where for each in without_voters(policy, 0)] == ["p.yaml:4"]
    assert without_voters(policy, 3) == []


def test_thousands_of_rules_for_one_tool_are_compared_as_far_as_a_second_goes() -> None:
    rules = [f"id: r{n}, risk: RED, tools: [git_ops], when: 'args.a == {n} && args.b > {n}'" for n in range(900)]
    (remark,) = of_rules(*rules)
    assert remark.startswith("too-many p.yaml:58: rule `r55` is not compared with all others")


def test_more_rules_than_can_be_weighed_are_a_fault() -> None:
    with pytest.raises(ConfigError) as caught:
        of_rules(*(f"id: r{n}, risk: RED" for n in range(1_001)))
    assert caught.value.faults == ["p.yaml:1003: `rules` has 1,001 entries: 1,000 at most"]


def test_the_built_in_policy_has_no_remarks() -> None:
    assert told("") == []
