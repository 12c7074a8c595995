"""Estimates what rehearsed work would have cost with a real model, from its tokens and the model's prices.

Real spending is in the ledger.
"""

from collections.abc import Iterable
from typing import Any

from interlock.desk.budgets import pricing
from interlock.desk.reading.views import View, dollars
from interlock.llm.messages import ModelRef, Usage
from interlock.llm.models import DEFAULT_MODELS
from interlock.settings import Settings

FALLBACK = ModelRef("anthropic", DEFAULT_MODELS["anthropic"])
"""The model assumed if the settings name none but the offline one."""


def estimate(settings: Settings, runs: Iterable[Any]) -> View | None:
    """The estimated cost of simulated runs, and the model assumed; None if none was simulated. Source: row A17."""
    rehearsed = [run for run in runs if run.simulated and run.model]
    if not rehearsed:
        return None
    ref = _intended(settings, ModelRef.parse(rehearsed[0].model))
    prices = pricing.table(settings)
    total = sum(prices.cost(ref, Usage(**run.token_usage)).microusd for run in rehearsed)
    return {"cost_usd": dollars(total), "model": str(ref)}


def _intended(settings: Settings, used: ModelRef) -> ModelRef:
    named = ModelRef.parse(settings.model) if settings.model else FALLBACK
    return FALLBACK if named.provider == used.provider else named
