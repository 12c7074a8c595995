"""Scores memories for a query: by word match, importance, age and decay.

Pure numbers, the same on both databases; memories are read by the store. Source: row H4.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

DAY = timedelta(days=1)
USUAL_LENGTH = 20
"""The average length of a memory, in words."""
_LENGTH_COUNTS = 0.5
_HALF_FITS = 960.0
"""The weight of words at which the match is one half: a little more than one word that no other memory has."""
_HALF_LIFE_DAYS = 30.0
_FITS, _MATTERS, _IS_NEW = 0.6, 0.25, 0.15
_FADES = 0.5
"""The fraction of its score that a memory loses when it has fully decayed."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Decay parameters: what is left after a day without use, the threshold of forgetting, and facts that are exempt.

    Source: numbers, "Memory".
    """

    daily: float = 0.9
    remove_below: float = 0.05
    keep_importance: float = 0.9


def score(weight: int, length: int, importance: float, decay: float, age: timedelta) -> float:
    """The rank of a memory, 0 to 1, greater being better.

    `weight` is that of the words that it shares with the query, 0 if it shares none; `length` its number of words.
    """
    worth = _FITS * fit(weight, length) + _MATTERS * _share(importance) + _IS_NEW * _newness(age)
    return round(worth * (1.0 - _FADES + _FADES * _share(decay)), 6)


def fit(weight: int, length: int) -> float:
    """How well a memory's words match a query, 0 to 1; the same words weigh less in a long text."""
    if weight <= 0:
        return 0.0
    normal = weight / (1.0 - _LENGTH_COUNTS + _LENGTH_COUNTS * max(length, 1) / USUAL_LENGTH)
    return normal / (normal + _HALF_FITS)


def faded(decay: float, decayed_at: datetime, now: datetime, pace: Pace) -> tuple[float, datetime] | None:
    """The decay after whole days without use, and the time up to which it is computed; None within a day.

    A clock that is set back removes nothing, and adds nothing that is removed again once it is right.
    """
    days = (now - decayed_at) // DAY
    return (decay * pace.daily**days, decayed_at + days * DAY) if days > 0 else None


def is_gone(decay: float, kind: str, importance: float, pace: Pace) -> bool:
    """Whether a memory is to be forgotten; the most important facts never are."""
    return decay < pace.remove_below and not (kind == "fact" and importance >= pace.keep_importance)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _newness(age: timedelta) -> float:
    days = max(age / DAY, 0.0)
    return float(2.0 ** -(days / _HALF_LIFE_DAYS))
