"""Formats values for chats: texts without secrets and deceptive characters, money, times, lists."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from interlock.core.text import visible
from interlock.policy.secrets import scrub
from interlock.store import squad

LONGEST_LINE = 160
MOST_LINES = 20


def words(text: object) -> str:
    """A text for display: secrets masked, invisible characters made visible, otherwise complete."""
    return visible(scrub(str(text)))


def line(text: object, most: int = LONGEST_LINE) -> str:
    """A text on one line of at most `most` characters."""
    whole = visible(scrub(str(text)), one_line=True)
    return whole if len(whole) <= most else f"{whole[: most - 1].rstrip()}…"


def excerpt(text: object, most: int, where: str) -> str:
    """A text, or its first `most` characters with the number of missing ones and `where` to read them."""
    whole = words(text)
    return whole if len(whole) <= most else f"{whole[:most]}…\n({len(whole) - most:,} more characters: {where})"


def listed(lines: Sequence[str], *, most: int = MOST_LINES, empty: str = "") -> str:
    """The first lines, and the number of further ones."""
    if not lines:
        return empty
    more = [f"and {len(lines) - most:,} more"] if len(lines) > most else []
    return "\n".join([*lines[:most], *more])


def dollars(amount_usd: float | None) -> str:
    """`$1.20`, `$0.0042`; a dash if there is no amount."""
    if amount_usd is None:
        return "–"
    return f"${amount_usd:,.2f}" if amount_usd == 0 or abs(amount_usd) >= 1 else f"${amount_usd:.4f}"


def moment(at: datetime) -> str:
    """A time in a format that is clear to everybody."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def quarantine_reason(member: Any) -> str | None:
    """Why a member is not active, in words; None if no reason was given."""
    found = squad.budget_pause(member)
    if found is None:
        return str(member.state_reason) if member.state_reason else None
    return f"its money of the day is used up: it goes on at midnight, or after `interlock budget raise {found[0]} USD`"


def counted(by_state: dict[str, int]) -> str:
    """`2 DONE, 1 IN_PROGRESS`; `none` if empty."""
    return ", ".join(f"{n} {state}" for state, n in sorted(by_state.items()) if n) or "none"
