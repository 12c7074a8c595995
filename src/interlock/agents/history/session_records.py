"""The shapes of the lines of a session's file; nothing is read or judged here beyond the shape of one line."""

import base64
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

FORMAT, VERSION = "interlock.session", 1
BLOCKS = {
    "user_message": {"text", "image"},
    "assistant_message": {"text", "thinking", "opaque", "image"},
    "tool_call_message": {"tool_use"},
    "tool_return_message": {"tool_result"},
}
"""Which blocks a record may have. There are no records of system prompts: these are made again with each run."""
Name = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[str, Field(max_length=2_000_000)]
Label = Literal["untrusted", "private", "outward"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FileDescriptor(_Strict):
    """The descriptor of the session's agent."""

    kind: Literal["user", "cron", "heartbeat", "room", "subagent"]
    project: Name
    persona: Name
    parts: dict[Name, Annotated[str, Field(max_length=500)]]


class FilePersona(_Strict):
    """The persona at the time, for comparison."""

    name: Name
    digest: Name


class FileModel(_Strict):
    """The model that answered last."""

    provider: Name
    model: Name


class FilePermissions(_Strict):
    """What the agent was allowed to do, for information: nothing is granted because of it."""

    tools: list[Name]
    trust: Name


class FileMarker(_Strict):
    """The marker that stands for what came before the records."""

    kind: Literal["compaction"]
    summary: Words
    tokens_before: Annotated[int, Field(ge=0)] | None
    labels: list[Label]


class Header(_Strict):
    """The first line."""

    format: Literal["interlock.session"]
    version: Literal[1]
    descriptor: FileDescriptor
    persona: FilePersona
    model: FileModel | None
    permissions: FilePermissions
    markers: Annotated[list[FileMarker], Field(max_length=1)]


class RunRecord(_Strict):
    """A run that has ended; its messages follow."""

    record: Literal["run"]
    kind: Literal["chat", "child_end", "subagent", "letter"]
    status: Literal["completed", "failed", "cancelled"]
    stop_reason: Name | None
    model: Name | None
    simulated: bool
    labels: list[Label]
    result: Words | None
    error: Words | None
    created_at: Name
    completed_at: Name | None


class _Text(_Strict):
    type: Literal["text"]
    text: Words


class _Thinking(_Strict):
    type: Literal["thinking"]
    text: Words
    signature: Words
    redacted: Words | None = None


class _ToolUse(_Strict):
    type: Literal["tool_use"]
    id: Annotated[str, Field(max_length=500)]
    name: Annotated[str, Field(max_length=500)]
    args: dict[str, Any] | None
    raw: Words
    marks: dict[str, dict[str, Any]] | None = None


class _ToolResult(_Strict):
    type: Literal["tool_result"]
    call_id: Annotated[str, Field(max_length=500)]
    content: Words
    is_error: bool


class _Image(_Strict):
    type: Literal["image"]
    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: Annotated[str, Field(max_length=8_000_000)]

    @field_validator("data")
    @classmethod
    def _is_base64(cls, data: str) -> str:
        base64.b64decode(data, validate=True)
        return data


class _Opaque(_Strict):
    type: Literal["opaque"]
    provider: Name
    data: dict[str, Any]


_Block = Annotated[_Text | _Thinking | _ToolUse | _ToolResult | _Image | _Opaque, Field(discriminator="type")]


class MessageRecord(_Strict):
    """One row of the last run above it."""

    record: Literal["user_message", "assistant_message", "tool_call_message", "tool_return_message"]
    position: Annotated[int, Field(ge=0, le=1_000_000)]
    content: Words
    tool_name: Annotated[str, Field(max_length=500)] | None
    tool_input: Any
    blocks: list[_Block]


RECORD = TypeAdapter[RunRecord | MessageRecord](
    Annotated[RunRecord | MessageRecord, Field(discriminator="record")]
)  # fmt: skip
