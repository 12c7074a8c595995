"""What the local Messages API answers: whole answers, and everything that can go wrong with one.

Sockets belong to `messages_api`.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Ending(StrEnum):
    """How a stream ends."""

    WHOLE = "whole"
    NO_STOP = "no_stop"
    """Cleanly, but without `message_stop`."""
    CUT_JSON = "cut_json"
    """Cleanly, within the JSON of an event."""
    RESET = "reset"
    """By a reset of the connection."""
    HANG = "hang"
    """Not at all: the server waits until the client goes away."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A message told as events.

    `blocks` are content blocks as the API spells them. `stop_reason` None means `tool_use` where a tool is
    called, else `end_turn`. `usage` goes into `message_start`, its `output_tokens` into `message_delta`.
    """

    blocks: Sequence[Mapping[str, Any]] = ()
    stop_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=lambda: {"input_tokens": 10, "output_tokens": 5})
    model: str | None = None
    stop_details: Mapping[str, Any] | None = None
    ending: Ending = Ending.WHOLE
    events_before_ending: int | None = None
    """For an ending other than WHOLE: events sent before it; None for all but the last."""
    pause_s: float = 0.0
    """Between events."""
    piece_chars: int = 20
    """The size of the pieces in which text and arguments come."""

    def message(self, request: Mapping[str, Any], number: int) -> dict[str, Any]:
        """The message in one piece."""
        calls = any(block["type"] == "tool_use" for block in self.blocks)
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": self.model or request.get("model", "m"),
            "content": [dict(block) for block in self.blocks],
            "stop_reason": self.stop_reason or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "stop_details": self.stop_details,
            "usage": dict(self.usage),
        }

    def events(self, request: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
        """The message as events in order."""
        message = self.message(request, number)
        started = {**message["usage"], "output_tokens": min(1, message["usage"].get("output_tokens", 0))}
        yield {
            "type": "message_start",
            "message": {**message, "content": [], "stop_reason": None, "stop_details": None, "usage": started},
        }
        yield {"type": "ping"}
        for index, block in enumerate(self.blocks):
            yield from _block_events(index, block, self.piece_chars)
        delta = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
        output = message["usage"].get("output_tokens", 0)
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}}
        yield {"type": "message_stop"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer with an error status."""

    status: int
    kind: str = "api_error"
    message: str = "refused by the script"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Any bytes as the body; junk, a recording, an HTML page."""

    body: bytes
    content_type: str = "text/event-stream"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection ends before any answer; `reset` says how. With `wait`, only when the client goes away."""

    reset: bool = True
    wait: bool = False


Scripted = Answer | Refusal | Raw | HangUp
Script = Callable[[dict[str, Any], int], Scripted | Awaitable[Scripted]]
"""From a request's JSON and its number (the first is 1) to what is answered."""


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def tool_use(ident: str, name: str, **args: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": ident, "name": name, "input": args}


def thinking(words: str, signature: str = "sig") -> dict[str, Any]:
    """A block of thinking."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def in_order(*answers: Scripted) -> Script:
    """One answer after the other; the last one again and again."""
    return lambda request, number: answers[min(number, len(answers)) - 1]


def sse(event: Mapping[str, Any]) -> bytes:
    """One event as it goes over the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _block_events(index: int, block: Mapping[str, Any], size: int) -> Iterator[dict[str, Any]]:
    def delta(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}

    start = dict(block)
    deltas: list[dict[str, Any]] = []
    match block["type"]:
        case "text":
            start["text"] = ""
            deltas = [delta("text_delta", text=piece) for piece in _pieces(block["text"], size)]
            deltas += [delta("citations_delta", citation=c) for c in start.pop("citations", None) or []]
        case "thinking":
            start |= {"thinking": "", "signature": ""}
            deltas = [delta("thinking_delta", thinking=piece) for piece in _pieces(block["thinking"], size)]
            deltas.append(delta("signature_delta", signature=block["signature"]))
        case "tool_use" | "server_tool_use":
            start["input"] = {}
            raw = start.pop("raw_input", None)
            spelled = json.dumps(block["input"]) if raw is None else raw
            deltas = [delta("input_json_delta", partial_json=piece) for piece in ("", *_pieces(spelled, size))]
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield from deltas
    yield {"type": "content_block_stop", "index": index}


def _pieces(words: str, size: int) -> list[str]:
    return [words[i : i + size] for i in range(0, len(words), size)]
