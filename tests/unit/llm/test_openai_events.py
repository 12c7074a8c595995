"""An answer put together from the chunks of chat completions, in every dialect."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.llm.http_faults import ReportedError
from interlock.llm.messages import (
    Delta,
    Image,
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
from interlock.llm.openai_dialects import DIALECTS
from interlock.llm.openai_events import ChatAssembly, events_of
from interlock.llm.openai_request import request_body
from interlock.llm.sse import DONE
from interlock.testing.chat_script import chunk

UNREPORTED = Usage(input_tokens=30)


def told(*events: dict[str, Any], provider: str = "openai") -> tuple[Reply, list[Delta]]:
    assembly = ChatAssembly(provider)
    deltas = [delta for event in events for delta in assembly.accept(event)]
    assert assembly.finished
    return assembly.reply("req_1", UNREPORTED), deltas


def said(*deltas: dict[str, Any], stop: str | None = "stop", provider: str = "openai") -> Reply:
    return told(*(chunk(delta) for delta in deltas), chunk({}, stop), DONE, provider=provider)[0]


def calls(*lists: Any, stop: str = "tool_calls") -> tuple[ToolUse, ...]:
    return said(*({"tool_calls": pieces} for pieces in lists), stop=stop).message.tool_uses


def piece(
    name: str | None = None, args: Any = None, *, ident: str | None = None, index: int | None = None
) -> dict[str, Any]:
    function = {"name": name, "arguments": args}
    return {"id": ident, "index": index, "type": "function", "function": function}


@pytest.mark.parametrize(
    ("told_reason", "reason"),
    [
        ("stop", StopReason.END_TURN),
        ("eos", StopReason.END_TURN),
        ("length", StopReason.MAX_TOKENS),
        ("model_length", StopReason.CONTEXT_WINDOW),
        ("content_filter", StopReason.REFUSAL),
        ("content_filter: PROHIBITED_CONTENT", StopReason.REFUSAL),
        ("SAFETY", StopReason.REFUSAL),
        ("tool_calls", StopReason.END_TURN),
        ("never_heard_of", StopReason.END_TURN),
        (None, StopReason.END_TURN),
        ("", StopReason.END_TURN),
    ],
)
def test_every_reason_to_stop_is_understood(told_reason: str | None, reason: StopReason) -> None:
    assert said({"content": "so"}, stop=told_reason).stop_reason is reason


@pytest.mark.parametrize("stop", ["stop", "tool_calls", "function_call", "never_heard_of", None])
def test_calls_are_run_whatever_the_reason_to_stop(stop: str | None) -> None:
    reply = said({"tool_calls": [piece("f", "{}", ident="c1", index=0)]}, stop=stop)
    assert (reply.stop_reason, reply.message.tool_uses) == (StopReason.TOOL_USE, (ToolUse("c1", "f", {}),))


def test_calls_that_the_limit_cut_are_not_run() -> None:
    reply = said({"tool_calls": [piece("f", '{"a', ident="c1", index=0)]}, stop="length")
    assert reply.stop_reason is StopReason.MAX_TOKENS
    assert reply.message.tool_uses == (ToolUse("c1", "f", None, '{"a'),)


@pytest.mark.parametrize(
    "reason", ["error", "insufficient_system_resource", "abort", "function_call_filter: MALFORMED_FUNCTION_CALL"]
)
def test_a_reason_that_means_failure_is_an_error(reason: str) -> None:
    with pytest.raises(ReportedError):
        said({"content": "half an ans"}, stop=reason)


def test_a_refusal_has_its_words() -> None:
    reply = said({"refusal": "I can"}, {"refusal": "not"})
    assert (reply.stop_reason, reply.detail, reply.message.text) == (StopReason.REFUSAL, "I cannot", "")


@pytest.mark.parametrize(
    ("lists", "uses"),
    [
        # As OpenAI sends them: two at once, taking turns.
        (
            [
                [piece("f", "", ident="c1", index=0)],
                [piece("g", "", ident="c2", index=1)],
                [piece(args='{"a"', index=0)],
                [piece(args='{"b": 2}', index=1)],
                [piece(args=": 1}", index=0)],
            ],
            [("c1", "f", {"a": 1}), ("c2", "g", {"b": 2})],
        ),
        # The id and the name in every piece.
        (
            [[piece("f", '{"a"', ident="c1", index=0)], [piece("f", ": 1}", ident="c1", index=0)]],
            [("c1", "f", {"a": 1})],
        ),
        # A new id in every piece.
        (
            [[piece("f", '{"a"', ident="x1", index=0)], [piece(None, ": 1}", ident="x2", index=0)]],
            [("x1", "f", {"a": 1})],
        ),
        # All with index 0, and whole.
        (
            [[piece("f", "{}", ident="c1", index=0)], [piece("g", "{}", ident="c2", index=0)]],
            [("c1", "f", {}), ("c2", "g", {})],
        ),
        ([[piece("f", "{}", ident="c1", index=0), piece("f", "{}", index=0)]], [("c1", "f", {}), (None, "f", {})]),
        # Without an index.
        (
            [[piece("f", '{"a"', ident="c1")], [piece(args=": 1}")], [piece("f", "{}", ident="c2")]],
            [("c1", "f", {"a": 1}), ("c2", "f", {})],
        ),
        # Without an id.
        ([[piece("f", "{}", index=0), piece("f", "{}", index=1)]], [(None, "f", {}), (None, "f", {})]),
        # Without both.
        ([[piece("f", '{"a": 1}')], [piece("g", '{"b": 2}')]], [(None, "f", {"a": 1}), (None, "g", {"b": 2})]),
        ([[piece("f"), piece("f")]], [(None, "f", {}), (None, "f", {})]),
        # The same id twice.
        ([[piece("f", "{}", ident="call"), piece("g", "{}", ident="call")]], [("call", "f", {}), (None, "g", {})]),
        # Arguments as an object, as JSON in JSON, as nothing, as null, and told again at the end.
        ([[piece("f", {"a": 1}, ident="c1", index=0)]], [("c1", "f", {"a": 1})]),
        ([[piece("f", '"{\\"a\\": 1}"', ident="c1", index=0)]], [("c1", "f", {"a": 1})]),
        ([[piece("f", None, ident="c1", index=0)]], [("c1", "f", {})]),
        ([[piece("f", "null", ident="c1", index=0)]], [("c1", "f", {})]),
        (
            [
                [piece("f", '{"a"', ident="c1", index=0)],
                [piece(args=": 1}", index=0)],
                [piece("f", '{"a": 1}', index=0)],
            ],
            [("c1", "f", {"a": 1})],
        ),
        # A name in pieces, and one that grows.
        (
            [[piece("get_", ident="c1", index=0)], [piece("it", index=0)], [piece(args="{}", index=0)]],
            [("c1", "get_it", {})],
        ),
        (
            [[piece("get_", ident="c1", index=0)], [piece("get_it", index=0)], [piece(args="{}", index=0)]],
            [("c1", "get_it", {})],
        ),
        # Without `function` around it.
        ([[{"id": "c1", "index": 0, "name": "f", "arguments": "{}"}]], [("c1", "f", {})]),
    ],
)
def test_calls_are_put_together_however_they_come(lists: Any, uses: list[tuple[str | None, str, Any]]) -> None:
    made = calls(*lists)
    assert [(use.name, use.args) for use in made] == [(name, args) for _, name, args in uses]
    assert all(ident is None or use.id == ident for use, (ident, _, _) in zip(made, uses, strict=True))
    assert len({use.id for use in made}) == len(made)
    assert all(use.id for use in made)


@pytest.mark.parametrize(
    "raw", ['{"a": 1', "[1]", '"text"', "[" * 50_000, '{"a": ' + "[" * 300 + "]" * 300 + "}", '{"a": NaN}']
)
def test_arguments_that_are_no_object_are_kept_as_they_came(raw: str) -> None:
    assert calls([piece("f", raw, ident="c1", index=0)]) == (ToolUse("c1", "f", None, raw),)


def test_a_call_of_before_there_were_tools_is_one() -> None:
    (use,) = said({"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": '{"a": 1}'}},
                  stop="function_call").message.tool_uses  # fmt: skip
    assert (use.name, use.args) == ("f", {"a": 1})


def test_the_name_of_a_call_is_shown_once_it_is_whole() -> None:
    pieces = [piece("get_", ident="c1", index=0)], [piece("it", index=0)], [piece("g", ident="c2", index=1)]
    _, deltas = told(*(chunk({"tool_calls": each}) for each in pieces), chunk({}, "tool_calls"), DONE)
    assert deltas == [Delta("tool", "get_it"), Delta("tool", "g")]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_comes_back_in_its_field_to_its_provider_only(field: str) -> None:
    reply = said({field: "let me "}, {field: "see", "content": None}, {"content": "42"}, provider="deepseek")
    assert [b for b in reply.message.blocks if not isinstance(b, Opaque)] == [Thinking("let me see"), Text("42")]
    asked = ModelRequest("m", (), (reply.message, Message("user", (Text("go on"),))))
    assert request_body(asked, "deepseek", DIALECTS["deepseek"])["messages"][0][field] == "let me see"
    assert field not in request_body(asked, "groq", DIALECTS["groq"])["messages"][0]


def test_reasoning_in_two_fields_counts_once() -> None:
    both = said({"reasoning": "hm", "reasoning_content": "hm"}, {"content": "so"})
    assert [b.text for b in both.message.blocks if isinstance(b, Thinking)] == ["hm"]


def test_details_of_reasoning_are_joined_and_go_back_unchanged() -> None:
    def detail(**fields: Any) -> dict[str, Any]:
        return {"reasoning_details": [{"type": "reasoning.text", "index": 0, "format": "a-v1", **fields}]}

    sealed = {"type": "reasoning.encrypted", "index": 1, "data": "xyz", "id": "r1"}
    reply = said(
        {**detail(text="let me "), "reasoning": "let me "},
        {**detail(text="see"), "reasoning": "see"},
        detail(signature="sig", text=""),
        {"reasoning_details": [sealed]},
        {"content": "42"},
        provider="openrouter",
    )
    assert reply.message.blocks[0] == Thinking("let me see")
    asked = ModelRequest("m", (), (reply.message,))
    sent = request_body(asked, "openrouter", DIALECTS["openrouter"])["messages"][0]
    joined = {"type": "reasoning.text", "index": 0, "format": "a-v1", "text": "let me see", "signature": "sig"}
    assert sent == {"role": "assistant", "content": "42", "reasoning_details": [joined, sealed]}
    assert "reasoning_details" not in request_body(asked, "openai", DIALECTS["openai"])["messages"][0]


def test_thinking_among_parts_of_content_comes_back_as_a_part() -> None:
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}
    reply = said(
        {"content": [part]}, {"content": [{"type": "text", "text": "so"}]}, {"content": "!"}, provider="mistral"
    )
    assert (reply.message.blocks[0], reply.message.text) == (Thinking("hm"), "so!")
    sent = request_body(ModelRequest("m", (), (reply.message,)), "mistral", DIALECTS["mistral"])["messages"][0]
    assert sent["content"] == [part, {"type": "text", "text": "so!"}]


def test_the_signature_of_a_call_goes_back_with_it() -> None:
    signed = {**piece("f", "{}", ident="c1", index=0), "extra_content": {"google": {"thought_signature": "sig"}}}
    reply = said({"tool_calls": [signed]}, provider="google")
    asked = ModelRequest("gemini-3.8-flash", (), (reply.message,))
    (sent,) = request_body(asked, "google", DIALECTS["google"])["messages"][0]["tool_calls"]
    assert sent["extra_content"] == {"google": {"thought_signature": "sig"}}


def test_pictures_and_sources_are_kept() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    source = {"type": "url_citation", "url_citation": {"url": "https://example.com"}}
    reply = said({"content": "look", "images": [picture]}, {"annotations": [source]}, {"annotations": [source]})
    assert Image("image/png", "aGk=") in reply.message.blocks
    assert Opaque("openai", {"type": "annotations", "annotations": [source]}) in reply.message.blocks


def test_what_is_told_whole_beside_deltas_is_not_told_twice() -> None:
    def both(delta: str, so_far: str) -> dict[str, Any]:
        made = chunk({"content": delta})
        made["choices"][0]["message"] = {"role": "assistant", "content": so_far}
        return made

    reply, deltas = told(both("a", "a"), both("b", "ab"), chunk({}, "stop"), DONE)
    assert reply.message.text == "ab" == "".join(delta.text for delta in deltas)


def test_whole_messages_that_grow_are_told_by_what_is_new() -> None:
    grown = [{"choices": [{"index": 0, "message": {"content": text}}]} for text in ("a", "ab", "abc")]
    reply, deltas = told(*grown, DONE)
    assert reply.message.text == "abc" == "".join(delta.text for delta in deltas)


def test_what_no_database_stores_is_replaced() -> None:
    reply = said({"content": "a\x00\ud83d"}, {"content": "\ude00b\ud800", "reasoning": "\x00"})
    assert reply.message.text == "a\ufffd😀b\ufffd"
    assert reply.message.blocks[0] == Thinking("\ufffd")


def test_other_choices_than_the_first_are_left_out() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "other"}}]}
    assert told(chunk({"content": "so"}), other, DONE)[0].message.text == "so"


@pytest.mark.parametrize(
    ("report", "usage"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(10, 5)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(6, 5, cache_read_tokens=4),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, Usage(6, 5, cache_read_tokens=4)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "num_cached_tokens": 4}, Usage(6, 5, cache_read_tokens=4)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
            },
            Usage(3, 5, cache_read_tokens=4, cache_write_5m_tokens=3),
        ),
        # Reasoning that is billed beside the completion.
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115}, Usage(10, 105)),
        ({"prompt_tokens": 10, "completion_tokens": "5", "prompt_tokens_details": "x"}, Usage(10, 0)),
        ({"input_tokens": 10, "output_tokens": 5}, Usage(10, 5)),
        ({"prompt_tokens": 3, "completion_tokens": 1, "cached_tokens": 99}, Usage(0, 1, cache_read_tokens=3)),
    ],
)
def test_usage_is_read_in_every_dialect(report: Any, usage: Usage) -> None:
    for events in (
        (chunk({"content": "so"}, "stop"), {"choices": [], "usage": report}),
        (chunk({"content": "so"}, "stop", usage=report),),
        (chunk({"content": "so"}, usage=report), chunk({}, "stop", usage=report)),
        (chunk({"content": "so"}, "stop", x_groq={"id": "r", "usage": report}),),
        ({"choices": [{"index": 0, "delta": {"content": "so"}, "finish_reason": "stop", "usage": report}]},),
    ):
        reply = told(*events, DONE)[0]
        assert (reply.usage, reply.is_estimated) == (usage, False)


@pytest.mark.parametrize("report", [None, {}, [], "12", {"prompt_tokens": None}, {"prompt_tokens": -1}])
def test_an_answer_without_any_report_is_charged_by_estimate(report: Any) -> None:
    reply = told(chunk({"content": "hello there"}, "stop", usage=report), DONE)[0]
    assert reply.is_estimated
    assert reply.usage.input_tokens == 30
    assert reply.usage.output_tokens > 0


@pytest.mark.parametrize(
    "event",
    [
        {"error": {"message": "no", "code": 502}},
        {"error": "no"},
        {"object": "error", "message": "no", "code": 400},
        {"detail": "no"},
        {"message": "no"},
        chunk({"content": ""}, error={"message": "no"}),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"message": "no"}}]},
        chunk({}, "stop", x_groq={"error": "no"}),
    ],
)
def test_an_error_in_the_middle_is_told(event: dict[str, Any]) -> None:
    with pytest.raises(ReportedError):
        told(chunk({"content": "half"}), event, DONE)


@pytest.mark.parametrize(
    "events", [[], [{"choices": []}], [chunk({"role": "assistant"})], [{"choices": [], "usage": {"prompt_tokens": 3}}]]
)
def test_an_end_without_an_answer_is_none(events: list[dict[str, Any]]) -> None:
    with pytest.raises(EOFError):
        told(*events, DONE)


def test_an_answer_is_whole_without_its_last_line_once_it_has_stopped_and_its_usage_is_there() -> None:
    assembly = ChatAssembly("openai")
    for event, is_whole in (
        (chunk({"content": "so"}), False),
        (chunk({}, "stop"), False),
        ({"choices": [], "usage": {"prompt_tokens": 1}}, True),
    ):
        list(assembly.accept(event))
        assert assembly.is_whole() is is_whole


def test_a_reason_to_stop_in_every_chunk_is_no_end() -> None:
    assembly = ChatAssembly("openai")
    for words in ("so ", "far"):
        list(assembly.accept(chunk({"content": words}, "stop", usage={"prompt_tokens": 1})))
    assert not assembly.is_whole()


def test_an_answer_in_one_piece_is_one() -> None:
    message = {"role": "assistant", "content": "so", "reasoning": "hm", "tool_calls": [piece("f", "{}", ident="c1")]}
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    reply, _ = told(
        *events_of({"model": "m-1", "choices": [{"message": message, "finish_reason": ""}], "usage": usage})
    )
    assert [type(b) for b in reply.message.blocks] == [Thinking, Opaque, Text, ToolUse]
    assert (reply.stop_reason, reply.usage, reply.model) == (StopReason.TOOL_USE, Usage(3, 4), "m-1")


json_values = st.recursive(
    st.none() | st.integers(-1, 3) | st.text(max_size=4) | st.sampled_from(["stop", "text", '{"a": 1}']),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "index", "content", "tool_calls", "function", "name", "arguments", "usage", "id",
                 "finish_reason", "reasoning_details", "message", "type", "error", "images", "prompt_tokens", "refusal"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=14,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from(["choices", "usage", "error"]), json_values), max_size=3))
def test_junk_raises_nothing_but_what_the_adapter_expects(events: list[dict[str, Any]]) -> None:
    assembly = ChatAssembly("openai")
    try:
        for event in [*events, DONE]:
            list(assembly.accept(event))
        assembly.reply(None, UNREPORTED)
    except (KeyError, TypeError, AttributeError, ValueError, EOFError, ReportedError):
        assert assembly.streamed_tokens() >= 0
