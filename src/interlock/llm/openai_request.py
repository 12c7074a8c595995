"""Converts a neutral request to the body of a chat completions request, in the dialect of its provider.

The network is `openai_compatible`'s job; answers are read in `openai_events`.
"""

import json
import re
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from interlock.llm.call_ids import fitting
from interlock.llm.messages import Image, Message, ModelRequest, Opaque, Text, ToolResult, ToolSpec, ToolUse
from interlock.llm.openai_dialects import Dialect
from interlock.llm.openai_reasoning import PARTS, given_back
from interlock.llm.openai_schema import parameters

_UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""In place of a signature where another model made the call.

Source: https://ai.google.dev/gemini-api/docs/thought-signatures.
"""
_UNSEEN = "[a picture that this model cannot be shown]"
_BRIDGE = "OK"
_plain_tools: "WeakKeyDictionary[ToolSpec, dict[str, Any]]" = WeakKeyDictionary()
_tools: "WeakKeyDictionary[ToolSpec, dict[str, Any]]" = WeakKeyDictionary()


def request_body(request: ModelRequest, provider: str, dialect: Dialect) -> dict[str, Any]:
    """The JSON body without `stream`.

    Thinking and opaque blocks of other providers are left out; those of this one are returned unchanged.
    """
    body: dict[str, Any] = {
        "model": request.model,
        dialect.limit: request.max_tokens,
        "messages": [*_system(request, dialect), *_messages(request, provider, dialect)],
    }
    if request.tools:
        body["tools"] = [_tool(tool, plain=dialect.plain_schemas) for tool in request.tools]
    if request.temperature is not None and not _is(dialect.fixed_temperature, request.model):
        body["temperature"] = request.temperature
    if request.effort is not None and dialect.effort and dialect.effort_models.match(request.model):
        effort = (dialect.efforts or {}).get(request.effort, request.effort)
        body[dialect.effort] = {"effort": effort} if dialect.effort == "reasoning" else effort
    if dialect.asks_for_usage:
        body["stream_options"] = {"include_usage": True}
    return body


def _is(models: re.Pattern[str] | None, model: str) -> bool:
    return models is not None and models.match(model) is not None


def _system(request: ModelRequest, dialect: Dialect) -> list[dict[str, Any]]:
    text = "\n\n".join(part.text for part in request.system if part.text.strip())
    role = "developer" if _is(dialect.developer, request.model) else "system"
    return [{"role": role, "content": text}] if text else []


def _tool(tool: ToolSpec, *, plain: bool) -> dict[str, Any]:
    known = _plain_tools if plain else _tools
    found = known.get(tool)
    if found is None:
        function = {"name": tool.name, "description": tool.description}
        found = {
            "type": "function",
            "function": {**function, "parameters": parameters(tool.input_schema, plain=plain)},
        }
        known[tool] = found
    return found


def _messages(request: ModelRequest, provider: str, dialect: Dialect) -> list[dict[str, Any]]:
    signed = _is(dialect.signs_calls, request.model)
    out: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "assistant":
            said = _assistant(message, provider, dialect, signed=signed)
            if said:
                out.append(said)
            continue
        for one in _user(message, dialect):
            last = out[-1]["role"] if out else ""
            if one["role"] == "user" and last == "user":
                out[-1] = {"role": "user", "content": _together(out[-1]["content"], one["content"])}
                continue
            if one["role"] == "user" and last == "tool" and not dialect.takes_user_after_tool:
                out.append({"role": "assistant", "content": _BRIDGE})
            out.append(one)
    return out


def _user(message: Message, dialect: Dialect) -> Iterator[dict[str, Any]]:
    """The messages for a user message: first the results of tool calls, then text and images."""
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        match block:
            case ToolResult(call_id, content):
                yield {"role": "tool", "tool_call_id": fitting(call_id, dialect.call_id), "content": content}
            case Text(text) if text.strip():
                parts.append({"type": "text", "text": text})
            case Image(media_type, data) if dialect.takes_images:
                parts.append({"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}})
            case Image():
                parts.append({"type": "text", "text": _UNSEEN})
    if parts:
        only_text = all(part["type"] == "text" for part in parts)
        yield {"role": "user", "content": "\n".join(part["text"] for part in parts) if only_text else parts}


def _together(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_as_parts(first), *_as_parts(second)]


def _as_parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _assistant(message: Message, provider: str, dialect: Dialect, *, signed: bool) -> dict[str, Any] | None:
    own = [block.data for block in message.blocks if isinstance(block, Opaque) and block.provider == provider]
    text = "\n".join(b.text for b in message.blocks if isinstance(b, Text) and b.text.strip())
    calls = [_call(use, provider, dialect) for use in message.tool_uses]
    if not (text or calls):
        return None
    if signed and calls:
        calls[0].setdefault("extra_content", _UNSIGNED)
    reasoning = given_back(message, provider)
    thought = reasoning.pop(PARTS, None)
    content: Any = text or (None if calls else "")
    if thought is not None:
        content = [thought, *([{"type": "text", "text": text}] if text else [])]
    said = {"role": "assistant", "content": content, **reasoning}
    if calls:
        said["tool_calls"] = calls
    signature = next((data["extra_content"] for data in own if data.get("type") == "extra_content"), None)
    return {**said, "extra_content": signature} if signature else said


def _call(use: ToolUse, provider: str, dialect: Dialect) -> dict[str, Any]:
    args = {"INVALID_JSON": use.raw} if use.args is None else use.args
    return {
        **use.marks_of(provider),
        "id": fitting(use.id, dialect.call_id),
        "type": "function",
        "function": {"name": use.name, "arguments": json.dumps(args, ensure_ascii=False)},
    }
