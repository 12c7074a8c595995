"""The cost of tokens, in integer micro-dollars: bands by the length of the prompt, caches, dates of price changes.

Files of prices are parsed in `price_file`; budgets and reservations are the ledger's job.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Self

from interlock.core.clock import SystemClock
from interlock.core.strict_yaml import Document, parse
from interlock.core.values import MICRO
from interlock.llm.messages import ModelRef, Usage
from interlock.llm.price_file import Band, Rate, Row, built_in, read

__all__ = ["Band", "Cost", "PriceTable", "Rate", "charge", "prices_from", "worst"]

ANY_MODEL = "*"
"""In a file of prices: whichever model of a provider, such as those on this machine, which cost nothing."""
_PERMILLE = 1000
_DATED = re.compile(r"-20\d\d-?\d\d-?\d\d$")
_A_DAY = timedelta(days=1)
_MOST_FOUND = 1_000


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a call. `known` is False if the model has no price and is charged at the rate for unknown ones."""

    microusd: int
    known: bool


def charge(rate: Rate, usage: Usage) -> int:
    """Micro-dollars, rounded up; the length of the whole prompt chooses the band of every token."""
    weighted = (
        usage.input_tokens * _PERMILLE
        + usage.cache_read_tokens * rate.cache_read_permille
        + usage.cache_write_5m_tokens * rate.cache_write_5m_permille
        + usage.cache_write_1h_tokens * rate.cache_write_1h_permille
    )
    prompt = usage.prompt_tokens
    band = next(b for b in rate.bands if b.up_to_prompt_tokens is None or prompt <= b.up_to_prompt_tokens)
    return -(-(weighted * band.input + usage.output_tokens * band.output * _PERMILLE) // (MICRO * _PERMILLE))


def worst(rate: Rate, prompt_tokens: int, max_tokens: int) -> int:
    """The maximum cost of a prompt and an answer of up to the given numbers of tokens, in micro-dollars.

    No token is assumed to be cached, and the most expensive band that the prompt may fall into applies. The adapters
    use the five-minute cache only, so the price of longer ones is ignored.
    """
    permille = max(_PERMILLE, rate.cache_read_permille, rate.cache_write_5m_permille)
    most, below = 0, -1
    for band in rate.bands:
        if below >= prompt_tokens:
            break
        upper = prompt_tokens if band.up_to_prompt_tokens is None else min(prompt_tokens, band.up_to_prompt_tokens)
        cost = upper * permille * band.input + max_tokens * band.output * _PERMILLE
        most = max(most, -(-cost // (MICRO * _PERMILLE)))
        below = prompt_tokens if band.up_to_prompt_tokens is None else band.up_to_prompt_tokens
    return most


def today() -> date:
    """The day by the machine's clock, in UTC."""
    return SystemClock().now().date()


class PriceTable:
    """Prices by provider and model, on the current day.

    Of a model's entries, the one with the latest date that is not in the future applies, else the first. A name that
    ends in a date is also looked up without it, and finally the provider's `*`, which stands for all its models.

    Source: row D4.
    """

    def __init__(
        self, rates: Mapping[ModelRef, Sequence[Rate]], unknown: Rate, *, day: Callable[[], date] = today
    ) -> None:
        self._rates = {ref: tuple(entries) for ref, entries in rates.items()}
        self._unknown, self._day = unknown, day
        self._found: dict[ModelRef, tuple[Rate, ...]] = {}

    @classmethod
    def load(cls, overrides: Mapping[str, Any] | None = None, *, source: str = "prices") -> Self:
        """The built-in table with a user's on top: a mapping with `unknown` and `models` as in `prices.json`.

        Raises ConfigError with every fault of `overrides`, each named by `source` and its place.
        """
        return cls.over(Document(dict(overrides) if overrides else None, source, {}))

    @classmethod
    def over(cls, document: Document) -> Self:
        """The built-in table with a user's document on top. Raises ConfigError with all its faults."""
        rates, unknown = built_in()
        if document.data is not None:
            given, rate = read(document)
            for ref, entries in given.items():
                rates[ref] = merged(rates.get(ref, ()), entries)
            unknown = rate or unknown
        return cls(rates, unknown)

    def on(self, day: Callable[[], date]) -> Self:
        """The same prices with another calendar."""
        return type(self)(self._rates, self._unknown, day=day)

    @property
    def unknown(self) -> Rate:
        """The rate for models without a price."""
        return self._unknown

    def rows(self) -> list[Row]:
        """Every entry, by provider, model and date."""
        found = [Row(ref, rate) for ref, entries in self._rates.items() for rate in entries]
        return sorted(found, key=lambda row: (row.ref.provider, row.ref.model, row.rate.effective or date.min))

    def rate(self, ref: ModelRef, day: date | None = None) -> Rate | None:
        """A model's prices on a day, by default today; None if it has none."""
        entries = self._entries(ref)
        if not entries:
            return None
        if len(entries) == 1:
            return entries[0]
        when = self._day() if day is None else day
        held = [rate for rate in entries if rate.effective is None or rate.effective <= when]
        return held[-1] if held else entries[0]

    def _entries(self, ref: ModelRef) -> tuple[Rate, ...]:
        """All prices of a model, under whichever name; cached up to a number of models."""
        found = self._found.get(ref)
        if found is None:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            names = (ref.model, _DATED.sub("", ref.model), ANY_MODEL)
            there = (self._rates.get(ModelRef(ref.provider, name)) for name in names)
            found = self._found[ref] = next(filter(None, there), ())
        return found

    def cost(self, ref: ModelRef, usage: Usage) -> Cost:
        """The cost of a call."""
        rate = self.rate(ref)
        return Cost(charge(rate or self._unknown, usage), rate is not None)

    def worst_case(self, ref: ModelRef, prompt_tokens: int, max_tokens: int) -> int:
        """The maximum cost of a call, in micro-dollars, without cache hits; also if it ends after midnight.

        INVARIANT: no usage within these numbers costs more, today or tomorrow.
        """
        now = self.rate(ref) or self._unknown
        day = self._day() + _A_DAY if len(self._entries(ref)) > 1 else None
        soon = now if day is None else self.rate(ref, day) or self._unknown
        most = worst(now, prompt_tokens, max_tokens)
        return most if soon is now else max(most, worst(soon, prompt_tokens, max_tokens))


def merged(built: Sequence[Rate], given: Sequence[Rate]) -> tuple[Rate, ...]:
    """The built-in entries with a user's: the former apply until the day from which the user's do."""
    first = given[0].effective
    kept = [] if first is None else [rate for rate in built if rate.effective is None or rate.effective < first]
    return (*kept, *given)


def prices_from(text: bytes, *, source: str) -> PriceTable:
    """The built-in prices with those of a file on top; an empty file changes nothing.

    Raises ConfigError with all faults of the file, each `file:line: problem`.
    """
    return PriceTable.over(parse(text, source=source))
