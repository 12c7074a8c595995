"""Identifiers: sortable by time, short enough to type, with a prefix that says what they name."""

import os
import time
from collections import deque

from cuid2 import Cuid

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in ALPHABET for b in ALPHABET]
_cuid = Cuid(length=24)
_SPELT = (ALPHABET * 8).encode()
"""Each random byte as a character, all of them as often."""
_chances: "deque[str]" = deque()
"""Randomness that was fetched ahead, since to ask the system for it costs more than the rest of an id."""
os.register_at_fork(after_in_child=_chances.clear)
_CHANCES = 512


def _chance() -> str:
    """Seven random characters."""
    try:
        return _chances.popleft()
    except IndexError:
        fetched = os.urandom(7 * _CHANCES).translate(_SPELT).decode()
        _chances.extend(fetched[at : at + 7] for at in range(7, len(fetched), 7))
        return fetched[:7]


def new_id(prefix: str) -> str:
    """A new id such as `run_06f3k2m9qz4tb8w1c`: eleven characters of microseconds, seven of randomness."""
    millis, micros = divmod(time.time_ns() // 1_000, 1_000)
    p = _PAIRS
    head = p[millis >> 35 & 1023] + p[millis >> 25 & 1023] + p[millis >> 15 & 1023] + p[millis >> 5 & 1023]
    return f"{prefix}_{head}{ALPHABET[millis & 31]}{p[micros]}{_chance()}"


def new_agent_id() -> str:
    """A cuid2, the id of an agent.

    Source: row E1.
    """
    return _cuid.generate()
