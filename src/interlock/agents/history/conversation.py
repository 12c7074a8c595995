"""A run's conversation as rows and back: what the model is sent later is exactly what was recorded.

What of it a model sees is decided in `window`.
"""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from interlock.core.ids import new_id
from interlock.llm.messages import (
    Block,
    Message,
    Opaque,
    SystemPart,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    block_from_json,
    block_to_json,
)
from interlock.store.schema import RunMessage
from interlock.store.tx import Tx

SYSTEM, USER, ASSISTANT, CALL, RETURN = (
    "system_message",
    "user_message",
    "assistant_message",
    "tool_call_message",
    "tool_return_message",
)
"""Source: S0 "Run Tracking"."""
MOST_KNOWN, LONGEST_KNOWN = 8_192, 4_096
"""Rows of earlier runs whose blocks are kept in memory, and the characters of the longest one."""


class Line(NamedTuple):
    """A row of `run_messages` to be written."""

    message_type: str
    content: str
    blocks: list[Any]
    tool_name: str | None = None
    tool_input: Any = None


def system_line(parts: Sequence[SystemPart], record: Mapping[str, Any] | None = None) -> Line:
    """The system prompt as a row, so that traces and resumed runs see the same prompt; `record` is only for traces."""
    text = "\n\n".join([part.text for part in parts])
    blocks = [{"name": p.name, "text": p.text, "stable": p.stable} for p in parts]
    return Line(SYSTEM, text, blocks, tool_input=record)


def lines_of(message: Message, names: dict[str, str] | None = None) -> list[Line]:
    """The rows of a message: each call and each result has a row of its own, the rest of a turn is one row."""
    lines: list[Line] = []
    loose: list[Block] = []
    kind = USER if message.role == "user" else ASSISTANT
    for block in message.blocks:
        if not isinstance(block, (ToolUse, ToolResult)):
            loose.append(block)
            continue
        if loose:
            lines.append(_together(kind, loose))
            loose = []
        if isinstance(block, ToolUse):
            lines.append(Line(CALL, block.raw or "", [block_to_json(block)], block.name, block.args))
        else:
            name = names.get(block.call_id) if names else None
            lines.append(Line(RETURN, block.content, [block_to_json(block)], name))
    if loose:
        lines.append(_together(kind, loose))
    return lines


def _together(kind: str, blocks: Sequence[Block]) -> Line:
    return Line(kind, "\n".join(map(_words, blocks)), [block_to_json(block) for block in blocks])


def _words(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Thinking(text):
            return f"[thinking] {text}" if text else "[thinking, redacted]"
        case Opaque(provider, data):
            return f"[{provider}: {data.get('type', 'block')}]"
        case _:
            return f"[{type(block).__name__.lower()}]"


def write(tx: Tx, run_id: str, position: int, lines: Sequence[Line], now: datetime, step_id: str | None = None) -> None:
    """Appends rows to a run's conversation, from `position` on."""
    tx.add_many(
        RunMessage,
        [
            {
                "id": new_id("msg"),
                "run_id": run_id,
                "step_id": step_id,
                "position": position + offset,
                "message_type": line.message_type,
                "content": line.content,
                "tool_name": line.tool_name,
                "tool_input": line.tool_input,
                "blocks": line.blocks,
                "created_at": now,
            }
            for offset, line in enumerate(lines)
        ],
    )


def system_of(rows: Iterable[Any]) -> tuple[SystemPart, ...]:
    """The system prompt, from the rows of a run."""
    for row in rows:
        if row.message_type == SYSTEM:
            return tuple(SystemPart(p["name"], p["text"], p["stable"]) for p in row.blocks)
    return ()


def messages_of(rows: Iterable[Any]) -> list[Message]:
    """The messages, from rows in order; adjacent rows of the same role are one message.

    Of rows of earlier runs the blocks are JSON text.
    """
    out: list[tuple[Literal["user", "assistant"], list[Block]]] = []
    for row in rows:
        if row.message_type == SYSTEM:
            continue
        role: Literal["user", "assistant"] = "assistant" if row.message_type in (ASSISTANT, CALL) else "user"
        blocks = _read(row.blocks) if isinstance(row.blocks, str) else _blocks(row.blocks)
        if out and out[-1][0] == role:
            out[-1][1].extend(blocks)
        else:
            out.append((role, list(blocks)))
    return [Message(role, tuple(blocks)) for role, blocks in out]


def _read(text: str) -> tuple[Block, ...]:
    """The blocks in a row's JSON: an agent is shown nearly the same rows in each of its runs."""
    return _known(text) if len(text) <= LONGEST_KNOWN else _blocks(json.loads(text))


@functools.lru_cache(maxsize=MOST_KNOWN)
def _known(text: str) -> tuple[Block, ...]:
    return _blocks(json.loads(text))


def _blocks(found: Sequence[Mapping[str, Any]] | None) -> tuple[Block, ...]:
    return tuple([block_from_json(data) for data in found or ()])
