"""The prompt of a run as it was sent, by layers, with token counts and omissions; read-only.

Prompts are built in `agents.prompts.prompt`.
"""

from collections.abc import Sequence
from typing import Any

from interlock.agents.history.conversation import SYSTEM, messages_of
from interlock.desk.reading.views import View
from interlock.llm.tokens import message_tokens, text_tokens


def prompt_view(run: Any, messages: Sequence[Any]) -> View:
    """The system prompt of a run, whose row and messages are given; `mode` is None if it has none yet.

    `layers` are in the order in which they were sent: name, whether it is stable (cacheable), characters, tokens (a
    conservative estimate) and text. `left_out` gives the reasons why layers and files are missing or truncated;
    `failed` lists errors. `tokens` is the sum over the layers and the run's own messages; `used` is the provider's
    count over all calls. Source: rows F1, F3 and F4.
    """
    line = next((row for row in messages if row.message_type == SYSTEM), None)
    record = (line.tool_input if line is not None else None) or {}
    layers: list[View] = [_layer(part) for part in (line.blocks or () if line is not None else ())]
    stable = sum(layer["tokens"] for layer in layers if layer["stable"])
    changing = sum(layer["tokens"] for layer in layers if not layer["stable"])
    said = sum(message_tokens(message) for message in messages_of(messages))
    return {
        "run_id": run.id,
        "mode": None if line is None else record.get("mode", "full"),
        "layers": layers,
        "left_out": record.get("left_out", {}),
        "failed": record.get("failed", []),
        "tokens": {
            "stable": stable, "changing": changing, "system": stable + changing, "messages": said,
            "total": stable + changing + said,
        },
        "used": {"calls": run.step_count, **run.token_usage},
    }  # fmt: skip


def _layer(part: View) -> View:
    text = part["text"]
    return {
        "name": part["name"], "stable": part["stable"], "characters": len(text), "tokens": text_tokens(text),
        "text": text,
    }  # fmt: skip
