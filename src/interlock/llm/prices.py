"""What tokens cost: a table of prices as data, that a user can add to and correct.

Budgets and reservations belong to the ledger; how many tokens a prompt has to `tokens`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from itertools import pairwise
from typing import Any, Self

from interlock.core import strict_yaml
from interlock.core.errors import ConfigError
from interlock.core.values import MICRO
from interlock.llm.messages import ModelRef, Usage

_PERMILLE = 1000
_DATED = re.compile(r"-20\d{6}$")
_RATE_KEYS = frozenset({"bands", "cache_read_permille", "cache_write_5m_permille", "cache_write_1h_permille"})
_BAND_KEYS = frozenset({"up_to_prompt_tokens", "input", "output"})


@dataclass(frozen=True, slots=True)
class Cost:
    """Money for a call. `known` is False where the model has no price and the rate for unknown ones was taken."""

    microusd: int
    known: bool


@dataclass(frozen=True, slots=True)
class Band:
    """Prices for prompts of up to so many tokens (None: any), in micro-dollars per million tokens."""

    up_to_prompt_tokens: int | None
    input: int
    output: int


@dataclass(frozen=True, slots=True)
class Rate:
    """The prices of one model. The caches' prices are thousandths of the input's; `effective` is since when."""

    bands: tuple[Band, ...]
    cache_read_permille: int = 1000
    cache_write_5m_permille: int = 1250
    cache_write_1h_permille: int = 2000
    effective: date | None = None

    def charge(self, usage: Usage) -> int:
        """Micro-dollars, rounded up; the length of the whole prompt chooses the band of every token."""
        band = self._band(usage.prompt_tokens)
        weighted = (
            usage.input_tokens * _PERMILLE
            + usage.cache_read_tokens * self.cache_read_permille
            + usage.cache_write_5m_tokens * self.cache_write_5m_permille
            + usage.cache_write_1h_tokens * self.cache_write_1h_permille
        )
        return -(-(weighted * band.input + usage.output_tokens * band.output * _PERMILLE) // (MICRO * _PERMILLE))

    def _band(self, prompt_tokens: int) -> Band:
        return next(
            band for band in self.bands if band.up_to_prompt_tokens is None or prompt_tokens <= band.up_to_prompt_tokens
        )


class PriceTable:
    """Prices by provider and model.

    A name that ends in a date is looked up without it too.

    Source: row D4.
    """

    def __init__(self, rates: Mapping[ModelRef, Rate], unknown: Rate) -> None:
        self._rates, self._unknown = dict(rates), unknown

    @classmethod
    def load(cls, overrides: Mapping[str, Any] | None = None, *, source: str = "prices") -> Self:
        """The built-in table with a user's on top: a mapping with `unknown` and `models` as in `prices.json`.

        Raises ConfigError with every fault of `overrides`, each named by `source` and its place.
        """
        built_in = json.loads(files("interlock.llm").joinpath("prices.json").read_text("utf-8"))
        faults: list[str] = []
        rates = _rates(built_in["models"], "prices.json", faults)
        unknown = _rate(built_in["unknown"], "prices.json: unknown", faults)
        if overrides:
            faults += [
                f"{source}: unknown key `{key}`" for key in overrides if key not in {"models", "unknown", "unit"}
            ]
            rates |= _rates(overrides.get("models", []), source, faults)
            if "unknown" in overrides:
                unknown = _rate(overrides["unknown"], f"{source}: unknown", faults)
        if faults or unknown is None:
            raise ConfigError(faults)
        return cls(rates, unknown)

    def rate(self, ref: ModelRef) -> Rate | None:
        """A model's prices, or None where it has none."""
        undated = ModelRef(ref.provider, _DATED.sub("", ref.model))
        return self._rates.get(ref) or self._rates.get(undated)

    def cost(self, ref: ModelRef, usage: Usage) -> Cost:
        """What a call cost."""
        rate = self.rate(ref)
        return Cost((rate or self._unknown).charge(usage), rate is not None)

    def worst_case(self, ref: ModelRef, prompt_tokens: int, max_tokens: int) -> int:
        """The most that a call can cost, in micro-dollars: every token of the prompt written to the cache.

        The adapters ask for the five-minute cache only; its price, or the plain one where that is higher, counts.
        """
        rate = self.rate(ref) or self._unknown
        written = Usage(output_tokens=max_tokens, cache_write_5m_tokens=prompt_tokens)
        plain = Usage(output_tokens=max_tokens, input_tokens=prompt_tokens)
        return max(rate.charge(written), rate.charge(plain))


def prices_from(text: bytes, *, source: str) -> PriceTable:
    """The built-in prices with those of a file on top; an empty file changes nothing.

    Raises ConfigError with all faults of the file.
    """
    document = strict_yaml.parse(text, source=source)
    if document.data is not None and not isinstance(document.data, dict):
        raise ConfigError([f"{source}:1: prices are a mapping with `models` and `unknown`"])
    return PriceTable.load(document.data, source=source)


def _rates(rows: Any, source: str, faults: list[str]) -> dict[ModelRef, Rate]:
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        faults.append(f"{source}: `models` is not a list")
        return {}
    out: dict[ModelRef, Rate] = {}
    for number, row in enumerate(rows, start=1):
        where = f"{source}: model {number}"
        if not isinstance(row, Mapping) or not all(
            isinstance(row.get(k), str) and row[k] for k in ("provider", "model")
        ):
            faults.append(f"{where}: `provider` and `model` are needed")
            continue
        rest = {key: value for key, value in row.items() if key not in {"provider", "model"}}
        if (rate := _rate(rest, f"{where} ({row['model']})", faults)) is not None:
            out[ModelRef(row["provider"], row["model"])] = rate
    return out


def _rate(row: Any, where: str, faults: list[str]) -> Rate | None:
    if not isinstance(row, Mapping):
        faults.append(f"{where}: a mapping with `bands` is needed")
        return None
    found = [f"{where}: unknown key `{key}`" for key in row if key not in _RATE_KEYS | {"effective"}]
    found += [
        f"{where}: `{key}` is not a whole number of 0 or more"
        for key in _RATE_KEYS & set(row) - {"bands"}
        if not _whole(row[key])
    ]
    effective, bands = _date(row.get("effective")), row.get("bands")
    if "effective" in row and effective is None:
        found.append(f"{where}: `effective` is not a date such as 2026-10-07")
    if not isinstance(bands, Sequence) or not bands or not all(_is_band(band) for band in bands):
        found.append(f"{where}: `bands` needs entries with `input` and `output` in micro-dollars per million tokens")
    elif not _rising([band.get("up_to_prompt_tokens") for band in bands]):
        found.append(f"{where}: `up_to_prompt_tokens` must rise from band to band and be null in the last one")
    faults += found
    if found:
        return None
    multipliers = {key: row[key] for key in _RATE_KEYS & set(row) - {"bands"}}
    made = tuple(Band(band.get("up_to_prompt_tokens"), band["input"], band["output"]) for band in bands or ())
    return Rate(made, effective=effective, **multipliers)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_band(band: Any) -> bool:
    if not isinstance(band, Mapping) or set(band) - _BAND_KEYS:
        return False
    limit = band.get("up_to_prompt_tokens")
    return _whole(band.get("input")) and _whole(band.get("output")) and (limit is None or _whole(limit))


def _rising(limits: list[int | None]) -> bool:
    return limits[-1] is None and all(
        one is not None and (other is None or one < other) for one, other in pairwise(limits)
    )


def _date(value: Any) -> date | None:
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
