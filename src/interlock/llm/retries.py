"""Decides whether and when a failed model call is retried; pure. The loop and its reservations are the runner's job."""

import re
from dataclasses import dataclass

from interlock.llm.messages import ModelError, ModelFault


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and with which waits, a call is retried. `max_attempts` includes the first call.

    If a provider asks for a longer wait than `patience_s`, the call is not retried in place: the run continues later.
    """

    max_attempts: int = 4
    base_s: float = 1.0
    cap_s: float = 30.0
    patience_s: float = 60.0


DEFAULT_POLICY = RetryPolicy()
TOO_LARGE = 413
_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size|limit)|maximum.{0,10}context|too many (input )?tokens"
    r"|(prompt|input|request|messages?).{0,40}too (long|large)|reduce (the|your).{0,20}(length|prompt|messages)"
    r"|exceeds? the.{0,20}number of tokens",
    re.IGNORECASE,
)


def delay_s(attempt: int, error: ModelError, *, jitter: float, policy: RetryPolicy = DEFAULT_POLICY) -> float | None:
    """Seconds to wait after the failed `attempt` (the first is 1), or None to give up.

    The caller provides `jitter`, between 0 and 1. A provider's Retry-After is respected, plus up to a tenth, so that
    callers do not all return at once; otherwise the wait doubles with each attempt, and its upper half is random.

    Source: row F7.
    """
    if not error.retryable or attempt >= policy.max_attempts:
        return None
    if error.retry_after_s is not None:
        wish_s = max(error.retry_after_s, 0.0)
        return None if wish_s > policy.patience_s else wish_s * (1 + jitter / 10)
    full = min(policy.base_s * 2.0 ** (attempt - 1), policy.cap_s)
    return full / 2 + full / 2 * jitter


def is_too_long(error: ModelError) -> bool:
    """Whether a request was rejected for its length, so that a shorter conversation may be accepted."""
    if error.fault is not ModelFault.INVALID:
        return False
    return error.status == TOO_LARGE or _TOO_LONG.search(error.detail) is not None
