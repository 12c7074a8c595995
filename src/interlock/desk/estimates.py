"""What rehearsed work would have cost with a real model: its tokens at that model's prices.

What was really spent is the ledger's.
"""

from collections.abc import Iterable
from typing import Any

from interlock.desk import pricing
from interlock.desk.views import View, dollars
from interlock.llm.messages import ModelRef, Usage
from interlock.llm.models import DEFAULT_MODELS
from interlock.settings import Settings

FALLBACK = ModelRef("anthropic", DEFAULT_MODELS["anthropic"])
"""What is priced where the settings name no other model than the one that rehearsed."""


def estimate(settings: Settings, runs: Iterable[Any]) -> View | None:
    """What simulated runs would have cost, and with which model; None if none was simulated. Source: row A17."""
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
