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


LONG = "word " * 700
"""Enough to be cached."""


def marked(made: dict[str, Any]) -> list[str]:
    """What a request has breakpoints on, in the order of its prefix."""
    parts = [(tool["name"], tool) for tool in made.get("tools", ())]
    parts += [(part["text"].strip(), part) for part in made.get("system", ())]
    parts += [
        (block.get("text") or block["type"], block) for message in made["messages"] for block in message["content"]
    ]
    assert all(part["cache_control"] == EPHEMERAL for _, part in parts if "cache_control" in part)
    return [name for name, part in parts if "cache_control" in part]


TOOLS = (ToolSpec("a", LONG, {"type": "object"}), ToolSpec("b", "", {"type": "object"}))
SYSTEM = (SystemPart("identity", "you"), SystemPart("persona", "are"), SystemPart("date", "now", stable=False))


def test_the_cache_ends_at_the_last_stable_part_the_last_tool_and_the_last_block() -> None:
    conversation = user(Text("one")), assistant(Text("two")), user(Text("three"), Text("four"))
    assert marked(body(*conversation, tools=TOOLS, system=SYSTEM)) == ["b", "are", "one", "four"]


def test_the_cache_ends_too_where_the_call_before_ended_however_long_the_turn_was_since() -> None:
    calls = [ToolUse(str(n), "a", {}) for n in range(60)]
    results = [ToolResult(str(n), "found") for n in range(60)]
    earlier = user(Text("one")), assistant(Text("two")), user(Text("three"))
    now = body(*earlier, assistant(*calls), user(*results), tools=TOOLS, system=SYSTEM)
    assert marked(now) == ["b", "are", "three", "tool_result"]
    assert marked(body(*earlier, tools=TOOLS, system=SYSTEM))[-1] == "three"


def test_a_turn_that_the_provider_paused_is_marked_where_it_ends() -> None:
    paused = user(Text("one")), assistant(Text("two"))
    assert marked(body(*paused, tools=TOOLS)) == ["b", "one", "two"]


def test_what_is_too_short_to_be_cached_has_no_breakpoint() -> None:
    assert marked(body(user(Text("one")), assistant(Text("two")), user(Text("three")), system=SYSTEM)) == []
    grown = body(user(Text("one")), assistant(Text("two")), user(Text("three"), Text(LONG)), system=SYSTEM)
    assert marked(grown) == [LONG]
    assert marked(body(user(Text("one")), tools=TOOLS[1:], system=(SystemPart("a", LONG),))) == [
        LONG.strip(), "one",
    ]  # fmt: skip


def test_some_models_cache_only_what_is_longer() -> None:
    for name, found in (("claude-sonnet-5-5", ["b", "hi"]), ("claude-haiku-4-5", [])):
        assert marked(request_body(ModelRequest(name, (), (user(Text("hi")),), TOOLS), "anthropic")) == found


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
    assert body(assistant(Text("so"), SEARCHED), system=(SystemPart("a", LONG),))["messages"][0]["content"] == [
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
        {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True},
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
    sent_as = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    assert shown == [{"type": "image", "source": sent_as, "cache_control": EPHEMERAL}]


def test_what_other_providers_draw_and_number_is_made_to_fit() -> None:
    ident = "functions.f:0"
    call, result = ToolUse(ident, "f", {}), ToolResult(ident, "ok")
    first, second = body(assistant(Image("image/png", "aGk="), call), user(result), user(Text("go on")))["messages"][:2]
    (called,), (answered,) = first["content"], second["content"]
    assert called["type"] == "tool_use"
    assert called["id"] == answered["tool_use_id"] != ident
    assert called["id"].isalnum()
