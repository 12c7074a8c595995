"""A model's reasoning in the dialects of chat completions: assembled from answers, and returned to the provider.

Signed thinking of the Messages API is in `anthropic_events` and `anthropic_request`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.llm.messages import Block, Message, Opaque, Thinking
from interlock.llm.reading import whole

FIELDS = ("reasoning_content", "reasoning", "thinking")
DETAILS = "reasoning_details"
MARK = "reasoning"
"""The type of the opaque block that says in which field the thinking before it came."""
PARTS = "thinking_part"
"""In place of a field's name: it came as a part of the content."""
_JOINED = ("text", "summary")
_KEY = ("type", "index", "id")


class Reasoning:
    """The reasoning of one answer."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._field = ""
        self._pieces: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._part: dict[str, Any] = {}

    def accept(self, delta: Mapping[str, Any]) -> str:
        """Adds the reasoning in a delta and returns its text; a text in two fields counts once."""
        said = self._field and delta.get(self._field)
        if not said or not isinstance(said, str):
            name = next((n for n in FIELDS if isinstance(delta.get(n), str) and delta[n]), "")
            said = delta[name] if name else ""
            self._field = self._field or name
        if details := delta.get(DETAILS):
            from_details = "".join(self._detail(each) for each in details)
            said = said or from_details
        if said:
            self._pieces.append(said)
        return said

    def accept_part(self, part: Mapping[str, Any]) -> str:
        """Adds a part of content and returns its text."""
        self._field = PARTS
        inner = part.get("thinking", part.get("text"))
        said = inner if isinstance(inner, str) else "".join(str(each.get("text") or "") for each in inner or ())
        self._part.update({k: v for k, v in part.items() if k not in ("type", "thinking", "text")})
        if said:
            self._pieces.append(said)
        return said

    def blocks(self) -> Iterator[Block]:
        """The thinking, and what is needed to return it to the provider."""
        text = whole("".join(self._pieces))
        if text:
            yield Thinking(text)
        if self._details:
            yield Opaque(self._provider, {"type": DETAILS, DETAILS: self._details})
        elif text and self._field:
            mark: dict[str, Any] = {"type": MARK, "field": self._field}
            yield Opaque(self._provider, {**mark, "fields": self._part} if self._part else mark)

    def _detail(self, given: Mapping[str, Any]) -> str:
        """Adds a detail, or a further piece of the last one; returns its text."""
        key = [given.get(name) for name in _KEY[:2]]
        last = self._details[-1] if self._details else {}
        goes_on = bool(last) and [last.get(name) for name in _KEY[:2]] == key
        if goes_on and given.get("id") and last.get("id") and given["id"] != last["id"]:
            goes_on = False
        if goes_on and given.get("data") and last.get("data"):
            goes_on = False
        if not goes_on:
            self._details.append(dict(given))
        else:
            for name, value in given.items():
                if name in _JOINED and isinstance(value, str):
                    last[name] = (last.get(name) or "") + value
                elif value or name not in last:
                    last[name] = value
        return "".join(v for name in _JOINED if isinstance(v := given.get(name), str))


def given_back(message: Message, provider: str) -> dict[str, Any]:
    """The reasoning fields to send with an assistant's message; without those of other providers."""
    own = [block.data for block in message.blocks if isinstance(block, Opaque) and block.provider == provider]
    details = next((data[DETAILS] for data in own if data.get("type") == DETAILS), None)
    if details:
        return {DETAILS: details}
    mark = next((data for data in own if data.get("type") == MARK), None)
    text = "".join(b.text for b in message.blocks if isinstance(b, Thinking) and not b.signature and b.redacted is None)
    if mark is None or not text:
        return {}
    if mark["field"] == PARTS:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": text}], **mark.get("fields", {})}
        return {PARTS: thought}
    return {mark["field"]: text}
