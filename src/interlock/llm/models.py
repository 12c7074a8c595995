"""What is known of models: windows, longest answers, each provider's default. Prices are in `prices`."""

import re
from collections.abc import Mapping

from interlock.llm.messages import ModelInfo, ModelRef

_LARGE = ModelInfo(context_tokens=1_000_000, max_output_tokens=128_000)
_SMALL = ModelInfo(context_tokens=200_000, max_output_tokens=64_000)
_DATED = re.compile(r"-20\d{6}$")

KNOWN: Mapping[ModelRef, ModelInfo] = {
    **{
        ModelRef("anthropic", f"claude-{name}"): _LARGE
        for name in ("fable-5-1", "fable-5", "opus-5-5", "opus-5", "sonnet-5-5", "sonnet-5", "haiku-5-5")
    },
    ModelRef("anthropic", "claude-haiku-4-5"): _SMALL,
    ModelRef("rehearsal", "offline"): _LARGE,
}
"""Source: https://platform.claude.com/docs/en/about-claude/models/overview."""

DEFAULT_MODELS: Mapping[str, str] = {"anthropic": "claude-sonnet-5-5", "rehearsal": "offline"}
"""The model of a provider whose key is set while no model is named."""


def model_info(ref: ModelRef) -> ModelInfo:
    """What is known of a model; cautious assumptions for one that is not in the table."""
    return KNOWN.get(ref) or KNOWN.get(ModelRef(ref.provider, _DATED.sub("", ref.model))) or ModelInfo()
