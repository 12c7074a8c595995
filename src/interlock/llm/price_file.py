"""Parses files of prices, and reports every fault as `file:line: problem`.

The cost of a call is computed in `prices`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from itertools import pairwise
from typing import Any

from interlock.core.errors import ConfigError
from interlock.core.strict_yaml import Document, Path
from interlock.llm.messages import ModelRef

_TOP = frozenset({"models", "unknown", "unit"})
_CACHES = ("cache_read_permille", "cache_write_5m_permille", "cache_write_1h_permille")
_RATE = frozenset({"bands", *_CACHES})
_BAND = frozenset({"up_to_prompt_tokens", "input", "output"})
LARGEST = 10**12
"""Of any number in the file."""


@dataclass(frozen=True, slots=True)
class Band:
    """Prices for prompts up to a number of tokens (None: any), in micro-dollars per million tokens."""

    up_to_prompt_tokens: int | None
    input: int
    output: int


@dataclass(frozen=True, slots=True)
class Rate:
    """The prices of one model from the day `effective` on. Cache prices are in thousandths of the input price."""

    bands: tuple[Band, ...]
    cache_read_permille: int = 1000
    cache_write_5m_permille: int = 1250
    cache_write_1h_permille: int = 2000
    effective: date | None = None
    source: str = ""
    """The file and line that it comes from; empty if it came with Interlock."""


@dataclass(frozen=True, slots=True)
class Row:
    """An entry of the table."""

    ref: ModelRef
    rate: Rate


Entries = dict[ModelRef, tuple[Rate, ...]]


def built_in() -> tuple[Entries, Rate]:
    """The prices that come with Interlock, and the rate for unknown models."""
    text = files("interlock.llm").joinpath("prices.json").read_text("utf-8")
    rates, unknown = read(Document(json.loads(text), "prices.json", {}), name_lines=False)
    assert unknown is not None
    return rates, unknown


def read(document: Document, *, name_lines: bool = True) -> tuple[Entries, Rate | None]:
    """A document's entries by model, in the order of their dates, and its rate for unknown models, if any.

    Raises ConfigError with all faults.
    """
    reader = _Reader(document, name_lines)
    found = reader.everything()
    if reader.faults:
        raise ConfigError(reader.faults)
    return found


class _Reader:
    def __init__(self, document: Document, name_lines: bool) -> None:
        self.document, self.name_lines = document, name_lines
        self.faults: list[str] = []

    def fault(self, path: Path, problem: str) -> None:
        self.faults.append(self.document.fault(path, problem))

    def everything(self) -> tuple[Entries, Rate | None]:
        data = self.document.data
        if not isinstance(data, Mapping):
            self.fault((), "prices are a mapping with `models` and `unknown`")
            return {}, None
        for key in data:
            if key not in _TOP:
                self.fault((key,), f"unknown key `{key}`: write `models` or `unknown`")
        unknown = self.rate(("unknown",), data["unknown"], is_unknown=True) if "unknown" in data else None
        return self.models(data.get("models", [])), unknown

    def models(self, rows: Any) -> Entries:
        if not isinstance(rows, list):
            self.fault(("models",), "`models` is not a list")
            return {}
        found: dict[ModelRef, list[Rate]] = {}
        for place, row in enumerate(rows):
            path: Path = ("models", place)
            named = isinstance(row, Mapping) and all(
                isinstance(row.get(k), str) and row[k] for k in ("provider", "model")
            )
            if not named:
                self.fault(path, "`provider` and `model` are needed")
                continue
            ref = ModelRef(row["provider"], row["model"])
            rate = self.rate(path, {key: value for key, value in row.items() if key not in ("provider", "model")})
            if rate is None:
                continue
            if any(other.effective == rate.effective for other in found.get(ref, ())):
                since = f" since {rate.effective}" if rate.effective else ""
                self.fault(path, f"`{ref}` has two prices{since}: give the later one another `effective` date")
            found.setdefault(ref, []).append(rate)
        return {ref: tuple(sorted(each, key=lambda r: r.effective or date.min)) for ref, each in found.items()}

    def rate(self, path: Path, row: Any, *, is_unknown: bool = False) -> Rate | None:
        if not isinstance(row, Mapping):
            self.fault(path, "a mapping with `bands` is needed")
            return None
        before = len(self.faults)
        for key in row:
            if key not in _RATE and (key != "effective" or is_unknown):
                self.fault((*path, key), f"unknown key `{key}`")
        effective = _date(row.get("effective"))
        if "effective" in row and effective is None:
            self.fault((*path, "effective"), "`effective` is not a date such as 2026-10-07")
        bands = self.bands(path, row.get("bands"), is_unknown)
        is_free = all(band.input == 0 for band in bands)
        caches = {key: row[key] for key in _CACHES if key in row}
        for key, value in caches.items():
            if not _whole(value):
                self.fault((*path, key), f"`{key}` is not a whole number of 0 or more")
            elif value == 0 and not is_free:
                self.fault((*path, key), f"`{key}` is 0, which would make tokens free: write 1 at least")
        if len(self.faults) > before:
            return None
        source = self.document.at(path) if self.name_lines else ""
        return Rate(bands, effective=effective, source=source, **caches)

    def bands(self, path: Path, rows: Any, is_unknown: bool) -> tuple[Band, ...]:
        here: Path = (*path, "bands")
        if not isinstance(rows, list) or not rows or not all(_is_band(row) for row in rows):
            self.fault(here, "`bands` needs entries with `input` and `output` in micro-dollars per million tokens")
            return ()
        if not _rising([row.get("up_to_prompt_tokens") for row in rows]):
            self.fault(here, "`up_to_prompt_tokens` must rise from band to band and be null in the last one")
        if is_unknown and any(row["input"] == 0 or row["output"] == 0 for row in rows):
            self.fault(here, "models without a price are never free: write prices above 0")
        return tuple(Band(row.get("up_to_prompt_tokens"), row["input"], row["output"]) for row in rows)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _is_band(band: Any) -> bool:
    if not isinstance(band, Mapping) or set(band) - _BAND:
        return False
    limit = band.get("up_to_prompt_tokens")
    return _whole(band.get("input")) and _whole(band.get("output")) and (limit is None or _whole(limit))


def _rising(limits: Sequence[int | None]) -> bool:
    return limits[-1] is None and all(
        one is not None and (other is None or one < other) for one, other in pairwise(limits)
    )


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
