"""Identifiers: sortable by time, short enough to type, with a prefix that says what they name."""

import secrets
import time

from cuid2 import Cuid

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_cuid = Cuid(length=24)


def _base32(value: int, width: int) -> str:
    out = []
    for _ in range(width):
        out.append(ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(out))


def new_id(prefix: str) -> str:
    """A new id such as `run_06f3k2m9qz4tb8w1c`: nine characters of milliseconds, nine of randomness."""
    return f"{prefix}_{_base32(time.time_ns() // 1_000_000, 9)}{_base32(secrets.randbits(45), 9)}"


def new_agent_id() -> str:
    """A cuid2, the id of an agent.

    Source: row E1.
    """
    return _cuid.generate()
