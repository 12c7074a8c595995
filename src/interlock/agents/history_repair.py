"""Repairing histories until every provider accepts them, and joining them to a run's own messages.

How rows become messages is `conversation`'s job; from where on they count, that of `window`.
"""

from collections.abc import Sequence
from dataclasses import replace

from interlock.llm.messages import Block, Image, Message, Text, ToolResult, ToolUse


def joined(history: Sequence[Message], own: Sequence[Message]) -> tuple[list[Message], int]:
    """A repaired history and a run's own messages as one conversation, and the number of messages from the history.

    What was said last before the run and has no answer is in one message with what the run begins with.
    """
    if not (history and own) or history[-1].role != own[0].role:
        return [*history, *own], len(history)
    first = Message(own[0].role, (*history[-1].blocks, *own[0].blocks))
    return [*history[:-1], first, *own[1:]], len(history) - 1


def mended(messages: Sequence[Message]) -> list[Message]:
    """A history that a provider accepts, whatever its rows contain.

    It begins with a user's words, the sides take turns, each call has an id of its own and one result right after it,
    each result has its call, and no message is empty. Source: row E13.
    """
    mend = _Mending()
    for message in messages:
        if message.role == "assistant":
            mend.said(message)
        else:
            mend.told(message)
    mend.close()
    return mend.out


class _Mending:
    """A history as far as it is mended."""

    def __init__(self) -> None:
        self.out: list[Message] = []
        self._ids: set[str] = set()
        self._open: list[tuple[str, ToolUse]] = []
        """The last calls without results, in order, each with the id that it came with."""

    def said(self, message: Message) -> None:
        """Adds a message of the model; drops it if it is empty, or if no user message precedes it."""
        blocks = [b for b in message.blocks if not isinstance(b, (ToolResult, Image))]
        if not self.out or not any(isinstance(b, ToolUse) or _has_words(b) for b in blocks):
            return
        self.close()
        wishes: list[tuple[str, ToolUse]] = []
        for at, block in enumerate(blocks):
            if isinstance(block, ToolUse):
                wishes.append((block.id, self._with_own_id(block)))
                blocks[at] = wishes[-1][1]
        self._append(Message("assistant", tuple(blocks)))
        self._open = wishes

    def told(self, message: Message) -> None:
        """Adds a message to the model: the results of its calls in call order, then the rest."""
        given: dict[str, list[ToolResult]] = {}
        for block in message.blocks:
            if isinstance(block, ToolResult):
                given.setdefault(block.call_id, []).append(block)
        rest = [b for b in message.blocks if isinstance(b, Image) or _has_words(b)]
        results = [_result(use, given.get(came_with)) for came_with, use in self._open]
        self._open = []
        if results or rest:
            self._append(Message("user", (*results, *rest)))

    def close(self) -> None:
        """Adds results for the last calls that have none."""
        if self._open:
            self.told(Message("user", ()))

    def _append(self, message: Message) -> None:
        if self.out and self.out[-1].role == message.role:
            message = Message(message.role, (*self.out.pop().blocks, *message.blocks))
        self.out.append(message)

    def _with_own_id(self, use: ToolUse) -> ToolUse:
        name, number = use.id or "call", 1
        while name in self._ids:
            number += 1
            name = f"{use.id or 'call'}_{number}"
        self._ids.add(name)
        return use if name == use.id else replace(use, id=name)


def _has_words(block: Block) -> bool:
    return isinstance(block, Text) and bool(block.text.strip())


def _result(use: ToolUse, given: list[ToolResult] | None) -> ToolResult:
    if not given:
        return ToolResult(use.id, "no result: the run ended before this call did", is_error=True)
    found = given.pop(0)
    return found if found.call_id == use.id else replace(found, call_id=use.id)
