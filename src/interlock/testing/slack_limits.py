"""Slack's limits for blocks and messages, as it enforces them; for the local server.

Source: https://docs.slack.dev/reference/block-kit/blocks; the limit of all texts together is from what it refuses.
"""

from collections.abc import Iterator, Mapping
from typing import Any

MOST_BLOCKS = 50
MOST_TOGETHER = 11_000
MOST_OF_TEXT = 40_000
_MOST = {"section": 3_000, "context": 3_000, "header": 150, "button": 75}


def fault(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """What Slack says of a message that is not within its limits; None of one that is."""
    view = body.get("view")
    blocks = (view if isinstance(view, Mapping) else body).get("blocks")
    if not isinstance(blocks, list):
        return None
    if len(blocks) > (100 if view else MOST_BLOCKS):
        return _invalid("no more than 50 items allowed")
    if wrong := next((found for block in blocks for found in _faults(block)), None):
        return _invalid(wrong)
    if sum(_length(text) for block in blocks for text in _texts(block)) > MOST_TOGETHER:
        return {"error": "msg_blocks_too_long"}
    if _length(str(body.get("text") or "")) > MOST_OF_TEXT:
        return {"error": "msg_too_long"}
    return None


def _invalid(what: str) -> dict[str, Any]:
    return {"error": "invalid_blocks", "response_metadata": {"messages": [f"[ERROR] {what}"]}}


def _faults(block: Mapping[str, Any]) -> Iterator[str]:
    kind = block["type"]
    if kind == "section":
        yield from _faults_of_text(block.get("text"), 3_000)
        fields = block.get("fields") or ()
        if len(fields) > 10:
            yield "no more than 10 fields allowed"
        for field in fields:
            yield from _faults_of_text(field, 2_000)
    elif kind in ("header", "context"):
        for text in [block["text"]] if kind == "header" else block["elements"]:
            yield from _faults_of_text(text, _MOST[kind])
    elif kind == "actions":
        yield from _faults_of_buttons(block["elements"])


def _faults_of_buttons(buttons: list[Mapping[str, Any]]) -> Iterator[str]:
    if not 1 <= len(buttons) <= 25:
        yield "no more than 25 items allowed"
    ids = [button["action_id"] for button in buttons]
    if len(set(ids)) < len(ids):
        yield "`action_id` must be unique"
    for button in buttons:
        yield from _faults_of_text(button["text"], _MOST["button"])
        if len(button["action_id"]) > 255 or len(button.get("value", "")) > 2_000:
            yield "must be less than 256 characters"


def _faults_of_text(text: Mapping[str, Any] | None, most: int) -> Iterator[str]:
    if text is None:
        return
    if not text["text"]:
        yield "must be more than 0 characters"
    if _length(text["text"]) > most:
        yield f"must be less than {most + 1} characters"


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        for name, value in part.items():
            if name == "text" and isinstance(value, str):
                yield value
            else:
                yield from _texts(value)
    elif isinstance(part, list):
        for item in part:
            yield from _texts(item)
