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


def highest(risks: Iterable[str]) -> Risk:
    """The highest of some risks, GREEN if there are none; an unknown one counts as RED."""
    return max((Risk.__members__.get(each, Risk.RED) for each in risks), default=Risk.GREEN)


def needs_person(risk: str, trust: str) -> bool:
    """Whether a deliverable waits for a person; the policy approves all others. Source: row B2."""
    return MATRIX[Risk(risk)][Trust(trust)] is not Effect.ALLOW
