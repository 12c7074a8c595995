"""The provider-neutral types between agents and models: messages, blocks, requests, replies, usage, errors.

Each adapter converts to and from these types; nothing here is specific to a provider.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, Protocol

from interlock.core.errors import InterlockError


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning, returned to its provider unchanged.

    `signature` proves its origin; `redacted` carries the provider's encrypted form instead of text.
    """

    text: str
    signature: str = ""
    redacted: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that the model asks for. `args` is None if the arguments were not a JSON object; then `raw` has them.

    `marks` are additional fields, such as a signature, that the named provider sent with it and must get back.
    """

    id: str
    name: str
    args: dict[str, Any] | None
    raw: str = ""
    marks: dict[str, Any] | None = None

    def marks_of(self, provider: str) -> dict[str, Any]:
        """The additional fields of a provider; empty for others."""
        marks: dict[str, Any] = (self.marks or {}).get(provider, {})
        return marks


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a `ToolUse`, in a user message."""

    call_id: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """An image: base64 data of a media type."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block that only one provider understands; returned to that provider unchanged."""

    provider: str
    data: dict[str, Any]


Block = Text | Thinking | ToolUse | ToolResult | Image | Opaque


class Message(NamedTuple):
    """A message of the user or the assistant."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All its text, without thinking. The blocks of a text with citations are joined."""
        out: list[str] = []
        before: Block | None = None
        for block, after in zip_longest(self.blocks, self.blocks[1:]):
            if isinstance(block, Text):
                is_piece = _cites(before) or (_cites(after) and isinstance(before, Text))
                out.append(block.text if is_piece or not out else f"\n{block.text}")
            before = block
        return "".join(out)

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """Its tool calls, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolUse))


def _cites(block: Block | None) -> bool:
    """Whether a block is the text before it in a form with citations."""
    return isinstance(block, Opaque) and block.data.get("type") == "text"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ToolSpec:
    """A tool as offered to a model, the same only as itself; `input_schema` is a JSON Schema of type object."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


class SystemPart(NamedTuple):
    """A layer of the system prompt. `stable` parts come first; the last stable one ends the cacheable prefix."""

    name: str
    text: str
    stable: bool = True


class ModelRequest(NamedTuple):
    """The input of a model call. `timeout_s` limits the whole call."""

    model: str
    """Without the provider: `claude-sonnet-5-5`."""
    system: tuple[SystemPart, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 4096
    thinking: str | None = None
    """`adaptive`, or None for none."""
    effort: str | None = None
    temperature: float | None = None
    timeout_s: float = 300.0


class Usage(NamedTuple):
    """Token counts, disjoint: `input_tokens` includes neither cache reads nor cache writes."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """All input tokens, cached ones included."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_5m_tokens + self.cache_write_1h_tokens

    def as_dict(self) -> dict[str, int]:
        """The counts for storage; cache counts of zero are left out."""
        out = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        for name in ("cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens"):
            if value := getattr(self, name):
                out[name] = value
        return out

    def plus(self, other: "Usage") -> "Usage":
        """The sum of both."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_5m_tokens + other.cache_write_5m_tokens,
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
        )


class StopReason(StrEnum):
    """Why a model stopped, for all providers."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    STOP_SEQUENCE = "stop_sequence"
    PAUSE_TURN = "pause_turn"
    REFUSAL = "refusal"
    CONTEXT_WINDOW = "model_context_window_exceeded"


class Reply(NamedTuple):
    """A complete answer."""

    message: Message
    stop_reason: StopReason
    usage: Usage
    model: str
    """The model that answered, as the provider names it."""
    request_id: str | None = None
    detail: str | None = None
    """Of a refusal: the provider's words."""
    is_estimated: bool = False
    """Whether the provider reported no usage, so that `usage` is a guess."""


class Delta(NamedTuple):
    """A piece of a streamed answer: `kind` is text, thinking or tool (the name of a call that begins)."""

    kind: Literal["text", "thinking", "tool"]
    text: str


StreamItem = Delta | Reply


class ModelFault(StrEnum):
    """The kind of failure of a model call, which decides what can be done about it."""

    AUTH = "auth"
    """Wrong, missing or revoked key; trying again does not help."""
    INVALID = "invalid"
    """The provider refuses this request as such (400, 404, 413)."""
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER = "server"
    CONNECTION = "connection"
    """Nothing was reached."""
    DROPPED = "dropped"
    """The stream ended, or stopped making sense, before its final event."""
    TIMEOUT = "timeout"
    BILLING = "billing"
    """No credit; trying again does not help."""


RETRYABLE = frozenset(
    {
        ModelFault.RATE_LIMITED,
        ModelFault.OVERLOADED,
        ModelFault.SERVER,
        ModelFault.CONNECTION,
        ModelFault.DROPPED,
        ModelFault.TIMEOUT,
    }
)


class ModelError(InterlockError):
    """A model call that failed.

    `usage` is what the provider had reported before; None if the request was rejected or never arrived, so that nothing
    is owed.
    """

    def __init__(
        self,
        fault: ModelFault,
        detail: str,
        *,
        provider: str,
        status: int | None = None,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        request_id: str | None = None,
    ) -> None:
        self.fault, self.detail, self.provider = fault, detail, provider
        self.status, self.retry_after_s, self.usage, self.request_id = status, retry_after_s, usage, request_id
        super().__init__(f"{provider}: {detail}")

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.fault in RETRYABLE


class Model(Protocol):
    """The adapter of a provider; it serves concurrent calls."""

    provider: str
    simulated: bool
    """A model that rehearses: it costs nothing, and effects outside Interlock are simulated for its runs."""

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Deltas, then exactly one `Reply` as the last item. Never retries.

        Closing the iterator, or cancelling its task, ends the call at once.

        Raises ModelError for every failure, including a stream that ends early.
        """

    async def close(self) -> None:
        """Closes connections."""


class ModelRef(NamedTuple):
    """A model by name: `provider/model`."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> "ModelRef":
        """From `provider/model`; the model's own name may contain slashes.

        Raises ValueError if there is no provider.
        """
        provider, slash, model = text.partition("/")
        if not (provider and slash and model):
            raise ValueError(f"`{text}` is not a model: write `provider/model`, such as `anthropic/claude-sonnet-5-5`")
        return cls(provider, model)

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


def block_to_json(block: Block) -> dict[str, Any]:
    """A block for storage; `block_from_json` is its inverse."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature, redacted):
            out: dict[str, Any] = {"type": "thinking", "text": text, "signature": signature}
            return out if redacted is None else {**out, "redacted": redacted}
        case ToolUse(id, name, args, raw, marks):
            called: dict[str, Any] = {"type": "tool_use", "id": id, "name": name, "args": args, "raw": raw}
            return {**called, "marks": marks} if marks else called
        case ToolResult(call_id, content, is_error):
            return {"type": "tool_result", "call_id": call_id, "content": content, "is_error": is_error}
        case Image(media_type, data):
            return {"type": "image", "media_type": media_type, "data": data}
        case Opaque(provider, data):
            return {"type": "opaque", "provider": provider, "data": data}


def block_from_json(data: Mapping[str, Any]) -> Block:
    """The block that `block_to_json` stored."""
    fields = {k: v for k, v in data.items() if k != "type"}
    kinds: dict[str, type[Any]] = _KINDS
    block: Block = kinds[data["type"]](**fields)
    return block


_KINDS: dict[str, type[Any]] = {
    "text": Text,
    "thinking": Thinking,
    "tool_use": ToolUse,
    "tool_result": ToolResult,
    "image": Image,
    "opaque": Opaque,
}


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The limits of a model, in tokens: its context window, and its longest answer."""

    context_tokens: int = 200_000
    max_output_tokens: int = 64_000
    extra: Mapping[str, Any] = field(default_factory=dict)
