"""The providers of the chat completions API: their base URLs, and how each differs from the others.

Requests are built in `openai_request`; the names of key variables are in `settings`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Dialect:
    """The dialect of a provider. The defaults are what nearly all of them accept."""

    base_url: str | None = None
    """None: the SDK's."""
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    asks_for_usage: bool = True
    """Whether `stream_options` is understood; usage comes without it from those that refuse it."""
    effort: Literal["reasoning_effort", "reasoning"] | None = None
    """The field that takes an effort."""
    effort_models: re.Pattern[str] = re.compile(r"")
    """The models that take one."""
    efforts: Mapping[str, str] | None = None
    """What each effort is called, where it is called otherwise; None for as it is."""
    call_id: re.Pattern[str] = re.compile(r"[\x21-\x7e]+")
    """What an id of a call may look like; others are replaced, the same by the same."""
    plain_schemas: bool = False
    """Whether only the keywords of OpenAPI are understood in the schemas of tools."""
    takes_images: bool = True
    takes_user_after_tool: bool = True
    """Whether a person's words may follow a result without an answer between them."""
    signs_calls: re.Pattern[str] | None = None
    """Models that refuse a call in the history without their signature."""
    fixed_temperature: re.Pattern[str] | None = None
    """Models that refuse a temperature."""
    developer: re.Pattern[str] | None = None
    """Models whose system prompt comes from the role `developer`."""


_REASONERS = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d))")
_THREE = {"minimal": "low", "xhigh": "high", "max": "high"}

DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(
        limit="max_completion_tokens",
        call_id=re.compile(r"[\x21-\x7e]{1,40}"),
        effort="reasoning_effort",
        effort_models=_REASONERS,
        efforts={"max": "xhigh"},
        fixed_temperature=_REASONERS,
        developer=_REASONERS,
    ),
    "google": Dialect(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        effort="reasoning_effort",
        efforts=_THREE,
        plain_schemas=True,
        signs_calls=re.compile(r"(?:models/)?gemini-(?:[3-9]|\d\d)"),
    ),
    "openrouter": Dialect("https://openrouter.ai/api/v1", effort="reasoning", efforts={"max": "xhigh"}),
    "groq": Dialect(
        "https://api.groq.com/openai/v1",
        limit="max_completion_tokens",
        effort="reasoning_effort",
        effort_models=re.compile(r"openai/gpt-oss"),
        efforts=_THREE,
    ),
    "together": Dialect("https://api.together.xyz/v1"),
    "deepseek": Dialect("https://api.deepseek.com/v1", effort="reasoning_effort", takes_images=False),
    "mistral": Dialect(
        "https://api.mistral.ai/v1",
        asks_for_usage=False,
        call_id=re.compile(r"[A-Za-z0-9]{9}"),
        takes_user_after_tool=False,
    ),
    "fireworks": Dialect("https://api.fireworks.ai/inference/v1"),
    "perplexity": Dialect("https://api.perplexity.ai", asks_for_usage=False),
    "ollama": Dialect("http://127.0.0.1:11434/v1"),
    "lmstudio": Dialect("http://127.0.0.1:1234/v1"),
}
"""By name of the provider. Source: numbers, "Providers"."""

CUSTOM = Dialect()
"""Of a server that only its configuration names."""
