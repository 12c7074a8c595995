"""The toolbox: names, order, exact errors; and what the built-in tools promise."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.errors import UsageError
from interlock.core.values import canonical_json
from interlock.tools.builtin import builtin_tools
from interlock.tools.registry import Tool, Toolbox
from tests.tool_calls import BOX

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 20},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "kind": {"enum": ["a", "b"]},
    },
    "required": ["title"],
    "additionalProperties": False,
}


async def _nothing(ctx: object, /, **args: object) -> None: ...


def made(schema: dict[str, Any] = SCHEMA, **changes: Any) -> Tool:
    fields: dict[str, Any] = {"name": "t", "description": "Does t.", "input_schema": schema, "fn": _nothing}
    return Tool(**{**fields, **changes})


def errors(args: object, schema: dict[str, Any] = SCHEMA) -> list[str]:
    tool = made(schema)
    return Toolbox([tool]).validate(tool, args)


def test_valid_arguments_have_no_errors() -> None:
    assert errors({"title": "x", "lines": [{"n": 1}], "kind": "a"}) == []


def test_every_error_is_told_with_its_path() -> None:
    found = errors({"title": 5, "lines": [{"n": 1}, {"n": "two"}], "kind": "c", "more": 1})
    assert found == [
        "Additional properties are not allowed ('more' was unexpected)",
        "`kind`: 'c' is not one of ['a', 'b']",
        "`lines[1].n`: 'two' is not of type 'integer'",
        "`title`: 5 is not of type 'string'",
    ]


PLAIN: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "any"},
            "count": {"type": "integer", "default": 1},
            "sure": {"type": "boolean"},
            "share": {"type": "number"},
            "short": {"type": "string", "maxLength": 1},
            "either": {"type": ["string", "null"]},
        },
        "required": ["text"],
        "additionalProperties": False,
    },
    {"type": "object", "properties": {"text": {"type": "string"}, "x": True}},
    {"type": "object", "required": ["count"]},
    {"type": "object", "properties": {"text": {"type": "string"}}, "dependentRequired": {"text": ["sure"]}},
]
VALUES = st.one_of(
    st.sampled_from(["", "ab", "\x00", "\ud800", "ä", None, True, 0, 1.0, 0.5, float("nan")]), st.integers(), st.text()
)


@given(schema=st.sampled_from(PLAIN), args=st.dictionaries(st.sampled_from([*PLAIN[0]["properties"], "x"]), VALUES))
def test_a_quick_look_finds_what_a_thorough_one_does(schema: dict[str, Any], args: dict[str, Any]) -> None:
    thorough = {**schema, "minProperties": 0}
    assert errors(args, schema) == errors(args, thorough)


def test_a_rule_for_all_arguments_together_is_kept() -> None:
    assert errors({}, {"type": "object", "minProperties": 1}) == ["{} should be non-empty"]


def test_missing_argument_is_named() -> None:
    assert errors({}) == ["'title' is a required property"]


@pytest.mark.parametrize("args", [None, [], "{}", 3])
def test_anything_but_an_object_is_refused(args: object) -> None:
    assert errors(args) == ["the arguments are not a JSON object"]


def test_long_values_are_cut_out_of_the_message() -> None:
    (error,) = errors({"title": "x" * 100_000})
    assert len(error) < 300
    assert error.endswith("is too long")


def test_many_errors_are_counted() -> None:
    found = errors({"title": "x", "lines": [5] * 50})
    assert len(found) == 11
    assert found[-1] == "and 40 more"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"title": "a\x00b"}, "`title`: contains a NUL character"),
        ({"title": "\ud800"}, "`title`: contains half of a surrogate pair"),
        ({"title": "x", "lines": [{"n": float("nan")}]}, "`lines[0].n`: is not a finite number"),
        ({"title": "x", "k\x00": 1}, "contains a NUL character"),
    ],
)
def test_what_no_database_takes_is_refused(args: object, error: str) -> None:
    assert errors(args) == [error]


def test_deep_nesting_is_refused_and_harmless() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    (error,) = errors({"title": "x", "lines": deep})
    assert "levels deep" in error


@pytest.mark.parametrize("reference", ["https://example.com/s.json", "other.json", "file:///etc/passwd"])
def test_schema_that_refers_elsewhere_is_refused(reference: str) -> None:
    with pytest.raises(UsageError, match="only `#/…` is followed"):
        Toolbox([made({"type": "object", "properties": {"a": {"$ref": reference}}})])


@pytest.mark.parametrize("target", ["#/$defs/missing", "#"])
def test_reference_that_leads_nowhere_or_to_itself_is_an_error_not_a_crash(target: str) -> None:
    assert "cannot be applied" in errors({"a": 1}, {"type": "object", "$ref": target})[0]


@pytest.mark.parametrize("schema", [{"type": "object", "properties": 5}, {"type": "string"}, {}])
def test_what_is_no_schema_of_an_object_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="schema of tool `t`"):
        Toolbox([made(schema)])


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools named `t`"):
        Toolbox([made(), made()])


def test_tools_are_offered_in_one_order_and_unknown_ones_left_out() -> None:
    box = Toolbox([made(name="b"), made(name="a"), made(name="c")])
    assert [spec.name for spec in box.offered(["c", "nowhere", "a", "c"])] == ["a", "c"]
    assert box.names == ("a", "b", "c")


@pytest.mark.parametrize("change", [{"name": "u"}, {"description": "Does more."}, {"input_schema": {"type": "object"}}])
def test_digest_tells_definitions_apart(change: dict[str, Any]) -> None:
    assert made(**change).digest != made().digest
    assert made(risk="RED").digest == made().digest


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(JSON, st.sampled_from(BOX.names))
def test_no_argument_crashes_the_check_and_what_passes_can_be_stored(args: Any, name: str) -> None:
    tool = BOX.get(name)
    assert tool is not None
    found = BOX.validate(tool, args)
    assert all("\n" not in error and "\x00" not in error for error in found)
    if not found:
        assert "\\u0000" not in json.dumps(args)
        canonical_json(args).encode()


@given(JSON)
def test_storable_values_pass_a_schema_that_allows_everything(value: Any) -> None:
    found = errors({"a": value}, {"type": "object"})
    try:
        storable = "\x00" not in canonical_json({"a": value}).encode().decode().replace("\\u0000", "\x00")
    except ValueError:
        storable = False
    assert (found == []) == storable


@pytest.mark.parametrize("tool", builtin_tools(), ids=lambda tool: tool.name)
def test_built_in_tool_describes_every_argument_and_forbids_others(tool: Tool) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    assert tool.input_schema["additionalProperties"] is False
    for rule in tool.input_schema["properties"].values():
        assert rule["description"].endswith(".")
    assert not {"anyOf", "oneOf", "allOf", "not"} & tool.input_schema.keys()


def test_tools_that_change_nothing_may_be_called_again() -> None:
    look = Tool(name="look", description="Looks.", input_schema={"type": "object"}, fn=_nothing, read_only=True)
    assert look.idempotent
    assert {tool.name for tool in builtin_tools() if tool.read_only} == {"file_read", "file_list"}


def test_built_in_tools_declare_what_they_may_do() -> None:
    told = {tool.name: (tool.risk, tool.idempotent, tool.outside) for tool in builtin_tools()}
    assert told == {
        "file_read": ("GREEN", True, False),
        "file_list": ("GREEN", True, False),
        "file_write": ("YELLOW", True, False),
        "submit_deliverable": ("GREEN", True, False),
        "post_progress": ("GREEN", True, False),
        "post_comment": ("GREEN", True, False),
        "ask_operator": ("GREEN", True, False),
        "notification": ("YELLOW", True, False),
        "do_nothing": ("GREEN", True, False),
        "store_memory": ("GREEN", True, False),
        "recall_memories": ("GREEN", True, False),
        "search_memories": ("GREEN", True, False),
        "memory_search": ("GREEN", True, False),
        "memory_get": ("GREEN", True, False),
        "update_memory": ("GREEN", True, False),
        "send_message": ("GREEN", True, False),
        "react_to_message": ("GREEN", True, False),
        "start_background_agent": ("YELLOW", True, False),
        "sessions_spawn": ("YELLOW", True, False),
        "send_agent_message": ("GREEN", True, False),
        "web_search": ("GREEN", True, True),
        "send_email": ("RED", True, True),
    }


def test_what_leaves_is_rehearsed_in_words() -> None:
    for tool in builtin_tools():
        assert (tool.simulate is not None) == tool.outside
