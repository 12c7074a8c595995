"""Budget arithmetic in micro-dollars: default limits, affordable tokens, days in a time zone.

Accounts and reservations are in `store.money.ledger`, prices in `llm.prices`.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from interlock.core.errors import UsageError
from interlock.core.values import microusd
from interlock.policy.risk import Trust

USD = 1_000_000

AGENT_DAY: Mapping[Trust, int] = {Trust.INTERN: 2 * USD, Trust.SPECIALIST: 5 * USD, Trust.LEAD: 12 * USD}
RUN: Mapping[Trust, int] = {Trust.INTERN: 250_000, Trust.SPECIALIST: 750_000, Trust.LEAD: 1_500_000}
TASK: Mapping[str, int] = {
    "content": 6 * USD, "social": 2 * USD, "email": 4 * USD, "research": 5 * USD, "seo": 4 * USD,
    "engineering": 8 * USD, "docs": 3 * USD, "ops": 3 * USD, "other": 4 * USD,
}  # fmt: skip
CHAT_RUN = 100_000
LEAST_MAX_TOKENS = 256
"""A call whose answer would have to be shorter than this is refused. Source: numbers, "Budgets"."""


def task_limits(given_usd: Mapping[Any, float]) -> Mapping[str, int]:
    """What tasks may cost at most, by type: what is given, else the default."""
    return {**TASK, **{str(kind): microusd(usd) for kind, usd in given_usd.items()}}


def affordable_tokens(worst_case: Callable[[int], int], *, max_tokens: int, left: int) -> int | None:
    """The longest answer, up to `max_tokens`, whose worst case is at most `left`; None if it would be too short.

    `worst_case` maps the number of answer tokens to the maximum cost, monotonically. A reduced limit is at least
    `LEAST_MAX_TOKENS`; a call that requested less from the start is not affected.
    """
    if worst_case(max_tokens) <= left:
        return max_tokens
    low, high = LEAST_MAX_TOKENS, max_tokens
    if high < low or worst_case(low) > left:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if worst_case(middle) <= left else (low, middle - 1)
    return low


def zone(name: str) -> tzinfo:
    """A time zone by its IANA name.

    Raises UsageError if there is none of that name.
    """
    if name.upper() in ("UTC", "Z", "ETC/UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"unknown time zone `{name}`: write it as `Europe/Berlin` or `UTC`") from error


def day_key(now: datetime, timezone: str) -> str:
    """The day that `now` falls on in a project's time zone: `2026-11-21`. Source: numbers, "Budgets"."""
    return now.astimezone(zone(timezone)).date().isoformat()


def day_end(now: datetime, timezone: str) -> datetime:
    """When that day ends, in UTC: the first midnight there after `now`, on days of 23 and 25 hours too."""
    here = zone(timezone)
    tomorrow = now.astimezone(here).date() + timedelta(days=1)
    return datetime.combine(tomorrow, time.min, tzinfo=here).astimezone(UTC)
