"""Acceptance checks as people and policy files write them: what is taken, what is refused and why."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.errors import ConfigError
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.checks import MOST, WAIVER, BadCheck, problems_of, read, stored
from interlock.settings.model import ConsensusSettings

GOOD: list[tuple[dict[str, Any], str]] = [
    ({"kind": "file_exists", "path": "out/report.csv"}, "file `out/report.csv` exists"),
    ({"kind": "command", "argv": ["pytest", "-q"]}, "command `pytest -q` succeeds"),
    ({"kind": "json_schema", "schema": {"type": "object"}}, 'JSON matches the schema {"type":"object"}'),
    ({"kind": "contains", "text": "Sources"}, "contains “Sources”"),
    ({"kind": "contains", "regex": "^# ", "path": "a.md"}, "contains /^#/ in `a.md`"),
    ({"kind": "verdict"}, "a reviewer's verdict is pass"),
]


@pytest.mark.parametrize(("item", "name"), GOOD)
def test_check_is_named_by_what_it_demands(item: dict[str, Any], name: str) -> None:
    assert read(item) == [item]
    (found,) = stored(read(item))
    assert (found.name, found.waived) == (name, False)


BAD: list[tuple[Any, str]] = [
    ("pytest -q", "it is a mapping with `kind`"),
    ({}, "`kind` is missing: use one of"),
    ({"kind": "shell"}, "there is no kind `shell`"),
    ({"kind": "file_exists"}, "`path` is missing"),
    ({"kind": "file_exists", "path": "/etc/passwd"}, "leads out of the workspace"),
    ({"kind": "file_exists", "path": "a/../../b"}, "leads out of the workspace"),
    ({"kind": "file_exists", "path": ""}, "`path` is the path of a file"),
    ({"kind": "file_exists", "path": "a", "waived": True}, "unknown key `waived`"),
    ({"kind": "command", "argv": "pytest -q"}, "no shell reads it"),
    ({"kind": "command", "argv": []}, "a list of 1 to"),
    ({"kind": "command", "argv": ["sleep", 1]}, "put numbers in quotes"),
    ({"kind": "command", "argv": ["a\x00b"]}, "holds words"),
    ({"kind": "command", "argv": [""]}, "begins with the program"),
    ({"kind": "command", "argv": ["a"], "timeout_s": 0}, "from 1 to 600"),
    ({"kind": "command", "argv": ["a"], "timeout_s": True}, "from 1 to 600"),
    ({"kind": "command", "argv": ["a"], "shell": True}, "unknown key `shell`"),
    ({"kind": "json_schema"}, "is a JSON Schema"),
    ({"kind": "json_schema", "schema": {"a": "x" * 60_000}}, "are the most"),
    ({"kind": "contains"}, "either `text` or `regex`"),
    ({"kind": "contains", "text": "a", "regex": "b"}, "either `text` or `regex`"),
    ({"kind": "contains", "text": ""}, "`text` is text"),
    ({"kind": "contains", "regex": "("}, "not a regular expression"),
    ({"kind": "contains", "regex": "a" * 501}, "at most 500"),
    ({"kind": "verdict", "by": "me"}, "unknown key `by`"),
]


@pytest.mark.parametrize(("item", "message"), BAD)
def test_what_is_no_check_is_refused_with_the_reason(item: Any, message: str) -> None:
    with pytest.raises(BadCheck, match=f"check 1: .*{message}"):
        read(item)


def test_there_are_not_too_many_and_all_faults_are_told_at_once() -> None:
    with pytest.raises(BadCheck, match="20 are the most"):
        read([{"kind": "verdict"}] * (MOST + 1))
    with pytest.raises(BadCheck) as told:
        read([{"kind": "x"}, {"kind": "verdict"}, {"kind": "contains"}])
    assert [fault.partition(":")[0] for fault in told.value.faults] == ["check 1", "check 3"]


def test_stored_check_knows_that_it_was_waived_and_a_damaged_one_is_not_taken_for_passed() -> None:
    (found,) = stored([{"kind": "verdict", "by": "per_1", WAIVER: {"by": "per_1", "note": "n"}}])
    assert found.waived
    with pytest.raises(BadCheck):
        stored([{"kind": "command", "argv": "rm"}])


@given(st.recursive(st.none() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)))
def test_reading_is_total(item: Any) -> None:
    for each in (item, {"kind": "command", "argv": item}, {"kind": "contains", "regex": item}):
        if not problems_of(each):
            assert stored(read(each))


def test_policy_file_has_checks_by_type_of_task() -> None:
    policy = policy_from(
        "version: 1\nchecks:\n  engineering:\n    - {kind: command, argv: [pytest, -q]}\n"
        "  mission: [{kind: contains, text: a}]",
        "p.yaml",
    )  # fmt: skip
    assert policy.checks["engineering"] == ({"kind": "command", "argv": ["pytest", "-q"]},)
    assert list(policy.checks) == ["engineering", "mission"]
    assert policy.version_hash != policy_from("version: 1", "p.yaml").version_hash


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("checks: []", "p.yaml:2: `checks` maps types of tasks to lists of checks"),
        ("checks: {enginering: []}", "p.yaml:2: unknown key `enginering`: did you mean `engineering`?"),
        ("checks: {docs: {kind: verdict}}", "p.yaml:2: `docs` is a list of checks"),
        ("checks:\n  docs:\n   - {kind: verdict}\n   - {kind: command, argv: make}",
         "p.yaml:5: `argv` is a list of words, no shell reads it: write [pytest, -q]"),
        ("checks: {mission: [{kind: verdict}]}",
         "p.yaml:2: nobody reviews a mission's own deliverable: ask for a `verdict` of single tasks"),
    ],
)  # fmt: skip
def test_fault_in_a_check_of_a_policy_file_has_its_line(text: str, fault: str) -> None:
    with pytest.raises(ConfigError) as told:
        policy_from(f"version: 1\n{text}", "p.yaml")
    assert told.value.faults == [fault]


def test_consensus_names_three_models_or_none() -> None:
    assert ConsensusSettings().models == ()
    assert len(ConsensusSettings(models=("a/b", "a/c", "d/e")).models) == 3
    with pytest.raises(ValueError, match="three are asked, of whom two decide"):
        ConsensusSettings(models=("a/b", "a/c"))
