"""When a failed model call is tried again, as a pure rule; the loop and its reservations belong to the runner."""

import re
from dataclasses import dataclass

from interlock.llm.messages import ModelError, ModelFault


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently. `max_attempts` counts the first call too.

    A provider that wants more than `patience_s` to pass is not waited for on the spot: whoever calls does something
    else meanwhile.
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

    `jitter` between 0 and 1 comes from the caller. A provider's own wish is honoured in full, plus up to a tenth so
    that many callers don't come back at once; else the wait doubles with each attempt and its upper half is random.

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
    """Whether a request was refused for its length: the same conversation may be taken once it is shorter."""
    if error.fault is not ModelFault.INVALID:
        return False
    return error.status == TOO_LARGE or _TOO_LONG.search(error.detail) is not None
