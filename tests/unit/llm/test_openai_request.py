"""Requests as the providers of chat completions want them."""

import json
import re
from typing import Any

import pytest

from interlock.llm.messages import (
    Block,
    Image,
    Message,
    ModelRequest,
    Opaque,
    SystemPart,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from interlock.llm.openai_dialects import CUSTOM, DIALECTS
from interlock.llm.openai_request import request_body

PICTURE = Image("image/png", "aGk=")
NAMES = [*sorted(DIALECTS), "in-house"]


def user(*blocks: Block) -> Message:
    return Message("user", blocks)


def assistant(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def body(*messages: Message, provider: str = "openai", model: str = "m", **rest: Any) -> dict[str, Any]:
    asked = ModelRequest(model, messages=messages or (user(Text("hi")),), **{"system": (), **rest})
    return request_body(asked, provider, DIALECTS.get(provider, CUSTOM))


def messages(*given: Message, **rest: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = body(*given, **rest)["messages"]
    return sent


@pytest.mark.parametrize("provider", NAMES)
def test_the_limit_has_the_name_that_the_provider_knows(provider: str) -> None:
    new = {"openai", "groq"}
    sent = body(provider=provider, max_tokens=77)
    assert sent["max_completion_tokens" if provider in new else "max_tokens"] == 77
    assert len({"max_tokens", "max_completion_tokens"} & set(sent)) == 1


@pytest.mark.parametrize("provider", NAMES)
def test_usage_is_asked_for_where_asking_is_allowed(provider: str) -> None:
    assert ("stream_options" in body(provider=provider)) is (provider not in {"mistral", "perplexity"})


@pytest.mark.parametrize(("model", "role"), [("gpt-4o", "system"), ("gpt-5.5", "developer"), ("o3", "developer")])
def test_the_system_prompt_is_one_message(model: str, role: str) -> None:
    parts = (SystemPart("a", "you are"), SystemPart("b", "  "), SystemPart("c", "today", stable=False))
    assert messages(model=model, system=parts)[0] == {"role": role, "content": "you are\n\ntoday"}
    assert messages(model=model, provider="groq", system=parts)[0]["role"] == "system"


@pytest.mark.parametrize(
    ("provider", "model", "sent"),
    [("openai", "gpt-4o", True), ("openai", "gpt-5.5", False), ("openai", "o3-mini", False), ("mistral", "m", True)],
)
def test_a_temperature_goes_where_it_is_taken(provider: str, model: str, sent: bool) -> None:
    assert ("temperature" in body(provider=provider, model=model, temperature=0.0)) is sent
    assert "temperature" not in body(provider=provider, model=model)


@pytest.mark.parametrize(
    ("provider", "model", "effort", "field"),
    [
        ("openai", "gpt-5.5", "low", {"reasoning_effort": "low"}),
        ("openai", "gpt-5.5", "max", {"reasoning_effort": "xhigh"}),
        ("openai", "gpt-4o", "low", {}),
        ("google", "gemini-3.8-flash", "xhigh", {"reasoning_effort": "high"}),
        ("groq", "openai/gpt-oss-120b", "max", {"reasoning_effort": "high"}),
        ("groq", "qwen3", "low", {}),
        ("openrouter", "x/y", "low", {"reasoning": {"effort": "low"}}),
        ("deepseek", "deepseek-flash", "max", {"reasoning_effort": "max"}),
        ("together", "x", "low", {}),
    ],
)
def test_an_effort_goes_where_it_is_taken(provider: str, model: str, effort: str, field: dict[str, Any]) -> None:
    sent = body(provider=provider, model=model, effort=effort)
    assert {k: v for k, v in sent.items() if k.startswith("reasoning")} == field


def test_results_come_first_and_each_is_a_message() -> None:
    calls = assistant(Text("Looking."), ToolUse("c1", "f", {"ä": 1}), ToolUse("c2", "g", None, '{"a'))
    first, second, third, fourth = messages(calls, user(Text("and?"), ToolResult("c1", "one"), ToolResult("c2", "two")))
    assert first["content"] == "Looking."
    assert [each["id"] for each in first["tool_calls"]] == ["c1", "c2"]
    assert [json.loads(each["function"]["arguments"]) for each in first["tool_calls"]] == [
        {"ä": 1},
        {"INVALID_JSON": '{"a'},
    ]
    assert (second, third) == (
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
    )
    assert fourth == {"role": "user", "content": "and?"}


def test_a_call_without_words_has_no_content() -> None:
    assert messages(assistant(ToolUse("c1", "f", {})))[0]["content"] is None


def test_pictures_are_parts_and_words_for_those_who_cannot_see() -> None:
    seen = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    ]
    assert messages(user(Text("look"), PICTURE))[0]["content"] == seen
    assert "cannot be shown" in messages(user(Text("look"), PICTURE), provider="deepseek")[0]["content"]
    assert messages(assistant(Text("drawn"), PICTURE))[0]["content"] == "drawn"


def test_what_a_person_says_twice_is_one_message() -> None:
    assert messages(user(Text("a")), user(Text("b"))) == [{"role": "user", "content": "a\n\nb"}]
    both = messages(user(Text("a")), user(PICTURE))[0]["content"]
    assert [part["type"] for part in both] == ["text", "image_url"]


def test_what_others_thought_and_did_is_left_out() -> None:
    others = (
        Thinking("hm", "sig"),
        Thinking("", redacted="enc"),
        Opaque("anthropic", {"type": "server_tool_use", "id": "s1"}),
        Opaque("deepseek", {"type": "reasoning", "field": "reasoning_content"}),
    )
    assert messages(assistant(*others, Text("so")), provider="groq") == [{"role": "assistant", "content": "so"}]
    assert messages(assistant(*others), user(Text("go on")), provider="groq") == [{"role": "user", "content": "go on"}]


def test_signed_thinking_of_others_does_not_pass_for_ones_own() -> None:
    mixed = assistant(
        Thinking("theirs", "sig"),
        Thinking("mine"),
        Opaque("groq", {"type": "reasoning", "field": "reasoning"}),
        Text("x"),
    )
    assert messages(mixed, provider="groq")[0]["reasoning"] == "mine"


@pytest.mark.parametrize("ident", ["toolu_01RXQDRjwv5Un7n98xFahjo8", "functions.f:0", "call_" + "x" * 80])
def test_ids_of_calls_are_made_to_fit(ident: str) -> None:
    for provider, allowed in (("mistral", r"[A-Za-z0-9]{9}"), ("openai", r"[!-~]{1,40}")):
        call, result = messages(assistant(ToolUse(ident, "f", {})), user(ToolResult(ident, "ok")), provider=provider)
        assert call["tool_calls"][0]["id"] == result["tool_call_id"]
        assert re.fullmatch(allowed, result["tool_call_id"])


def test_words_after_a_result_wait_for_an_answer_where_the_provider_wants_one() -> None:
    talk = (assistant(ToolUse("abcdefgh1", "f", {})), user(ToolResult("abcdefgh1", "ok"), Text("and?")))
    assert [m["role"] for m in messages(*talk, provider="mistral")] == ["assistant", "tool", "assistant", "user"]
    assert [m["role"] for m in messages(*talk)] == ["assistant", "tool", "user"]


def test_a_call_that_another_model_made_is_signed_as_such() -> None:
    call = assistant(ToolUse("c1", "f", {}), ToolUse("c2", "g", {}))
    first, second = messages(call, provider="google", model="gemini-3.8-flash")[0]["tool_calls"]
    assert "thought_signature" in first["extra_content"]["google"]
    assert "extra_content" not in second
    assert "extra_content" not in messages(call, provider="google", model="gemini-2.5-pro")[0]["tool_calls"][0]


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "kind": {"const": "a"},
        "where": {"$ref": "#/$defs/Place"},
        "when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
        "size": {"type": ["integer", "null"], "exclusiveMinimum": 0},
        "level": {"type": "integer", "enum": [1, 2]},
        "rest": {"type": "array"},
        "self": {"$ref": "#/$defs/Tree"},
    },
    "required": ["kind"],
    "additionalProperties": False,
    "$defs": {
        "Place": {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": False},
        "Tree": {"type": "object", "properties": {"leaf": {"$ref": "#/$defs/Tree"}}},
    },
    "anyOf": [{"required": ["kind"]}],
}


def test_schemas_of_tools_are_objects_with_properties() -> None:
    tools = (ToolSpec("f", "does", {"type": "object"}), ToolSpec("g", "", SCHEMA))
    first, second = (each["function"] for each in body(tools=tools)["tools"])
    assert first == {"name": "f", "description": "does", "parameters": {"type": "object", "properties": {}}}
    assert not {"$schema", "anyOf"} & set(second["parameters"])
    assert second["parameters"]["properties"] == SCHEMA["properties"]


def test_schemas_are_made_plain_where_only_plain_ones_are_taken() -> None:
    (tool,) = body(tools=(ToolSpec("g", "", SCHEMA),), provider="google")["tools"]
    sent = tool["function"]["parameters"]
    properties = sent["properties"]
    assert set(sent) == {"type", "properties", "required"}
    assert properties["kind"] == {"enum": ["a"], "type": "string"}
    assert properties["where"] == {"type": "object", "properties": {"city": {"type": "string"}}}
    assert properties["when"] == {"type": "string", "format": "date-time", "nullable": True}
    assert properties["size"] == {"type": "integer", "nullable": True}
    assert properties["level"] == {"type": "integer"}
    assert properties["rest"] == {"type": "array", "items": {"type": "string"}}
    assert not re.search(r"\$ref|\$defs|additionalProperties|exclusive", json.dumps(sent))
