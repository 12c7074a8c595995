"""Assembles an answer from the events of the Messages API; its usage so far is known at any moment.

Events are plain dicts, and unknown ones are ignored; the network is `anthropic`'s job.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from interlock.llm.http_faults import ReportedError
from interlock.llm.messages import (
    Block,
    Delta,
    Message,
    Opaque,
    Reply,
    StopReason,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from interlock.llm.reading import count, json_object, whole
from interlock.llm.tokens import CHARS_PER_TOKEN, block_tokens

_OF_CALLS = frozenset({"type", "id", "name", "input", "index"})
_STOP_REASONS = {**{reason.value: reason for reason in StopReason}, "compaction": StopReason.PAUSE_TURN}


class MessageAssembly:
    """An answer while it is received.

    Pass every event to `accept`; `finished` is True after `message_stop`. `usage` is None until the provider has
    reported some. A malformed event raises KeyError, TypeError, AttributeError or ValueError.
    """

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.usage: Usage | None = None
        self.finished = False
        self.begun = False
        self._chars = 0
        self._model = ""
        self._stop_reason: str | None = None
        self._detail: str | None = None
        self._drafts: dict[int, _Draft] = {}

    def accept(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        """Adds an event; yields the deltas in it.

        Raises ReportedError for an error event.
        """
        if event.get("error") or event.get("type") == "error":
            raise ReportedError(event)
        self.begun = True
        match event["type"]:
            case "message_start":
                message = event["message"]
                self._model = whole(str(message.get("model", "")))
                self.usage = counted(message.get("usage"), self.usage)
            case "content_block_start":
                draft = _Draft(event["content_block"])
                self._drafts[int(event["index"])] = draft
                yield from draft.opening()
            case "content_block_delta":
                for delta in self._drafts[event["index"]].accept(event["delta"]):
                    self._chars += len(delta.text)
                    yield delta
            case "message_delta":
                self._stop(event.get("delta") or {})
                self.usage = counted(event.get("usage"), self.usage)
            case "message_stop":
                self.finished = True
            case "message":
                for streamed in events_of(event):
                    yield from self.accept(streamed)

    def is_whole(self) -> bool:
        """Always False: only `message_stop` completes a message."""
        return False

    def streamed_tokens(self) -> int:
        """An estimate of the output tokens received so far."""
        return math.ceil(self._chars / CHARS_PER_TOKEN)

    def reply(self, request_id: str | None, unreported: Usage) -> Reply:
        """The complete answer; blocks that the token limit cut off are kept as far as they were received.

        If the provider reported no usage at all, it is `unreported` plus an estimate of the output.
        """
        blocks = tuple(b for _, draft in sorted(self._drafts.items()) for b in draft.blocks(self.provider))
        message = Message("assistant", blocks)
        reason = _STOP_REASONS.get(self._stop_reason or "")
        detail = self._detail
        if reason is None:
            reason = StopReason.TOOL_USE if message.tool_uses else StopReason.END_TURN
            detail = detail or self._stop_reason
        usage = self.usage or unreported.plus(Usage(output_tokens=sum(block_tokens(block) for block in blocks)))
        return Reply(message, reason, usage, self._model, request_id, detail, is_estimated=self.usage is None)

    def _stop(self, delta: Mapping[str, Any]) -> None:
        self._stop_reason = delta.get("stop_reason") or self._stop_reason
        details = delta.get("stop_details") or {}
        self._detail = details.get("explanation") or details.get("category") or self._detail


def events_of(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a message that was received in one piece, as if it had been streamed."""
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(message.get("content") or []):
        yield {"type": "content_block_start", "index": index, "content_block": block}
    yield {"type": "message_delta", "delta": message, "usage": message.get("usage")}
    yield {"type": "message_stop"}


def counted(report: Any, before: Usage | None) -> Usage | None:
    """The usage after one more report. Reports are cumulative, so a count never shrinks; invalid ones count as 0."""
    if not isinstance(report, Mapping):
        return before
    old = before or Usage()
    by_ttl = report.get("cache_creation")
    by_ttl = by_ttl if isinstance(by_ttl, Mapping) else {}
    written_1h = max(old.cache_write_1h_tokens, count(by_ttl.get("ephemeral_1h_input_tokens")))
    written = max(
        count(report.get("cache_creation_input_tokens")) - written_1h,
        count(by_ttl.get("ephemeral_5m_input_tokens")),
    )
    return Usage(
        input_tokens=max(old.input_tokens, count(report.get("input_tokens"))),
        output_tokens=max(old.output_tokens, count(report.get("output_tokens"))),
        cache_read_tokens=max(old.cache_read_tokens, count(report.get("cache_read_input_tokens"))),
        cache_write_5m_tokens=max(old.cache_write_5m_tokens, written),
        cache_write_1h_tokens=written_1h,
    )


class _Draft:
    """A content block while it is received."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._type = str(start["type"])
        self._fields = dict(start)
        self._pieces: dict[str, list[str]] = {}

    def opening(self) -> Iterator[Delta]:
        if self._type == "tool_use":
            yield Delta("tool", str(self._fields["name"]))
        elif self._type == "text" and self._fields.get("text"):
            yield Delta("text", self._fields["text"])

    def accept(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        match delta["type"]:
            case "text_delta" if self._type == "text":
                self._append("text", delta["text"])
                if delta["text"]:
                    yield Delta("text", whole(delta["text"]))
            case "thinking_delta" if self._type == "thinking":
                self._append("thinking", delta["thinking"])
                if delta["thinking"]:
                    yield Delta("thinking", whole(delta["thinking"]))
            case "signature_delta":
                self._fields["signature"] = delta["signature"]
            case "citations_delta":
                self._fields["citations"] = [*(self._fields.get("citations") or []), delta["citation"]]
            case _:
                self._merge(delta)

    def blocks(self, provider: str) -> Iterator[Block]:
        fields = dict(self._fields)
        raw = "".join(self._pieces.get("partial_json", []))
        for name, pieces in self._pieces.items():
            if name != "partial_json":
                fields[name] = whole((fields.get(name) or "") + "".join(pieces))
        match self._type:
            case "text":
                if fields.get("text"):
                    yield Text(whole(fields["text"]))
                if fields.get("citations"):
                    yield Opaque(provider, fields)
            case "thinking":
                yield Thinking(fields.get("thinking") or "", fields.get("signature") or "")
            case "redacted_thinking":
                yield Thinking("", redacted=str(fields["data"]))
            case "tool_use":
                args = json_object(raw) if raw.strip() else fields.get("input") or {}
                args = args if isinstance(args, dict) else None
                rest = {k: v for k, v in fields.items() if k not in _OF_CALLS}
                yield ToolUse(
                    str(fields["id"]),
                    str(fields["name"]),
                    args,
                    "" if args is not None else whole(raw),
                    {provider: rest} if rest else None,
                )
            case _:
                if raw.strip():
                    fields["input"] = json_object(raw) or {}
                yield Opaque(provider, fields)

    def _merge(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            if name == "type":
                continue
            if isinstance(value, str):
                self._append(name, value)
            else:
                self._fields[name] = value

    def _append(self, name: str, piece: str) -> None:
        self._pieces.setdefault(name, []).append(piece)
