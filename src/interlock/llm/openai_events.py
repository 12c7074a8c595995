"""Assembles an answer from the chunks of a chat completion; its usage so far is known at any moment.

Chunks are plain dicts in any dialect, and unknown fields are ignored; the network is `openai_compatible`'s job. Tool
calls are assembled in `openai_calls`, token counts in `openai_usage`.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from interlock.llm.http_faults import ReportedError
from interlock.llm.messages import (
    Block,
    Delta,
    Image,
    Message,
    Opaque,
    Reply,
    StopReason,
    Text,
    Usage,
)
from interlock.llm.openai_calls import Calls
from interlock.llm.openai_reasoning import Reasoning
from interlock.llm.openai_usage import Reported
from interlock.llm.reading import whole
from interlock.llm.sse import DONE
from interlock.llm.tokens import CHARS_PER_TOKEN

_STOPS = {
    "stop": StopReason.END_TURN,
    "end_turn": StopReason.END_TURN,
    "eos": StopReason.END_TURN,
    "eos_token": StopReason.END_TURN,
    "completed": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "tool_use": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "max_tokens": StopReason.MAX_TOKENS,
    "max_output_tokens": StopReason.MAX_TOKENS,
    "model_length": StopReason.CONTEXT_WINDOW,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "pause_turn": StopReason.PAUSE_TURN,
    "content_filter": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
    "safety": StopReason.REFUSAL,
    "recitation": StopReason.REFUSAL,
    "prohibited_content": StopReason.REFUSAL,
    "blocklist": StopReason.REFUSAL,
    "sensitive": StopReason.REFUSAL,
}
_FAILED = {
    "error": "server_error",
    "network_error": "server_error",
    "abort": "server_error",
    "insufficient_system_resource": "overloaded",
    "function_call_filter": "server_error",
    "malformed_function_call": "server_error",
}
"""Reasons for which there is no answer, as the error types that say so."""
_KEPT = ("annotations", "citations", "search_results", "executed_tools", "images", "videos")


class ChatAssembly:
    """An answer while it is received; an `Assembly`.

    `finished` is True after the final line. A malformed event raises KeyError, TypeError, AttributeError or ValueError;
    an error event raises ReportedError.
    """

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.finished = False
        self.begun = False
        self._model = ""
        self._reported = Reported()
        self._stop_reason = ""
        self._is_settled = True
        self._chars = 0
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning = Reasoning(provider)
        self._calls = Calls()
        self._images: list[Image] = []
        self._kept: dict[str, Any] = {}

    @property
    def usage(self) -> Usage | None:
        """The usage that was reported last."""
        return self._reported.usage()

    def accept(self, event: dict[str, Any]) -> Iterator[Delta]:
        """Adds a chunk, or an answer in one piece; yields the deltas in it."""
        if event is DONE:
            self._end()
            yield from self._late()
            return
        choices = event.get("choices")
        if event.get("usage"):
            self._reported.add(event["usage"])
        if not choices:
            self._without_choices(event, choices)
            return
        if event.get("error"):
            raise ReportedError(event)
        self._model = whole(str(event.get("model") or self._model))
        self._keep(event)
        for choice in choices:
            if not choice.get("index"):
                yield from self._choice(choice)
        if (groq := event.get("x_groq")) and isinstance(groq, Mapping):
            if groq.get("error"):
                raise ReportedError(groq)
            self._reported.add(groq.get("usage"))

    def is_whole(self) -> bool:
        """Whether the answer is complete without its final line: its stop reason and its usage have been received."""
        return bool(self._stop_reason) and self._is_settled and self._reported.seen

    def streamed_tokens(self) -> int:
        """An estimate of the output tokens received so far."""
        return math.ceil(self._chars / CHARS_PER_TOKEN)

    def reply(self, request_id: str | None, unreported: Usage) -> Reply:
        """The complete answer; blocks that the token limit cut off are kept as far as they were received.

        If the provider reported no usage at all, it is `unreported` plus an estimate of the output.
        """
        blocks = tuple(self._blocks())
        message = Message("assistant", blocks)
        refusal = whole("".join(self._refusal))
        reason, detail = self._stopped(bool(message.tool_uses), refusal)
        reported = self.usage
        usage = reported or unreported.plus(Usage(output_tokens=self.streamed_tokens()))
        return Reply(message, reason, usage, self._model, request_id, detail, is_estimated=reported is None)

    def _stopped(self, calls: bool, refusal: str) -> tuple[StopReason, str | None]:
        finish_reason = whole(self._stop_reason)
        reason = _STOPS.get(finish_reason.lower().partition(":")[0])
        if refusal and reason in (None, StopReason.END_TURN):
            return StopReason.REFUSAL, refusal
        if reason is StopReason.REFUSAL:
            return reason, refusal or (
                finish_reason if finish_reason != "content_filter" else "stopped by the provider's content filter"
            )
        if reason in (None, StopReason.END_TURN, StopReason.TOOL_USE):
            unknown = (
                finish_reason
                if finish_reason and (reason is None or (reason is StopReason.TOOL_USE and not calls))
                else None
            )
            return (StopReason.TOOL_USE if calls else StopReason.END_TURN), unknown
        return reason, None

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Delta]:
        if choice.get("error"):
            raise ReportedError(choice)
        delta = choice.get("delta")
        if not delta and choice.get("message"):
            delta = self._new_in(choice["message"])
        before = self._chars
        if delta:
            yield from self._delta(delta)
        elif isinstance(choice.get("text"), str):
            yield from self._words(choice["text"])
        self._reported.add(choice.get("usage"))
        reason = choice.get("finish_reason")
        if self._chars > before and self._stop_reason:
            # A reason in every chunk says nothing of the end.
            self._is_settled = False
        if isinstance(reason, str) and reason:
            self._stop(reason, choice)
            yield from self._late()

    def _new_in(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a complete message adds: all of it, or, if it repeats what was received, the rest."""
        if not self._chars:
            return message
        said, come = message.get("content"), "".join(self._text)
        return {"content": said[len(come) :]} if isinstance(said, str) and said.startswith(come) else {}

    def _stop(self, reason: str, choice: Mapping[str, Any]) -> None:
        kind = _FAILED.get(reason.lower().partition(":")[0])
        if kind is not None:
            native = choice.get("native_finish_reason")
            raise ReportedError({"error": {"type": kind, "message": f"it stopped with `{native or reason}`"}})
        self._stop_reason = reason

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        self.begun = True
        if thought := self._reasoning.accept(delta):
            self._chars += len(thought)
            yield Delta("thinking", whole(thought))
        content = delta.get("content")
        if isinstance(content, str):
            yield from self._words(content)
        elif content:
            yield from self._parts(content)
        if refusal := delta.get("refusal"):
            self._refusal.append(str(refusal))
            self._chars += len(self._refusal[-1])
        if calls := delta.get("tool_calls"):
            yield from self._called(calls)
        if (call := delta.get("function_call")) and (call.get("name") or call.get("arguments")):
            yield from self._called([{"index": 0, "function": call}])
        if audio := delta.get("audio"):
            yield from self._words(str(audio.get("transcript") or ""))
        for picture in delta.get("images") or ():
            self._picture(picture)
        self._keep(delta)

    def _words(self, words: str) -> Iterator[Delta]:
        if words:
            self._text.append(words)
            self._chars += len(words)
            yield Delta("text", whole(words))

    def _parts(self, parts: Any) -> Iterator[Delta]:
        """Adds content in parts: text, thinking, images, refusals; unknown parts are kept."""
        for part in [parts] if isinstance(parts, Mapping) else parts:
            if isinstance(part, str):
                yield from self._words(part)
                continue
            match part.get("type"):
                case "text" | "output_text":
                    yield from self._words(str(part.get("text") or ""))
                case "thinking" | "reasoning":
                    if thought := self._reasoning.accept_part(part):
                        self._chars += len(thought)
                        yield Delta("thinking", whole(thought))
                case "refusal":
                    self._refusal.append(str(part.get("refusal") or ""))
                case "image_url":
                    self._picture(part)
                case _:
                    self._kept.setdefault("parts", []).append(part)

    def _called(self, pieces: Any) -> Iterator[Delta]:
        names, size = self._calls.accept(pieces if isinstance(pieces, list) else [pieces])
        self._chars += size
        for name in names:
            yield Delta("tool", whole(name))

    def _late(self) -> Iterator[Delta]:
        for name in self._calls.rest():
            self._chars += len(name)
            yield Delta("tool", whole(name))

    def _picture(self, part: Mapping[str, Any]) -> None:
        where = part.get("image_url")
        url = where.get("url") if isinstance(where, Mapping) else where
        head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
        if comma and head.startswith("data:") and head.endswith(";base64"):
            self._images.append(Image(head[5:-7], data))
        else:
            self._kept.setdefault("images", []).append(part)

    def _keep(self, fields: Mapping[str, Any]) -> None:
        """Adds citations and the records of the provider's own tools, sent at once or cumulatively."""
        for name in _KEPT:
            given = fields.get(name)
            if not given or name == "images":
                continue
            have = self._kept.get(name)
            if isinstance(have, list) and isinstance(given, list):
                given = [*have, *(each for each in given if each not in have)]
            self._kept[name] = given
        if signed := fields.get("extra_content"):
            self._kept["extra_content"] = signed

    def _without_choices(self, event: Mapping[str, Any], choices: Any) -> None:
        """Handles a chunk without choices, such as one with the usage only.

        Raises ReportedError if it is an error.
        """
        if event.get("error") or event.get("object") == "error" or event.get("type") == "error":
            raise ReportedError(event)
        is_chunk = isinstance(choices, list) or "usage" in event or str(event.get("object", "")).startswith("chat.")
        if not is_chunk and (event.get("message") or event.get("detail") or event.get("errors")):
            raise ReportedError(event)
        self._keep(event)

    def _end(self) -> None:
        if not (self._chars or self._stop_reason or self._images or self._calls):
            raise EOFError("the answer ended without an answer in it")
        self.finished = True

    def _blocks(self) -> Iterator[Block]:
        yield from self._reasoning.blocks()
        if self._text:
            yield Text(whole("".join(self._text)))
        yield from self._images
        for name, value in self._kept.items():
            yield Opaque(self.provider, {"type": name, name: value})
        yield from self._calls.uses(self.provider)


def events_of(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of an answer that was received in one piece, as if it had been streamed."""
    yield answer
    yield DONE
