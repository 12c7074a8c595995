"""Models' prices for people; charging is in `llm.prices`."""

import difflib
from datetime import date
from typing import Any

from interlock.core import strict_yaml
from interlock.core.errors import ConfigError, NotFound
from interlock.desk.reading.views import View, dollars
from interlock.llm.prices import PriceTable, Rate, prices_from
from interlock.settings import Settings
from interlock.settings.reading import read_bounded


def table(settings: Settings) -> PriceTable:
    """The prices of an installation: the built-in ones, overridden by its file.

    Raises ConfigError with all faults of the file.
    """
    if settings.prices is None:
        return PriceTable.load()
    try:
        return prices_from(read_bounded(settings.prices, strict_yaml.LARGEST_BYTES), source=str(settings.prices))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ConfigError([f"{settings.prices}:1: cannot be read: {why}"]) from error


def price_views(prices: PriceTable, today: date, model: str | None = None) -> list[View]:
    """All prices in USD per million tokens, with the rate of unknown models last; or those of models like `model`.

    `holds`: whether the price is in effect `today`. Raises NotFound if no model matches.
    """
    rows = prices.rows()
    if model is not None:
        wanted = model.strip().lower()
        rows = [row for row in rows if wanted in str(row.ref).lower()]
        if not rows:
            raise NotFound("price", model, message=_unknown(model, prices))
    shown = [{"model": str(r.ref), **_rate(r.rate), "holds": prices.rate(r.ref, today) is r.rate} for r in rows]
    return shown if model is not None else [*shown, {"model": "any other", **_rate(prices.unknown), "holds": True}]


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "bands": [
            {
                "up_to_prompt_tokens": b.up_to_prompt_tokens,
                "input_usd": dollars(b.input),
                "output_usd": dollars(b.output),
            }
            for b in rate.bands
        ],
        "cache_read": rate.cache_read_permille / 1000,
        "cache_write_5m": rate.cache_write_5m_permille / 1000,
        "cache_write_1h": rate.cache_write_1h_permille / 1000,
        "effective": rate.effective.isoformat() if rate.effective else None,
        "source": rate.source or "built in",
    }


def _unknown(model: str, prices: PriceTable) -> str:
    known = sorted({str(row.ref) for row in prices.rows()})
    near = difflib.get_close_matches(model, known, n=1, cutoff=0.5)
    meant = f", did you mean `{near[0]}`" if near else ""
    return f"`{model}` has no price{meant}: it is charged at the rate of `any other`, see `interlock prices`"
