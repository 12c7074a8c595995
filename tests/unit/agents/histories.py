"""Conversations of any kind as messages and as rows, and what a provider takes; no test lives here."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from interlock.agents.history.conversation import lines_of
from interlock.llm.messages import Block, Image, Message, Opaque, Text, Thinking, ToolResult, ToolUse, block_to_json

words: st.SearchStrategy[Block] = st.sampled_from([Text("a"), Text("so be it"), Text("ünd\n"), Text("<b>")])
unsaid: st.SearchStrategy[Block] = st.sampled_from(
    [Thinking("", ""), Thinking("hm", "signed"), Thinking("", "", "enc"), Opaque("p", {"type": "x"})]
)  # fmt: skip
arguments = st.sampled_from([None, {}, {"a": 1}, {"b": "c"}])
MESSAGE_TYPES = ("system_message", "user_message", "assistant_message", "tool_call_message", "tool_return_message")


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A whole conversation: words, then turns with calls and their results."""
    out = [Message("user", tuple(draw(st.lists(words, min_size=1, max_size=2))))]
    for turn in range(draw(st.integers(0, 5))):
        names = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))
        uses: list[Block] = [ToolUse(f"{name}{turn}", "tool", draw(arguments), "raw") for name in names]
        said = [*uses, *draw(st.lists(words, min_size=0 if uses else 1, max_size=1))]
        out.append(Message("assistant", (*draw(st.lists(words | unsaid, max_size=2)), *said)))
        results: list[Block] = [ToolResult(f"{name}{turn}", "seen", draw(st.booleans())) for name in names]
        more = draw(st.lists(words, min_size=0 if results else 1, max_size=1))
        out.append(Message("user", (*results, *more)))
    return out


def any_block() -> st.SearchStrategy[Block]:
    """Any block with few ids, so that they meet."""
    ids = st.sampled_from(["", "a", "b", "a_2"])
    return st.one_of(
        words, st.just(Text(" \n")), unsaid, st.just(Image("image/png", "AAAA")),
        st.builds(ToolUse, ids, st.just("tool"), arguments, st.just("raw")),
        st.builds(ToolResult, ids, st.sampled_from(["", "seen"]), st.booleans()),
    )  # fmt: skip


def any_rows() -> st.SearchStrategy[list[Any]]:
    """Rows that no run would have written: any block in any kind of row."""
    return st.lists(
        st.builds(
            lambda kind, blocks: SimpleNamespace(message_type=kind, blocks=[block_to_json(b) for b in blocks]),
            st.sampled_from(MESSAGE_TYPES), st.lists(any_block(), max_size=3),
        ),
        max_size=12,
    )  # fmt: skip


def rows_of(messages: Sequence[Message]) -> list[Any]:
    """The rows that a run would have written."""
    return [
        SimpleNamespace(message_type=line.message_type, blocks=list(line.blocks))
        for message in messages
        for line in lines_of(message)
    ]


def merged(messages: Sequence[Message]) -> list[Message]:
    """Neighbours of one side as one message."""
    out: list[Message] = []
    for message in messages:
        if out and out[-1].role == message.role:
            out[-1] = Message(message.role, (*out[-1].blocks, *message.blocks))
        else:
            out.append(message)
    return out


def is_valid(messages: Sequence[Message]) -> bool:
    """Whether a provider takes it: sides take turns, calls have ids of their own, and one result each, at once."""
    roles = [message.role for message in messages]
    if roles != [("user", "assistant")[at % 2] for at in range(len(roles))]:
        return False
    ids = [use.id for message in messages for use in message.tool_uses]
    if len(set(ids)) != len(ids) or "" in ids:
        return False
    asked: list[str] = []
    for message in messages:
        answered = [block.call_id for block in message.blocks if isinstance(block, ToolResult)]
        leading = message.blocks[: len(answered)]
        if asked != answered or not all(isinstance(block, ToolResult) for block in leading):
            return False
        if not any(isinstance(b, (Image, ToolUse, ToolResult)) or _has_words(b) for b in message.blocks):
            return False
        if message.role == "user" and any(isinstance(b, (ToolUse, Thinking)) for b in message.blocks):
            return False
        if message.role == "assistant" and any(isinstance(b, Image) for b in message.blocks):
            return False
        asked = [use.id for use in message.tool_uses]
    return not asked


def _has_words(block: Block) -> bool:
    return isinstance(block, Text) and bool(block.text.strip())
