"""The arithmetic of budgets in micro-dollars: default limits, worst cases, what still fits, days in a time zone.

Accounts and reservations are the ledger's; prices of models are the models'.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from interlock.core.errors import UsageError
from interlock.policy.risk import Trust

USD = 1_000_000
PER_MILLION = 1_000_000

AGENT_DAY: Mapping[Trust, int] = {Trust.INTERN: 2 * USD, Trust.SPECIALIST: 5 * USD, Trust.LEAD: 12 * USD}
RUN: Mapping[Trust, int] = {Trust.INTERN: 250_000, Trust.SPECIALIST: 750_000, Trust.LEAD: 1_500_000}
TASK: Mapping[str, int] = {
    "content": 6 * USD, "social": 2 * USD, "email": 4 * USD, "research": 5 * USD, "seo": 4 * USD,
    "engineering": 8 * USD, "docs": 3 * USD, "ops": 3 * USD, "other": 4 * USD,
}  # fmt: skip
CHAT_RUN = 100_000
MISSION = 20 * USD
PROJECT_DAY = 50 * USD
CHAT_RUN_CALLS = 5
"""Model calls of a chat run."""
TASK_RUN_CALLS = 10
"""Model calls of a task run."""
LEAST_MAX_TOKENS = 256
"""A call whose answer would have to be shorter than this is refused. Source: numbers, "Budgets"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a model costs, in micro-dollars per million tokens."""

    input: int
    output: int
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0

    @property
    def highest_input(self) -> int:
        """The most that a token of the prompt can cost, whatever becomes of the cache."""
        return max(self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h)


def task_limit(task_type: str | None) -> int:
    """The default budget of a task; an unknown type counts as `other`."""
    return TASK.get(task_type or "other", TASK["other"])


def worst_case(rates: Rates, *, input_tokens: int, max_tokens: int) -> int:
    """The most that a call can cost, rounded up: each prompt token at the highest input price, the longest answer."""
    if input_tokens < 0 or max_tokens < 0:
        raise ValueError("token counts are not negative")
    return _ceil(input_tokens * rates.highest_input + max_tokens * rates.output)


def affordable_tokens(rates: Rates, *, input_tokens: int, max_tokens: int, left: int) -> int | None:
    """The longest answer, up to `max_tokens`, whose worst case is at most `left`; None where it is not worth asking.

    Lowered answers are at least `LEAST_MAX_TOKENS`; a call that wanted less from the start may have its wish.
    """
    if worst_case(rates, input_tokens=input_tokens, max_tokens=max_tokens) <= left:
        return max_tokens
    room = left * PER_MILLION - input_tokens * rates.highest_input
    fits = room // rates.output if rates.output and room > 0 else 0
    return min(fits, max_tokens) if fits >= LEAST_MAX_TOKENS else None


def zone(name: str) -> tzinfo:
    """A time zone by its IANA name.

    Raises UsageError where there is none of that name.
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


def _ceil(micro_millionths: int) -> int:
    return -(-micro_millionths // PER_MILLION)
