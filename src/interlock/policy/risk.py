"""Risk, trust and effect, and the matrix that combines them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any


class Risk(StrEnum):
    """The harm that a call can do: GREEN < YELLOW < RED. Source: row C1."""

    GREEN = "GREEN"
    """Reversible, low impact."""
    YELLOW = "YELLOW"
    """Potentially harmful."""
    RED = "RED"
    """External impact, or irreversible."""

    @property
    def level(self) -> int:
        """0, 1 or 2."""
        return _LEVELS[self]

    def __lt__(self, other: Any) -> bool:
        return self.level < other.level if isinstance(other, Risk) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.level <= other.level if isinstance(other, Risk) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.level > other.level if isinstance(other, Risk) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.level >= other.level if isinstance(other, Risk) else NotImplemented


_LEVELS = {Risk.GREEN: 0, Risk.YELLOW: 1, Risk.RED: 2}


class Trust(StrEnum):
    """How far a persona is trusted."""

    INTERN = "intern"
    SPECIALIST = "specialist"
    LEAD = "lead"


class Effect(StrEnum):
    """The decision about a call."""

    ALLOW = "allow"
    HOLD = "hold"
    """It waits for a person."""
    DENY = "deny"
    """It never runs; nobody is asked."""


MATRIX: Mapping[Risk, Mapping[Trust, Effect]] = {
    Risk.GREEN: dict.fromkeys(Trust, Effect.ALLOW),
    Risk.YELLOW: {Trust.INTERN: Effect.HOLD, Trust.SPECIALIST: Effect.ALLOW, Trust.LEAD: Effect.ALLOW},
    Risk.RED: dict.fromkeys(Trust, Effect.HOLD),
}
"""INVARIANT: RED is held for everyone. Source: numbers, "Risk and trust"."""


def review_risk(profile: Risk, calls: Iterable[Risk]) -> Risk:
    """The risk of a deliverable: the persona's profile, or the highest of the calls executed for it.

    Source: decisions, "Review".
    """
    return max((profile, *calls), key=_LEVELS.__getitem__)


def review_effect(profile: Risk, calls: Iterable[Risk], trust: Trust) -> Effect:
    """Whether a deliverable is approved by the policy (ALLOW) or waits for a person (HOLD). Source: row B2."""
    return MATRIX[review_risk(profile, calls)][trust]
