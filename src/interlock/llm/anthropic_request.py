"""Converts a neutral request to the body of a Messages API request: blocks, cache breakpoints, thinking, effort.

The network is `anthropic`'s job; answers are read in `anthropic_events`.
"""

import re
from typing import Any

from interlock.llm.call_ids import fitting
from interlock.llm.messages import (
    Block,
    Image,
    Message,
    ModelRequest,
    Opaque,
    SystemPart,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from interlock.llm.tokens import message_tokens, text_tokens, tool_tokens

_CACHE = {"type": "ephemeral"}
"""INVARIANT: five minutes, the shortest and cheapest; `prices.worst_case` counts on it."""

_CALL_ID = re.compile(r"[A-Za-z0-9_-]+")
_MARKABLE = (Text, ToolResult, ToolUse, Image)
_LEAST_CACHED = 1024
_LEAST_CACHED_BY = (
    (re.compile(r"claude-(opus-4-[56]|haiku-4-5)"), 4096),
    (re.compile(r"claude-(sonnet-4-6|haiku-3|3-5-haiku|3-haiku)"), 2048),
)
"""Tokens of the shortest prefix that is cached, by model.

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations.
"""


def request_body(request: ModelRequest, provider: str) -> dict[str, Any]:
    """The JSON body without `stream`.

    Cache breakpoints are set on the last tool, the last stable system part, the end of the conversation, and its end in
    the previous call: the API looks for cached prefixes only 20 blocks back from each, and a turn can be longer. None
    is set where the prefix is too short to be cached. No temperature is sent: the API rejects it. Opaque blocks of
    other providers are left out.
    """
    least = next((tokens for names, tokens in _LEAST_CACHED_BY if names.match(request.model)), _LEAST_CACHED)
    stable = sum(tool_tokens(tool) for tool in request.tools)
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
    if request.tools:
        body["tools"] = _tools(request.tools, is_marked=stable >= least)
    stable += sum(text_tokens(part.text) for part in request.system if part.stable)
    body["messages"] = _messages(request.messages, provider, least - stable)
    if system := _system(request.system, is_marked=stable >= least):
        body["system"] = system
    if request.thinking is not None:
        body["thinking"] = {"type": request.thinking}
    if request.effort is not None:
        body["output_config"] = {"effort": request.effort}
    return body


def _system(parts: tuple[SystemPart, ...], *, is_marked: bool) -> list[dict[str, Any]]:
    said = [part for part in parts if part.text.strip()]
    out: list[dict[str, Any]] = [{"type": "text", "text": part.text} for part in said]
    stable = [i for i, part in enumerate(said) if part.stable]
    if stable and is_marked:
        out[stable[-1]]["cache_control"] = _CACHE
    return out


def _tools(tools: tuple[ToolSpec, ...], *, is_marked: bool) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)} for tool in tools
    ]
    if is_marked:
        out[-1]["cache_control"] = _CACHE
    return out


def _messages(messages: tuple[Message, ...], provider: str, least: int) -> list[dict[str, Any]]:
    """The conversation with breakpoints at its end and its previous end, each after at least `least` tokens."""
    out: list[dict[str, Any]] = []
    ends, tokens = _ends(messages), 0
    for position, message in enumerate(messages):
        kept = _kept(message, provider)
        content = [_block(block, provider) for block in kept]
        if message.role == "user":
            order = sorted(range(len(kept)), key=lambda at: content[at]["type"] != "tool_result")
            kept, content = [kept[at] for at in order], [content[at] for at in order]
        if tokens < least:
            tokens += message_tokens(message)
        if position in ends and tokens >= least:
            _mark_end(kept, content)
        if content:
            out.append({"role": message.role, "content": content})
    return out


def _ends(messages: tuple[Message, ...]) -> tuple[int, ...]:
    """The indices at which the conversation ends, and at which it ended in the previous call."""
    last = len(messages) - 1
    before = next((at for at in range(last - 1, -1, -1) if messages[at].role == "user"), None)
    return (last,) if before is None else (before, last)


def _kept(message: Message, provider: str) -> list[Block]:
    """The blocks that this provider accepts: no blank text, no unsigned thinking, nothing that another provider made.

    A text that is followed by its own opaque form (a text with citations) is sent once, in that form.
    """
    kept: list[Block] = []
    for block in message.blocks:
        match block:
            case Image() if message.role == "assistant":
                continue
            case Text(text) if not text.strip():
                continue
            case Thinking(signature="", redacted=None):
                continue
            case Opaque(owner, data):
                if owner != provider:
                    continue
                if data.get("type") == "text" and kept and kept[-1] == Text(data.get("text", "")):
                    kept.pop()
        kept.append(block)
    return kept


def _mark_end(blocks: list[Block], content: list[dict[str, Any]]) -> None:
    for block, wire in zip(reversed(blocks), reversed(content), strict=True):
        if isinstance(block, _MARKABLE):
            wire["cache_control"] = _CACHE
            return


def _block(block: Block, provider: str) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(redacted=str() as data):
            return {"type": "redacted_thinking", "data": data}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case ToolUse(id, name, args, raw):
            sent = {"INVALID_JSON": raw} if args is None else args
            called = {"type": "tool_use", "id": fitting(id, _CALL_ID), "name": name, "input": sent}
            return {**block.marks_of(provider), **called}
        case ToolResult(call_id, content, is_error):
            out: dict[str, Any] = {"type": "tool_result", "tool_use_id": fitting(call_id, _CALL_ID), "content": content}
            return {**out, "is_error": True} if is_error else out
        case Image(media_type, data):
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case Opaque(_, wire):
            return dict(wire)
