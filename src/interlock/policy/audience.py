"""Who is to hear what is said in the workspace chat, and whom a text names. Pure.

How they hear of it, and one after another, is the store's `rounds`.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

PERSON, AGENT = "person", "agent"
DM = "dm"
_ALONE = ("D", "U", "W", "direct")
"""How the ids of what one person alone reads begin in Slack."""
_MENTION = re.compile(r"(?<![\w@.+-])@(\w(?:[\w.-]*\w)?)")


class Who(NamedTuple):
    """Somebody who talks: `kind` is person (`name` is their id) or agent (`name` is a persona)."""

    kind: str
    name: str


def listeners(
    author: Who,
    members: Sequence[Who],
    *,
    kind: str,
    thread: Sequence[Who] | None = None,
    named: Collection[Who] = (),
) -> tuple[Who, ...]:
    """Who hears a message: those named first, then in the order of `members`.

    Of a channel, open or private, its members; of a direct conversation, the other one; of a thread, of which `thread`
    are the authors so far, these and those named.

    INVARIANT: never the author, and nobody who is not a member. Source: row E16.
    """
    heard = set(members) if thread is None or kind == DM else {*thread, *named}
    there = [who for who in dict.fromkeys(members) if who in heard and who != author]
    return tuple(sorted(there, key=lambda who: who not in named))


def agents_of(heard: Iterable[Who], *, depth: int, chain_depth: int, turns: Collection[str] = ()) -> tuple[str, ...]:
    """The personas among those who hear a message that it gives a turn.

    A person's words (`depth` 0) give all of them one. An agent's do as long as fewer than `chain_depth` agents stand
    between them and a person; who has a turn to come there anyhow, in `turns`, sees them then.
    """
    personas = tuple(who.name for who in heard if who.kind == AGENT)
    if depth == 0:
        return personas
    if depth >= chain_depth:
        return ()
    return tuple(name for name in personas if name not in turns)


def mentions(text: str) -> tuple[str, ...]:
    """The names that a text calls with an `@`, in small letters, each once; addresses of e-mail are none."""
    return tuple(dict.fromkeys(name.lower() for name in _MENTION.findall(text)))


def is_overheard(connector: str, channel: str) -> bool:
    """Whether others hear what somebody says to an agent in a connector: in a channel of Slack, a group of Telegram."""
    if connector == "slack":
        return not channel.startswith(_ALONE)
    return connector == "telegram" and channel.startswith("-")


def handles(name: str) -> frozenset[str]:
    """How somebody of this name can be called in one word."""
    parts = name.lower().split()
    return frozenset(sign.join(parts) for sign in ("", "-", "_", ".")) - {""}
