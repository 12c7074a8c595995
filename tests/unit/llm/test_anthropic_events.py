"""An answer put together from its events."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.text import storable
from interlock.llm.anthropic_events import MessageAssembly, counted, events_of
from interlock.llm.anthropic_request import request_body
from interlock.llm.messages import (
    Delta,
    Message,
    ModelRequest,
    Opaque,
    Reply,
    StopReason,
    Text,
    Thinking,
    ToolUse,
    Usage,
)

NOTHING = Usage()


def start(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"model": "m", "content": [], "usage": usage}}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    pieces = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    begin = {"type": "content_block_start", "index": index, "content_block": content}
    return [begin, *pieces, {"type": "content_block_stop", "index": index}]


def call(*pieces: str, **given: Any) -> list[dict[str, Any]]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(0, {"type": "tool_use", "id": "c1", "name": "f", "input": given}, *deltas)


def end(reason: str | None = "end_turn", details: Any = None, **usage: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_details": details}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def told(*events: dict[str, Any]) -> tuple[Reply, list[Delta]]:
    assembly = MessageAssembly("anthropic")
    deltas = [delta for event in events for delta in assembly.accept(event)]
    assert assembly.finished
    return assembly.reply("req_1", NOTHING), deltas


def only(*events: dict[str, Any]) -> Any:
    (made,) = told(start(input_tokens=1), *events, *end())[0].message.blocks
    return made


@given(st.text(min_size=1), st.lists(st.integers(0, 60), max_size=5))
def test_text_is_whole_however_it_was_cut(words: str, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(words)) for cut in cuts), len(words)]
    pieces = [words[a:b] for a, b in itertools.pairwise(places)]
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    reply, shown = told(start(input_tokens=1), *block(0, {"type": "text", "text": ""}, *deltas), *end())
    assert reply.message.text == storable(words)
    assert "".join(delta.text for delta in shown) == storable(words)


@pytest.mark.parametrize("reason", list(StopReason))
def test_every_stop_reason_is_known(reason: StopReason) -> None:
    assert told(start(), *end(reason.value))[0].stop_reason is reason


def test_a_pause_to_sum_up_goes_on() -> None:
    summed = block(0, {"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "short"})
    reply, _ = told(start(), *summed, *end("compaction"))
    assert reply.stop_reason is StopReason.PAUSE_TURN
    assert reply.message.blocks == (Opaque("anthropic", {"type": "compaction", "content": "short"}),)


@pytest.mark.parametrize(("reason", "detail"), [("brand_new", "brand_new"), (None, None)])
def test_an_unknown_stop_reason_ends_the_turn_or_runs_the_calls(reason: str | None, detail: str | None) -> None:
    assert told(start(), *end(reason))[0].stop_reason is StopReason.END_TURN
    reply, _ = told(start(), *call("{}"), *end(reason))
    assert reply.stop_reason is StopReason.TOOL_USE
    assert reply.detail == detail


@pytest.mark.parametrize(
    ("details", "detail"),
    [({"category": "cyber", "explanation": "no exploits"}, "no exploits"), ({"category": "bio"}, "bio"), (None, None)],
)
def test_a_refusal_brings_its_reason(details: dict[str, str] | None, detail: str | None) -> None:
    assert told(start(), *end("refusal", details))[0].detail == detail


@pytest.mark.parametrize(
    ("pieces", "args"),
    [(["", '{"a"', ": [1]}"], {"a": [1]}), ([""], {}), ([], {}), (['{"a": "\\ud83d\\ude00"}'], {"a": "😀"})],
)
def test_arguments_are_read_once_they_are_whole(pieces: list[str], args: dict[str, Any]) -> None:
    assert only(*call(*pieces)) == ToolUse("c1", "f", args)


def test_arguments_that_came_at_once_are_taken() -> None:
    assert only(*call(a=1)) == ToolUse("c1", "f", {"a": 1})


@pytest.mark.parametrize("raw", ['{"a": 1', "[1]", '"text"', '{"a": NaN}', "[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
def test_arguments_that_are_no_object_are_kept_as_they_came(raw: str) -> None:
    assert only(*call(raw)) == ToolUse("c1", "f", None, raw)


def test_half_a_character_in_arguments_is_replaced() -> None:
    made = only(*call('{"a": ["\\ud83d"], "\\ud83d": 1}'))
    assert json.dumps(made.args, ensure_ascii=False).encode()


def test_a_pair_of_surrogates_in_two_pieces_becomes_one_character() -> None:
    pieces = [{"type": "text_delta", "text": half} for half in ("\ud83d", "\ude00")]
    assert only(*block(0, {"type": "text", "text": ""}, *pieces)) == Text("😀")


def test_a_block_cut_by_the_token_limit_is_kept() -> None:
    unfinished = call('{"path": "a')[:-1]
    reply, _ = told(start(), *unfinished, *end("max_tokens"))
    assert reply.message.tool_uses == (ToolUse("c1", "f", None, '{"path": "a'),)


def test_an_answer_of_thinking_only_is_an_answer() -> None:
    deltas = [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "sig"}]
    made = only(*block(0, {"type": "thinking", "thinking": "", "signature": ""}, *deltas))
    assert made == Thinking("hm", "sig")


@pytest.mark.parametrize(
    "content",
    [
        {"type": "redacted_thinking", "data": "enc"},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "x", "encrypted_content": "e"}]},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "it rains", "citations": [{"type": "page_location", "cited_text": "rain"}]},
        {"type": "never_seen", "anything": {"deep": [1, None]}},
    ],
)
def test_what_came_in_goes_back_unchanged(content: dict[str, Any]) -> None:
    message = {"type": "message", "model": "m", "content": [content], "stop_reason": "end_turn", "usage": {}}
    reply, _ = told(*events_of(message))
    conversation = (reply.message, Message("user", (Text("go on"),)))
    assert request_body(ModelRequest("m", (), conversation), "anthropic")["messages"][0]["content"] == [content]


def test_a_server_tools_streamed_input_and_citations_are_kept() -> None:
    query = {"type": "input_json_delta", "partial_json": '{"query": "x"}'}
    used = only(*block(0, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, query))
    assert used == Opaque(
        "anthropic", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    )
    said, cited = {"type": "text_delta", "text": "rain"}, {"type": "citations_delta", "citation": {"url": "u"}}
    reply, _ = told(start(), *block(0, {"type": "text", "text": "", "citations": None}, said, cited), *end())
    assert reply.message.text == "rain"
    assert reply.message.blocks[1] == Opaque("anthropic", {"type": "text", "text": "rain", "citations": [{"url": "u"}]})


def test_an_unknown_delta_of_an_unknown_block_is_merged() -> None:
    made = only(*block(0, {"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "short"}))
    assert made == Opaque("anthropic", {"type": "compaction", "content": "short"})


def test_what_came_with_a_call_goes_back_with_it() -> None:
    called = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    by_code = {**called, "id": "c2", "caller": {"type": "code_execution_20260120", "tool_id": "srv_1"}}
    message = {"type": "message", "model": "m", "content": [called, by_code]}
    reply, _ = told(*events_of({**message, "stop_reason": "tool_use", "usage": {}}))
    assert [use.id for use in reply.message.tool_uses] == ["c1", "c2"]
    conversation = (reply.message, Message("user", (Text("go on"),)))
    sent = request_body(ModelRequest("m", (), conversation), "anthropic")["messages"][0]["content"]
    assert sent == [called, by_code]
    assert (
        request_body(ModelRequest("m", (), conversation), "other")["messages"][0]["content"][1].keys() == called.keys()
    )


def test_the_pieces_of_a_text_with_sources_are_one_text() -> None:
    def text(words: str, *sources: str) -> dict[str, Any]:
        made: dict[str, Any] = {"type": "text", "text": words}
        return {**made, "citations": [{"url": each} for each in sources]} if sources else made

    searched = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    content = [text("It is "), text("warm", "u"), text(" and "), text("dry", "v"), text("."), searched, text("So go.")]
    reply, _ = told(*events_of({"type": "message", "content": content, "stop_reason": "end_turn", "usage": {}}))
    assert reply.message.text == "It is warm and dry.\nSo go."


def test_usage_is_cumulative_and_split_by_kind() -> None:
    first = start(
        input_tokens=100,
        output_tokens=1,
        cache_creation_input_tokens=70,
        cache_read_input_tokens=9,
        cache_creation={"ephemeral_5m_input_tokens": 50, "ephemeral_1h_input_tokens": 20},
    )
    reply, _ = told(first, *end(input_tokens=150, output_tokens=42, cache_read_input_tokens=0))
    assert reply.usage == Usage(150, 42, cache_read_tokens=9, cache_write_5m_tokens=50, cache_write_1h_tokens=20)


def test_cache_writes_without_a_split_are_of_five_minutes() -> None:
    assert counted({"cache_creation_input_tokens": 7}, None) == Usage(cache_write_5m_tokens=7)


@pytest.mark.parametrize("junk", [None, "12", -5, True, 1.5, [1]])
def test_junk_in_usage_counts_as_nothing(junk: Any) -> None:
    assert counted({"input_tokens": junk, "output_tokens": 3, "cache_creation": junk}, None) == Usage(0, 3)


def test_usage_is_known_from_the_first_event() -> None:
    assembly = MessageAssembly("anthropic")
    list(assembly.accept(start(input_tokens=12, output_tokens=1)))
    assert assembly.usage == Usage(12, 1)


def test_an_answer_without_any_report_is_charged_by_estimate() -> None:
    assembly = MessageAssembly("compatible")
    said = block(0, {"type": "text", "text": "hello there"})
    for event in ({"type": "message_start", "message": {}}, *said, {"type": "message_stop"}):
        list(assembly.accept(event))
    usage = assembly.reply(None, Usage(input_tokens=30)).usage
    assert usage.input_tokens == 30
    assert usage.output_tokens > 0


@given(
    st.recursive(
        st.none() | st.integers(-1, 3) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "index", "delta", "content_block", "message", "usage", "text", "partial_json"]
                ),
                inner
                | st.sampled_from(
                    ["message_start", "content_block_start", "content_block_delta", "text_delta", "text"]
                ),
            )
        ),
        max_leaves=12,
    )
)
def test_junk_raises_nothing_but_what_the_adapter_expects(event: Any) -> None:
    assembly = MessageAssembly("anthropic")
    try:
        list(assembly.accept(event))
        assembly.reply(None, NOTHING)
    except (KeyError, TypeError, AttributeError, ValueError):
        assert not assembly.finished
