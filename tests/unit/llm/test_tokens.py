"""Estimates of prompt lengths err on the long side."""

from interlock.llm.messages import (
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
from interlock.llm.tokens import estimate_prompt_tokens, text_tokens

ENGLISH = "The quick brown fox jumps over the lazy dog and then goes home to sleep. "


def request(*blocks: Text | Thinking | ToolUse | ToolResult | Image | Opaque, **rest: object) -> ModelRequest:
    return ModelRequest("m", messages=(Message("user", blocks),), **{"system": (), **rest})  # type: ignore[arg-type]


def test_english_is_not_underestimated_for_any_tokenizer() -> None:
    assert text_tokens(ENGLISH * 100) > len((ENGLISH * 100).split()) * 1.45


def test_a_character_beyond_latin_counts_for_more_than_one_token() -> None:
    assert text_tokens("漢字" * 100) >= 300
    assert text_tokens("🙂" * 100) >= 200


def test_half_a_surrogate_pair_is_counted() -> None:
    assert text_tokens("\ud83d") > 0


def test_every_part_of_a_request_makes_it_longer() -> None:
    bare = estimate_prompt_tokens(request(Text("hello")))
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    longer = [
        request(Text("hello"), system=(SystemPart("identity", "You are the researcher of this team"),)),
        request(Text("hello"), tools=(ToolSpec("web_search", "Finds pages", schema),)),
        request(Text("hello"), Thinking("I wonder about that", "signature")),
        request(Text("hello"), Thinking("", redacted="encrypted" * 5)),
        request(Text("hello"), ToolUse("c1", "web_search", {"query": "foxes"})),
        request(Text("hello"), ToolUse("c1", "web_search", None, '{"query": "fox')),
        request(Text("hello"), ToolResult("c1", "a page about foxes")),
        request(Text("hello"), Image("image/png", "QUJD")),
        request(Text("hello"), Opaque("anthropic", {"type": "server_tool_use", "id": "s1"})),
    ]
    assert all(estimate_prompt_tokens(each) > bare for each in longer)
