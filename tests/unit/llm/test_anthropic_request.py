"""Requests as the Messages API wants them."""

from typing import Any

import pytest

from interlock.llm.anthropic_request import request_body
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

EPHEMERAL = {"type": "ephemeral"}
SEARCHED = Opaque(
    "anthropic", {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
)
CITED = Opaque("anthropic", {"type": "text", "text": "it rains", "citations": [{"type": "page_location"}]})


def user(*blocks: Block) -> Message:
    return Message("user", blocks)


def assistant(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def body(*messages: Message, **rest: Any) -> dict[str, Any]:
    return request_body(ModelRequest("claude-x", messages=messages, **{"system": (), **rest}), "anthropic")


def sent(*blocks: Block) -> list[dict[str, Any]]:
    """What becomes of an assistant's blocks in the middle of a conversation."""
    content: list[dict[str, Any]] = body(assistant(*blocks), user(Text("go on")))["messages"][0]["content"]
    return content


def test_a_temperature_is_never_sent() -> None:
    assert "temperature" not in body(user(Text("hi")), temperature=0.7)


def test_thinking_and_effort_are_sent_only_when_asked_for() -> None:
    assert not {"thinking", "output_config", "system", "tools"} & set(body(user(Text("hi"))))
    asked = body(user(Text("hi")), thinking="adaptive", effort="low")
    assert asked["thinking"] == {"type": "adaptive"}
    assert asked["output_config"] == {"effort": "low"}


def test_the_cache_ends_at_the_last_stable_part_the_last_tool_and_the_last_block() -> None:
    tools = (ToolSpec("a", "", {"type": "object"}), ToolSpec("b", "", {"type": "object"}))
    system = (SystemPart("identity", "you"), SystemPart("persona", "are"), SystemPart("date", "now", stable=False))
    made = body(
        user(Text("one")), assistant(Text("two")), user(Text("three"), Text("four")), tools=tools, system=system
    )
    assert [part.get("cache_control") for part in made["system"]] == [None, EPHEMERAL, None]
    assert [tool.get("cache_control") for tool in made["tools"]] == [None, EPHEMERAL]
    marks = [block.get("cache_control") for message in made["messages"] for block in message["content"]]
    assert marks == [None, None, None, EPHEMERAL]


def test_a_prompt_without_a_stable_part_is_not_marked() -> None:
    made = body(user(Text("hi")), system=(SystemPart("date", "now", stable=False),))
    assert made["system"] == [{"type": "text", "text": "now"}]


def test_thinking_goes_back_unchanged() -> None:
    blocks = (Thinking("hmm", "sig"), Thinking("", "sig2"), Thinking("", redacted="enc"))
    assert sent(*blocks) == [
        {"type": "thinking", "thinking": "hmm", "signature": "sig"},
        {"type": "thinking", "thinking": "", "signature": "sig2"},
        {"type": "redacted_thinking", "data": "enc"},
    ]


def test_blocks_of_the_provider_itself_go_back_unchanged_even_at_the_end() -> None:
    assert sent(SEARCHED) == [SEARCHED.data]
    assert body(assistant(Text("so"), SEARCHED))["messages"][0]["content"] == [
        {"type": "text", "text": "so", "cache_control": EPHEMERAL},
        SEARCHED.data,
    ]


def test_what_another_provider_wrote_is_left_out() -> None:
    assert sent(Opaque("openai", {"type": "reasoning"}), Thinking("unsigned"), Text("so")) == [
        {"type": "text", "text": "so"}
    ]


def test_a_text_with_citations_is_sent_once_and_with_them() -> None:
    assert sent(Text("it rains"), CITED, Text("it pours")) == [CITED.data, {"type": "text", "text": "it pours"}]


def test_blank_text_is_left_out_and_so_is_a_message_without_content() -> None:
    made = body(user(Text("hi")), assistant(Text(" \n")), user(Text(""), Text("again")))
    assert [message["role"] for message in made["messages"]] == ["user", "user"]
    assert len(made["messages"][1]["content"]) == 1


def test_results_come_before_words() -> None:
    content = body(user(Text("look"), ToolResult("c1", "found"), ToolResult("c2", "no", is_error=True)))
    assert content["messages"][0]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "found"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True, "cache_control": EPHEMERAL},
        {"type": "text", "text": "look"},
    ]


@pytest.mark.parametrize(
    ("call", "given"),
    [(ToolUse("c", "f", {"a": 1}), {"a": 1}), (ToolUse("c", "f", None, '{"a'), {"INVALID_JSON": '{"a'})],
)
def test_a_call_goes_back_as_an_object_even_if_its_arguments_were_none(call: ToolUse, given: dict[str, Any]) -> None:
    assert sent(call) == [{"type": "tool_use", "id": "c", "name": "f", "input": given}]


def test_a_picture_goes_as_base64() -> None:
    shown = body(user(Image("image/png", "QUJD")), assistant(Text("nice")))["messages"][0]["content"]
    assert shown == [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}]


def test_what_other_providers_draw_and_number_is_made_to_fit() -> None:
    ident = "functions.f:0"
    call, result = ToolUse(ident, "f", {}), ToolResult(ident, "ok")
    first, second = body(assistant(Image("image/png", "aGk="), call), user(result), user(Text("go on")))["messages"][:2]
    (called,), (answered,) = first["content"], second["content"]
    assert called["type"] == "tool_use"
    assert called["id"] == answered["tool_use_id"] != ident
    assert called["id"].isalnum()
