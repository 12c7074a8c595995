"""The offline model as a `Model`: reads the prompt, decides by rule, tells its answer piece by piece.

No network, no clock, no randomness: the same request always gets the same answer.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator

from interlock.core.values import digest
from interlock.llm.messages import (
    Block,
    Delta,
    Message,
    ModelRequest,
    Reply,
    StopReason,
    StreamItem,
    Text,
    ToolUse,
    Usage,
    block_to_json,
)
from interlock.llm.rehearsal.compiling import compiled
from interlock.llm.rehearsal.learning import lessons
from interlock.llm.rehearsal.planning import plan
from interlock.llm.rehearsal.protocol import Brief, Kind, read_brief
from interlock.llm.rehearsal.routing import route
from interlock.llm.rehearsal.talking import talk
from interlock.llm.rehearsal.voting import vote
from interlock.llm.rehearsal.working import Turn, next_turn

CHARS_PER_TOKEN = 4
_PIECE_CHARS = 400
_CALL_CHARS = 1200
"""Kept free of the room of an answer for the call around a text."""


class RehearsalModel:
    """Plans, works, reviews, compiles, learns and chats without a provider, marked as rehearsal throughout."""

    provider = "rehearsal"
    simulated = True

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Deltas, then exactly one `Reply`; an answer past `max_tokens` is cut like a provider's."""
        reply = answer(request)
        for block in reply.message.blocks:
            await asyncio.sleep(0)
            if isinstance(block, Text):
                for start in range(0, len(block.text), _PIECE_CHARS):
                    yield Delta("text", block.text[start : start + _PIECE_CHARS])
            elif isinstance(block, ToolUse):
                yield Delta("tool", block.name)
        yield reply

    async def close(self) -> None:
        """Nothing is open."""


def answer(request: ModelRequest) -> Reply:
    """The whole reply to a request."""
    brief = read_brief(request)
    limit = request.max_tokens * CHARS_PER_TOKEN
    turn = _turn(brief, request, max(limit - _CALL_CHARS, limit // 2))
    text, cut = turn.text[:limit], len(turn.text) > limit
    blocks: list[Block] = [Text(text)] if text else []
    if not cut:
        blocks += _uses(brief, request, turn)
    stop = StopReason.MAX_TOKENS if cut else StopReason.TOOL_USE if turn.calls else StopReason.END_TURN
    usage = Usage(input_tokens=_tokens(_prompt_chars(request)), output_tokens=_tokens(_chars(blocks)))
    return Reply(Message("assistant", tuple(blocks)), stop, usage, request.model)


def _turn(brief: Brief, request: ModelRequest, room: int) -> Turn:
    match brief.kind:
        case Kind.PLAN:
            return Turn(json.dumps(plan(brief), ensure_ascii=False, indent=1))
        case Kind.LEARN:
            return Turn(json.dumps(lessons(brief), ensure_ascii=False, indent=1))
        case Kind.ROUTE:
            return Turn(json.dumps(route(brief), ensure_ascii=False))
        case Kind.VOTE:
            return Turn(json.dumps(vote(brief), ensure_ascii=False))
        case Kind.COMPILE:
            return Turn(compiled(brief, room))
        case Kind.TASK:
            return next_turn(brief, request.tools, room)
        case Kind.CHAT:
            return talk(brief, request)


def _uses(brief: Brief, request: ModelRequest, turn: Turn) -> list[ToolUse]:
    before = sum(len(message.tool_uses) for message in request.messages)
    return [
        ToolUse(f"reh_{digest([brief.title, before + i, name])[:20]}", name, dict(args))
        for i, (name, args) in enumerate(turn.calls)
    ]


def _prompt_chars(request: ModelRequest) -> int:
    system = sum(len(part.text) for part in request.system)
    tools = sum(len(tool.name + tool.description + json.dumps(dict(tool.input_schema))) for tool in request.tools)
    return system + tools + sum(_chars(list(message.blocks)) for message in request.messages)


def _chars(blocks: list[Block]) -> int:
    return sum(len(json.dumps(block_to_json(block), ensure_ascii=False)) for block in blocks)


def _tokens(chars: int) -> int:
    return math.ceil(chars / CHARS_PER_TOKEN)
