"""Identifiers: sortable by time, short enough to type, with a prefix that says what they name."""

import os
import time
from collections import deque

from cuid2 import Cuid

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in ALPHABET for b in ALPHABET]
_cuid = Cuid(length=24)
_chances: "deque[bytes]" = deque()
"""Randomness that was fetched ahead, since to ask the system for it costs more than the rest of an id."""
os.register_at_fork(after_in_child=_chances.clear)
_CHANCES = 512
RANDOM = (1 << 35) - 1


def _nine(value: int) -> str:
    """45 bits as nine characters."""
    p = _PAIRS
    head = p[value >> 35 & 1023] + p[value >> 25 & 1023] + p[value >> 15 & 1023]
    return head + p[value >> 5 & 1023] + ALPHABET[value & 31]


def _chance() -> int:
    try:
        drawn = _chances.popleft()
    except IndexError:
        fetched = os.urandom(6 * _CHANCES)
        _chances.extend(fetched[at : at + 6] for at in range(6, len(fetched), 6))
        drawn = fetched[:6]
    return int.from_bytes(drawn, "big")


def new_id(prefix: str) -> str:
    """A new id such as `run_06f3k2m9qz4tb8w1c`: eleven characters of microseconds, seven of randomness."""
    micros = time.time_ns() // 1_000
    return f"{prefix}_{_nine(micros // 1_000)}{_nine(micros % 1_000 << 35 | _chance() & RANDOM)}"


def new_agent_id() -> str:
    """A cuid2, the id of an agent.

    Source: row E1.
    """
    return _cuid.generate()
