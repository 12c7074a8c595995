"""Histories are mended until a provider takes them, whatever rows there are."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.agents.history.conversation import messages_of
from interlock.agents.history.history_repair import joined, mended
from interlock.llm.messages import Message, Text, Thinking, ToolResult, ToolUse
from tests.unit.agents.histories import any_rows, conversations, is_valid, merged, rows_of

HELLO, AGAIN = Message("user", (Text("hello"),)), Message("user", (Text("again"),))
FEW = settings(max_examples=30)
SAID = Message("assistant", (Text("hi"),))


@FEW
@given(conversations())
def test_whole_conversation_stays_as_it_is(messages: list[Message]) -> None:
    whole = merged(messages)
    assert mended(whole) == whole
    assert is_valid(whole)


@FEW
@given(conversations(), st.data())
def test_any_cut_of_a_conversation_is_mended(messages: list[Message], data: st.DataObject) -> None:
    rows = rows_of(messages)
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    cut = mended(messages_of(rows[first:last]))
    assert is_valid(cut)
    assert mended(cut) == cut


@FEW
@given(conversations(), st.sets(st.integers(0, 40)))
def test_conversation_with_lost_rows_is_mended(messages: list[Message], lost: set[int]) -> None:
    rows = [row for number, row in enumerate(rows_of(messages)) if number not in lost]
    assert is_valid(mended(messages_of(rows)))


@given(any_rows())
def test_whatever_rows_there_are_a_provider_takes_them(rows: list[Any]) -> None:
    made = mended(messages_of(rows))
    assert is_valid(made)
    assert mended(made) == made


@given(any_rows())
def test_messages_that_nobody_has_put_together_are_mended(rows: list[Any]) -> None:
    assert is_valid(mended([message for row in rows for message in messages_of([row])]))


@FEW
@given(any_rows(), conversations())
def test_a_run_goes_on_from_any_history(rows: list[Any], own: list[Message]) -> None:
    made, earlier = joined(mended(messages_of(rows)), own)
    roles = [message.role for message in made]
    assert roles[: earlier + 2] == [("user", "assistant")[at % 2] for at in range(len(roles[: earlier + 2]))]
    assert made[earlier].blocks[-len(own[0].blocks) :] == own[0].blocks
    assert made[earlier + 1 :] == own[1:]


def test_results_that_are_there_are_kept_and_the_others_named_lost() -> None:
    calls = ToolUse("1", "look", {}), ToolUse("2", "look", {})
    begun = [HELLO, Message("assistant", calls), Message("user", (ToolResult("2", "seen"),))]
    lost, kept = mended(begun)[-1].blocks
    assert kept == ToolResult("2", "seen")
    assert isinstance(lost, ToolResult)
    assert (lost.call_id, lost.is_error) == ("1", True)


def test_of_two_results_the_first_counts() -> None:
    told = Message("user", (ToolResult("1", "one"), ToolResult("1", "two")))
    assert mended([HELLO, Message("assistant", (ToolUse("1", "look", {}),)), told])[-1].blocks == (
        ToolResult("1", "one"),
    )


def test_ids_that_come_again_are_told_apart_with_their_results() -> None:
    ask, told = Message("assistant", (ToolUse("1", "look", {}),)), Message("user", (ToolResult("1", "seen"),))
    made = mended([HELLO, ask, told, ask, told])
    assert [use.id for message in made for use in message.tool_uses] == ["1", "1_2"]
    assert made[-1].blocks == (ToolResult("1_2", "seen"),)


def test_thoughts_without_words_are_left_out_and_what_was_said_around_them_is_one_message() -> None:
    thought = Message("assistant", (Thinking("hm", "signed"),))
    assert mended([HELLO, thought, AGAIN, SAID]) == [Message("user", (*HELLO.blocks, *AGAIN.blocks)), SAID]


def test_what_had_no_answer_is_in_one_message_with_what_comes() -> None:
    assert joined([HELLO, SAID, AGAIN], [HELLO]) == ([HELLO, SAID, Message("user", (*AGAIN.blocks, *HELLO.blocks))], 2)
    assert joined([HELLO, SAID], [AGAIN, SAID]) == ([HELLO, SAID, AGAIN, SAID], 2)
    assert joined([], [HELLO]) == ([HELLO], 0)
