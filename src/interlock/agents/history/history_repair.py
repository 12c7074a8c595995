"""Repairing histories until every provider accepts them, and joining them to a run's own messages.

How rows become messages is `conversation`'s job; from where on they count, that of `window`.
"""

from collections.abc import Sequence

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
    repair = _Repair()
    for message in messages:
        if message.role == "assistant":
            repair.add_reply(message)
        else:
            repair.add_prompt(message)
    repair.close()
    return repair.out


class _Repair:
    """A history as far as it is repaired."""

    def __init__(self) -> None:
        self.out: list[Message] = []
        self._ids: set[str] = set()
        self._numbers: dict[str, int] = {}
        """The last number that made each id that came twice one of its own."""
        self._open: list[tuple[str, ToolUse]] = []
        """The last calls without results, in order, each with the id that it came with."""

    def add_reply(self, message: Message) -> None:
        """Adds a message of the model; drops it if it is empty, or if no user message precedes it."""
        if not self.out:
            return
        blocks: list[Block] = []
        wishes: list[tuple[str, ToolUse]] = []
        is_empty = True
        for block in message.blocks:
            if isinstance(block, ToolUse):
                wish = self._with_own_id(block)
                wishes.append((block.id, wish))
                blocks.append(wish)
            elif not isinstance(block, (ToolResult, Image)):
                blocks.append(block)
                is_empty = is_empty and not _has_words(block)
        if is_empty and not wishes:
            return
        self.close()
        self._append(Message("assistant", tuple(blocks)))
        self._open = wishes

    def add_prompt(self, message: Message) -> None:
        """Adds a message to the model: the results of its calls in call order, then the rest."""
        given: dict[str, list[ToolResult]] = {}
        rest: list[Block] = []
        for block in message.blocks:
            if isinstance(block, ToolResult):
                given.setdefault(block.call_id, []).append(block)
            elif isinstance(block, Image) or _has_words(block):
                rest.append(block)
        results = [_result(use, given.get(came_with)) for came_with, use in self._open]
        self._open = []
        if results or rest:
            self._append(Message("user", (*results, *rest)))

    def close(self) -> None:
        """Adds results for the last calls that have none."""
        if self._open:
            self.add_prompt(Message("user", ()))

    def _append(self, message: Message) -> None:
        if self.out and self.out[-1].role == message.role:
            message = Message(message.role, (*self.out.pop().blocks, *message.blocks))
        self.out.append(message)

    def _with_own_id(self, use: ToolUse) -> ToolUse:
        name = plain = use.id or "call"
        number = self._numbers.get(plain, 1)
        while name in self._ids:
            number += 1
            name = f"{plain}_{number}"
        self._ids.add(name)
        self._numbers[plain] = number
        return use if name == use.id else ToolUse(name, use.name, use.args, use.raw, use.marks)


def _has_words(block: Block) -> bool:
    return isinstance(block, Text) and bool(block.text.strip())


def _result(use: ToolUse, given: list[ToolResult] | None) -> ToolResult:
    if not given:
        return ToolResult(use.id, "no result: the run ended before this call did", is_error=True)
    found = given.pop(0)
    return found if found.call_id == use.id else ToolResult(use.id, found.content, found.is_error)
