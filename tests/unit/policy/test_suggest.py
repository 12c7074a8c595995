"""Drafts of rules for new tools: what they say, that they are policies, and that they never lower anything."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.errors import UsageError
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.as_code.suggest import draft, suggestions, tools_of
from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Risk
from interlock.policy.rules import Policy

SERVER = [
    {"name": "send_invoice", "description": "Sends an invoice", "inputSchema": {"type": "object"}},
    {"name": "get_weather", "description": "The weather", "annotations": {"readOnlyHint": True}},
    {"name": "rebuild", "description": "Builds an index", "annotations": {"destructiveHint": True}},
]


@pytest.mark.parametrize(
    "document", [SERVER, {"tools": SERVER}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": SERVER}}]
)
def test_every_way_to_write_a_list_of_tools_is_read(document: Any) -> None:
    assert [tool["name"] for tool in tools_of(document)] == ["send_invoice", "get_weather", "rebuild"]


@pytest.mark.parametrize("document", [None, 5, {}, {"tools": {}}, ["a"], [{"description": "x"}], [{"name": 3}]])
def test_what_is_no_list_of_tools_is_said_in_a_line(document: Any) -> None:
    with pytest.raises(UsageError) as caught:
        tools_of(document)
    assert "tools/list" in str(caught.value)


def test_each_tool_has_a_rule_with_a_reason() -> None:
    found, faults = suggestions(tools_of(SERVER), "crm.")
    assert faults == []
    assert [(each.tool, each.risk) for each in found] == [
        ("crm.send_invoice", Risk.RED), ("crm.get_weather", Risk.YELLOW), ("crm.rebuild", Risk.RED),
    ]  # fmt: skip
    assert all(each.reason for each in found)
    text = draft(found)
    assert "where you trust that, `base` can make it GREEN" in text
    policy = policy_from(text, "draft.yaml")
    assert [rule.tools for rule in policy.rules] == [("crm.send_invoice",), ("crm.get_weather",), ("crm.rebuild",)]
    assert policy.base == {}


def test_a_name_that_is_a_pattern_or_none_at_all_gets_no_rule() -> None:
    found, faults = suggestions([{"name": "*"}, {"name": "a\nb"}, {"name": "ok"}])
    assert [each.tool for each in found] == ["ok"]
    assert len(faults) == 2


def test_of_two_tools_of_one_name_the_worse_counts() -> None:
    (one,), faults = suggestions([{"name": "x", "description": "Deletes a page"}, {"name": "x"}])
    assert one.risk is Risk.RED
    assert len(faults) == 1


NAMES = st.text(st.sampled_from("abcdeSend_-.*:/# \n\"'{}"), min_size=1, max_size=12)
WORDS = st.none() | st.integers() | st.text(max_size=40) | st.sampled_from(["Deletes it", "\n- id: evil", '"}]'])
SERVERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "description": WORDS,
            "inputSchema": st.none() | st.dictionaries(NAMES, WORDS, max_size=2),
            "annotations": st.none() | st.dictionaries(st.sampled_from(["destructiveHint", "title"]), st.booleans()),
        },
    ),
    max_size=5,
)


@given(SERVERS)
def test_a_draft_is_a_policy_that_lowers_nothing_whatever_the_server_says(server: list[dict[str, Any]]) -> None:
    found, _ = suggestions(tools_of(json.loads(json.dumps(server))))
    if not found:
        return
    policy = policy_from(draft(found), "draft.yaml")
    assert len(policy.rules) == len(found)
    for tool in server:
        call = Call(tool=tool["name"], description=str(tool.get("description") or ""))
        before, after = decide(call, Caller(), Policy.builtin()), decide(call, Caller(), policy)
        assert after.risk >= before.risk
