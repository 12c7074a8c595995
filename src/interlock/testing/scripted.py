"""A model that says what it was told to say, for tests of agents, tools and policies.

What a run makes of a reply is the runner's job; a server that speaks a provider's protocol is `messages_api`.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count
from typing import Any, TypeAlias

from interlock.llm.messages import (
    Block,
    Delta,
    Message,
    ModelError,
    ModelFault,
    ModelRequest,
    Reply,
    StopReason,
    StreamItem,
    Text,
    ToolUse,
    Usage,
)

USUAL = Usage(input_tokens=100, output_tokens=20)
"""What a reply has used where nothing else is said."""

Scripted: TypeAlias = "Reply | str | ToolUse | Sequence[Block] | BaseException | Stream | Answering"
Answering: TypeAlias = "Callable[[ModelRequest], Scripted | Awaitable[Scripted]]"


class Stream:
    """A reply piece by piece: a `Delta` is emitted, an `asyncio.Event` waited for, an exception raised.

    Anything else is what a reply may be, and ends it. Without one the stream ends too early.
    """

    def __init__(self, *items: "Delta | asyncio.Event | Scripted") -> None:
        self.items = items


class ScriptedModel:
    """A `Model` that answers its calls with `replies`, one after the other, and with `otherwise` after them.

    A reply is a text, a tool call or several blocks, a whole `Reply`, an exception to raise, a `Stream`, or a
    function of the request that returns one of these, awaitable where the call is to hang. `requests` are the calls
    so far. Without `otherwise`, a call too many is refused as invalid.
    """

    def __init__(
        self,
        *replies: Scripted,
        otherwise: "Scripted | None" = None,
        provider: str = "anthropic",
        simulated: bool = False,
    ) -> None:
        self.provider, self.simulated = provider, simulated
        self.requests: list[ModelRequest] = []
        self.replies, self.otherwise = list(replies), otherwise

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """The next reply of the script."""
        self.requests.append(request)
        scripted = self.replies.pop(0) if self.replies else self.otherwise
        if scripted is None:
            raise ModelError(ModelFault.INVALID, "the script has no reply left", provider=self.provider)
        async for item in self._emit(scripted, request):
            yield item

    async def close(self) -> None:
        """Nothing to close."""

    async def _emit(self, scripted: Scripted, request: ModelRequest) -> AsyncIterator[StreamItem]:
        while callable(scripted):
            answer = scripted(request)
            scripted = await answer if inspect.isawaitable(answer) else answer
        if isinstance(scripted, BaseException):
            raise scripted
        if not isinstance(scripted, Stream):
            yield reply_of(scripted, model=request.model)
            return
        for item in scripted.items:
            if isinstance(item, asyncio.Event):
                await item.wait()
            elif isinstance(item, Delta):
                yield item
            else:
                async for inner in self._emit(item, request):
                    yield inner


def reply_of(
    said: Reply | str | ToolUse | Sequence[Block],
    *,
    usage: Usage = USUAL,
    stop_reason: StopReason | None = None,
    model: str = "scripted",
) -> Reply:
    """A whole reply from what it says; it stops for its tool calls, or because it has ended."""
    if isinstance(said, Reply):
        return said
    message = Message("assistant", _blocks(said))
    usual = StopReason.TOOL_USE if message.tool_uses else StopReason.END_TURN
    return Reply(message, stop_reason or usual, usage, model)


_numbers = count(1)


def calls(name: str, /, call_id: str | None = None, **args: Any) -> ToolUse:
    """The wish to call a tool, with an id of its own."""
    return ToolUse(call_id or f"toolu_{next(_numbers)}", name, args)


def _blocks(said: str | ToolUse | Sequence[Block]) -> tuple[Block, ...]:
    if isinstance(said, str):
        return (Text(said),)
    return (said,) if isinstance(said, ToolUse) else tuple(said)
