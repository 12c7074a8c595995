"""Conversations as rows and back."""

from types import SimpleNamespace

from hypothesis import given

from interlock.agents.history.conversation import messages_of, system_line, system_of
from interlock.llm.messages import Image, Message, SystemPart, Text
from tests.unit.agents.histories import conversations, merged, rows_of


@given(conversations())
def test_rows_give_back_the_conversation(messages: list[Message]) -> None:
    assert messages_of(rows_of(messages)) == merged(messages)


def test_system_prompt_comes_back_part_by_part() -> None:
    parts = (SystemPart("identity", "you are"), SystemPart("time", "now", stable=False))
    line = system_line(parts)
    assert system_of([SimpleNamespace(message_type=line.message_type, blocks=line.blocks)]) == parts
    assert messages_of([SimpleNamespace(message_type=line.message_type, blocks=line.blocks)]) == []


def test_picture_is_kept_in_its_place() -> None:
    message = Message("user", (Text("see"), Image("image/png", "AAAA"), Text("this")))
    assert messages_of(rows_of([message])) == [message]
