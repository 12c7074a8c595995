"""Context windows and longest answers of models, and the default model of each provider. Prices are in `prices`."""

import re
from collections.abc import Mapping

from interlock.llm.messages import ModelInfo, ModelRef

_LARGE = ModelInfo(context_tokens=1_000_000, max_output_tokens=128_000)
_SMALL = ModelInfo(context_tokens=200_000, max_output_tokens=64_000)
_DEEPSEEK = ModelInfo(context_tokens=1_000_000, max_output_tokens=384_000)
_OPEN = ModelInfo(context_tokens=131_072, max_output_tokens=65_536)
_DATED = re.compile(r"-20\d\d-?\d\d-?\d\d$")

KNOWN: Mapping[ModelRef, ModelInfo] = {
    **{
        ModelRef("anthropic", f"claude-{name}"): _LARGE
        for name in ("fable-5-1", "fable-5", "opus-5-5", "opus-5", "sonnet-5-5", "sonnet-5", "haiku-5-5")
    },
    ModelRef("anthropic", "claude-haiku-4-5"): _SMALL,
    **{ModelRef("openai", name): _LARGE for name in ("gpt-5.5", "gpt-5.4")},
    ModelRef("openai", "gpt-5.4-mini"): ModelInfo(context_tokens=400_000, max_output_tokens=128_000),
    ModelRef("google", "gemini-3.8-flash"): ModelInfo(context_tokens=1_000_000, max_output_tokens=65_536),
    **{ModelRef("deepseek", name): _DEEPSEEK for name in ("deepseek-flash", "deepseek-v4-pro")},
    **{ModelRef("groq", f"openai/gpt-oss-{size}"): _OPEN for size in ("120b", "20b")},
    ModelRef("mistral", "mistral-medium-latest"): ModelInfo(context_tokens=256_000, max_output_tokens=64_000),
    ModelRef("rehearsal", "offline"): _LARGE,
}
"""Source: https://platform.claude.com/docs/en/about-claude/models/overview,
https://developers.openai.com/docs/models, https://api-docs.deepseek.com/quick_start/pricing,
https://console.groq.com/docs/models, https://ai.google.dev/gemini-api/docs/models."""

DEFAULT_MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-5.5",
    "google": "gemini-3.8-flash",
    "openrouter": "openrouter/auto",
    "groq": "openai/gpt-oss-120b",
    "deepseek": "deepseek-flash",
    "mistral": "mistral-medium-latest",
    "rehearsal": "offline",
}
"""The model of a provider whose key is set while no model is named. Those that are not here have too many, or change
them too often, for one to be meant."""


def model_info(ref: ModelRef) -> ModelInfo:
    """The limits of a model; cautious assumptions for one that is not in the table."""
    return KNOWN.get(ref) or KNOWN.get(ModelRef(ref.provider, _DATED.sub("", ref.model))) or ModelInfo()
