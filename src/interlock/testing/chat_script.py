"""What the local server of chat completions answers: whole answers, in the dialects of many providers.

What can go wrong with an answer (`Ending`, `Refusal`, `Raw`, `HangUp`) is in `messages_script`; sockets belong to
`chat_api`.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.testing.messages_script import Ending, HangUp, Raw, Refusal

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A completion told in chunks.

    `finish_reason` None means `tool_calls` where a tool is called, else `stop`; an empty one is left out. `extra` are
    fields of the message that have no name here; they come with the first chunk.
    """

    text: str = ""
    calls: Sequence[Mapping[str, Any]] = ()
    """As the API spells them: see `call`."""
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    refusal: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = field(default_factory=lambda: dict(USAGE))
    usage_in: Literal["own", "last", "each"] = "own"
    """In a chunk without choices at the end, in the chunk with the finish reason, or in every one."""
    model: str | None = None
    done: bool = True
    """Whether `data: [DONE]` ends the stream."""
    ending: Ending = Ending.WHOLE
    events_before_ending: int | None = None
    """For an ending other than WHOLE: events sent before it; None for all but the last."""
    pause_s: float = 0.0
    """Between events."""
    piece_chars: int = 20
    """The size of the pieces in which text and arguments come."""

    @property
    def stopped(self) -> str | None:
        """The finish reason as it goes over the wire."""
        if self.finish_reason is None:
            return "tool_calls" if self.calls else "stop"
        return self.finish_reason or None

    def completion(self, request: Mapping[str, Any], number: int) -> dict[str, Any]:
        """The completion in one piece."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None, **self.extra}
        if self.reasoning:
            message[self.reasoning_field] = self.reasoning
        if self.refusal:
            message["refusal"] = self.refusal
        if self.calls:
            message["tool_calls"] = [dict(each) for each in self.calls]
        choice = {"index": 0, "message": message, "finish_reason": self.stopped}
        out = {**self._frame("chat.completion", request, number), "choices": [choice]}
        return out if self.usage is None else {**out, "usage": dict(self.usage)}

    def chunks(self, request: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
        """The completion in chunks in order."""
        frame = self._frame("chat.completion.chunk", request, number)
        usage = None if self.usage is None else dict(self.usage)
        each = {"usage": usage} if usage and self.usage_in == "each" else {}
        for delta in self._deltas():
            yield {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **each}
        last = {"usage": usage} if usage and self.usage_in != "own" else {}
        yield {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": self.stopped}], **last}
        if usage and self.usage_in == "own":
            yield {**frame, "choices": [], "usage": usage}

    def _deltas(self) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": "", **self.extra}
        yield from ({self.reasoning_field: piece} for piece in _pieces(self.reasoning, self.piece_chars))
        yield from ({"content": piece} for piece in _pieces(self.text, self.piece_chars))
        yield from ({"refusal": piece} for piece in _pieces(self.refusal, self.piece_chars))
        for index, each in enumerate(self.calls):
            function, given = each["function"], each["function"]["arguments"]
            start = {"index": index, **each, "function": {**function, "arguments": ""}}
            if not isinstance(given, str):
                yield {"tool_calls": [{"index": index, **each}]}
                continue
            yield {"tool_calls": [start]}
            for piece in _pieces(given, self.piece_chars):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def _frame(self, kind: str, request: Mapping[str, Any], number: int) -> dict[str, Any]:
        model = self.model or request.get("model", "m")
        return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_700_000_000, "model": model}


ChatScripted = ChatAnswer | Refusal | Raw | HangUp
ChatScript = Callable[[dict[str, Any], int], ChatScripted | Awaitable[ChatScripted]]
"""From a request's JSON and its number (the first is 1) to what is answered."""


def call(ident: str, name: str, **args: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}


def chunk(delta: Mapping[str, Any] | None = None, finish_reason: str | None = None, **rest: Any) -> dict[str, Any]:
    """A chunk with one choice; `rest` are fields beside it, such as `usage`."""
    choice = {"index": 0, "delta": dict(delta or {}), "finish_reason": finish_reason}
    return {"object": "chat.completion.chunk", "model": "m", "choices": [choice], **rest}


def line(chunk: Mapping[str, Any] | str) -> bytes:
    """An event as it goes over the wire."""
    return f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n".encode()


def stream(*chunks: Mapping[str, Any] | str) -> Raw:
    """Any events as a whole stream; strings are data that is no JSON, such as `[DONE]`."""
    return Raw(b"".join(line(each) for each in chunks))


def in_order(*answers: ChatScripted) -> ChatScript:
    """One answer after the other; the last one again and again."""
    return lambda request, number: answers[min(number, len(answers)) - 1]


def _pieces(words: str, size: int) -> list[str]:
    return [words[i : i + size] for i in range(0, len(words), size)]
