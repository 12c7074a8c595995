"""Conversations as rows and back, and histories mended until a provider takes them."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.conversation import lines_of, mended, messages_of, system_line, system_of
from interlock.llm.messages import Block, Image, Message, Opaque, SystemPart, Text, Thinking, ToolResult, ToolUse

words = st.text(min_size=1, max_size=8).map(Text)
thoughts = st.builds(Thinking, st.text(max_size=5), st.text(max_size=5), st.none() | st.just("enc"))
said = words | thoughts | st.builds(Opaque, st.just("p"), st.just({"type": "x"}))
arguments = st.none() | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A whole conversation: words, then turns with calls and their results, ids that come again included."""
    out = [Message("user", tuple(draw(st.lists(words, min_size=1, max_size=2))))]
    for _ in range(draw(st.integers(0, 5))):
        names = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))
        uses: list[Block] = [ToolUse(name, "tool", draw(arguments), "raw") for name in names]
        out.append(Message("assistant", (*draw(st.lists(said, max_size=2)), *uses, *draw(st.lists(words, max_size=1)))))
        results: list[Block] = [ToolResult(name, draw(st.text(max_size=4)), draw(st.booleans())) for name in names]
        more = draw(st.lists(words, min_size=0 if results else 1, max_size=1))
        out.append(Message("user", (*results, *more)))
    return [message for message in out if message.blocks]


def rows_of(messages: Sequence[Message]) -> list[Any]:
    """The rows that a run would have written."""
    return [
        SimpleNamespace(message_type=line.message_type, blocks=list(line.blocks))
        for message in messages
        for line in lines_of(message)
    ]


def joined(messages: Sequence[Message]) -> list[Message]:
    """Neighbours of one side as one message."""
    out: list[Message] = []
    for message in messages:
        if out and out[-1].role == message.role:
            out[-1] = Message(message.role, (*out[-1].blocks, *message.blocks))
        else:
            out.append(message)
    return out


def is_valid(messages: Sequence[Message]) -> bool:
    """Whether a provider takes it as the beginning of a request: each call has its result in the next message."""
    if messages and messages[0].role != "user":
        return False
    for before, message in zip([None, *messages], messages, strict=False):
        asked = [use.id for use in before.tool_uses] if before is not None and before.role == "assistant" else []
        answered = [block.call_id for block in message.blocks if isinstance(block, ToolResult)]
        if (asked if message.role == "user" else []) != answered or not message.blocks:
            return False
        if message.role == "assistant" and asked:
            return False
        leading = message.blocks[: len(answered)]
        if not all(isinstance(block, ToolResult) for block in leading):
            return False
    return not (messages and messages[-1].tool_uses)


@given(conversations())
def test_rows_give_back_the_conversation(messages: list[Message]) -> None:
    assert messages_of(rows_of(messages)) == joined(messages)


@given(conversations())
def test_whole_conversation_stays_as_it_is(messages: list[Message]) -> None:
    whole = joined(messages)
    assert mended(whole) == whole
    assert is_valid(whole)


@given(conversations(), st.data())
def test_any_cut_of_a_conversation_is_mended(messages: list[Message], data: st.DataObject) -> None:
    rows = rows_of(messages)
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    cut = mended(messages_of(rows[first:last]))
    assert is_valid(cut)
    assert mended(cut) == cut


@given(conversations(), st.sets(st.integers(0, 40)))
def test_conversation_with_lost_rows_is_mended(messages: list[Message], lost: set[int]) -> None:
    rows = [row for number, row in enumerate(rows_of(messages)) if number not in lost]
    assert is_valid(mended(messages_of(rows)))


def test_results_that_are_there_are_kept_and_the_others_named_lost() -> None:
    calls = ToolUse("1", "look", {}), ToolUse("2", "look", {})
    begun = [Message("user", (Text("go"),)), Message("assistant", calls), Message("user", (ToolResult("2", "seen"),))]
    lost, kept = mended(begun)[-1].blocks
    assert kept == ToolResult("2", "seen")
    assert isinstance(lost, ToolResult)
    assert (lost.call_id, lost.is_error) == ("1", True)


def test_system_prompt_comes_back_part_by_part() -> None:
    parts = (SystemPart("identity", "you are"), SystemPart("time", "now", stable=False))
    line = system_line(parts)
    assert system_of([SimpleNamespace(message_type=line.message_type, blocks=line.blocks)]) == parts
    assert messages_of([SimpleNamespace(message_type=line.message_type, blocks=line.blocks)]) == []


def test_picture_is_kept_in_its_place() -> None:
    message = Message("user", (Text("see"), Image("image/png", "AAAA"), Text("this")))
    assert messages_of(rows_of([message])) == [message]
