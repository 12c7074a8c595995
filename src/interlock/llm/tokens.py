"""Cheap estimates of the number of tokens, for reserving money and for noticing a full context window.

Exact counts come from the provider with each reply; an estimate is booked only if a call ends without them.
"""

import json
import math
from weakref import WeakKeyDictionary

from interlock.core.json_text import writer
from interlock.llm.messages import (
    Block,
    Image,
    Message,
    ModelRequest,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)

CHARS_PER_TOKEN = 2.5
"""Low on purpose: the tokenizers of current models make up to 45 % more tokens of a text than older ones did."""
EXTRA_BYTE_TOKENS = 0.6
"""For each byte of UTF-8 past the first of a character: about 1.6 tokens for a CJK character, 2.2 for an emoji."""
MESSAGE_TOKENS = 8
TOOL_TOKENS = 24
TOOL_PROMPT_TOKENS = 500
"""What providers add to a prompt that offers tools."""
IMAGE_TOKENS = 5_000
"""More than the largest picture that providers take without scaling it down."""

_written = writer(ensure_ascii=False)
_tools: "WeakKeyDictionary[ToolSpec, int]" = WeakKeyDictionary()
"""What is known of tools: each is offered with every call."""


def text_tokens(text: str) -> int:
    """An estimate of the tokens of a text, rather too high than too low."""
    extra = 0 if text.isascii() else len(text.encode("utf-8", "surrogatepass")) - len(text)
    return math.ceil(len(text) / CHARS_PER_TOKEN + extra * EXTRA_BYTE_TOKENS)


def estimate_prompt_tokens(request: ModelRequest) -> int:
    """An estimate of the input tokens: system prompt, tools and messages; rather too high than too low."""
    total = sum(text_tokens(part.text) for part in request.system)
    if request.tools:
        total += TOOL_PROMPT_TOKENS + sum(tool_tokens(tool) for tool in request.tools)
    return total + sum(map(message_tokens, request.messages))


def message_tokens(message: Message) -> int:
    """An estimate of the tokens of a message."""
    return MESSAGE_TOKENS + sum(map(block_tokens, message.blocks))


def tool_tokens(tool: ToolSpec) -> int:
    """An estimate of the tokens of a tool's definition."""
    found = _tools.get(tool)
    if found is None:
        text = tool.name + tool.description + json.dumps(dict(tool.input_schema))
        found = _tools[tool] = TOOL_TOKENS + text_tokens(text)
    return found


def block_tokens(block: Block) -> int:
    """An estimate of the tokens of a block."""
    match block:
        case Text():
            return text_tokens(block.text)
        case ToolResult():
            return TOOL_TOKENS + text_tokens(block.content)
        case ToolUse():
            return TOOL_TOKENS + text_tokens(block.name + (block.raw if block.args is None else _written(block.args)))
        case Thinking():
            return text_tokens(block.text + block.signature + (block.redacted or ""))
        case Image():
            return IMAGE_TOKENS
        case Opaque():
            return text_tokens(json.dumps(block.data, ensure_ascii=False))
