"""Small values that several layers share: money, canonical JSON, digests, actors."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Any, Literal

from interlock.core.json_text import writer

MICRO = 1_000_000
TaskType = Literal["content", "social", "email", "research", "seo", "engineering", "docs", "ops", "other"]
"""What kind of work a task is."""
OPEN_RUNS = ("created", "running", "waiting")
ENDED_RUNS = ("completed", "failed", "cancelled")
"""The states of a run before its end and after it; there are no others. Source: row E3."""
_canonical = writer(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def microusd(usd: float | str | Decimal) -> int:
    """Dollars as whole micro-dollars, rounded up so that a price is never understated."""
    return int((Decimal(str(usd)) * MICRO).to_integral_value(rounding=ROUND_CEILING))


def usd(amount_microusd: int) -> str:
    """Micro-dollars for people: `$0.0123`, with as many decimals as the size deserves."""
    value = amount_microusd / MICRO
    return f"${value:,.2f}" if abs(value) >= 1 or value == 0 else f"${value:.4f}"


def canonical_json(value: Any) -> str:
    """A JSON value in canonical form: sorted keys, no spaces, no NaN.

    Raises ValueError for NaN and infinities, TypeError for anything that is not JSON.
    """
    return _canonical(value)


def digest(value: Any) -> str:
    """SHA-256 in hex of bytes, text, or the canonical JSON of anything else."""
    if isinstance(value, bytes):
        data = value
    else:
        data = (value if isinstance(value, str) else canonical_json(value)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


class ActorKind(StrEnum):
    """Who acts. Source: decisions, "Actors"."""

    HUMAN = "human"
    SYSTEM = "system"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, as established by authentication or by the run, never by an argument of the caller.

    INVARIANT: only surfaces that authenticated a person build one of kind HUMAN.
    """

    kind: ActorKind
    id: str
    """A person's id, `system:<part>`, or an agent's id."""
    persona: str | None = None
    """Of an agent: its persona."""


SYSTEM = Actor(ActorKind.SYSTEM, "system:interlock")


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """One dict of all, later ones winning."""
    out: dict[str, Any] = {}
    for part in parts:
        out.update(part)
    return out
