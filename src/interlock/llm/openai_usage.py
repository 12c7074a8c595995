"""The token usage that chat completions report, in any dialect, as disjoint counts.

Estimates are in `tokens`, prices in `prices`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.llm.messages import Usage
from interlock.llm.reading import count


@dataclass(slots=True)
class Reported:
    """The counts of a call so far. Reports are cumulative, so a count never shrinks."""

    prompt: int = 0
    completion: int = 0
    total: int = 0
    read: int = 0
    written: int = 0
    seen: bool = False

    def add(self, report: Any) -> None:
        """Adds a report; invalid counts are ignored."""
        if not isinstance(report, Mapping) or not report:
            return
        prompt, completion = _first(report, "prompt_tokens", "input_tokens"), _first(report, "completion_tokens",
                                                                                    "output_tokens")  # fmt: skip
        details = next((d for name in _DETAILS if isinstance(d := report.get(name), Mapping)), {})
        read = max(_first(details, "cached_tokens"), _first(report, *_READ))
        written = max(_first(details, "cache_write_tokens"), _first(report, "cache_creation_input_tokens"))
        if not (prompt or completion or count(report.get("total_tokens"))):
            return
        self.seen = True
        self.prompt, self.completion = max(self.prompt, prompt), max(self.completion, completion)
        self.total = max(self.total, count(report.get("total_tokens")))
        self.read, self.written = max(self.read, read), max(self.written, written)

    def usage(self) -> Usage | None:
        """The counts, each token once; None before the first report.

        Cached tokens are part of the prompt's. If the total exceeds prompt and completion, the rest are reasoning
        tokens, which some providers bill as output without counting them in the completion.
        """
        if not self.seen:
            return None
        read = min(self.read, self.prompt)
        written = min(self.written, self.prompt - read)
        return Usage(
            input_tokens=self.prompt - read - written,
            output_tokens=max(self.completion, self.total - self.prompt),
            cache_read_tokens=read,
            cache_write_5m_tokens=written,
        )


_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_READ = ("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens", "cache_read_input_tokens")


def _first(report: Mapping[str, Any], *names: str) -> int:
    return next((found for name in names if (found := count(report.get(name)))), 0)
