"""The audience of messages in the workspace chat, and mentions in texts. Pure.

Turns are scheduled in `store.messages.rounds`.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

PERSON, AGENT = "person", "agent"
DM = "dm"
_ALONE = ("D", "U", "W", "direct")
"""How the ids of what one person alone reads begin in Slack."""
_MENTION = re.compile(r"(?<![\w@.+-])@(\w(?:[\w.-]*\w)?)")


class Participant(NamedTuple):
    """A participant: `kind` is person (`name` is their id) or agent (`name` is a persona)."""

    kind: str
    name: str


def listeners(
    author: Participant,
    members: Sequence[Participant],
    *,
    kind: str,
    thread: Sequence[Participant] | None = None,
    named: Collection[Participant] = (),
) -> tuple[Participant, ...]:
    """The audience of a message: those mentioned first, then in the order of `members`.

    In a channel, its members; in a direct conversation, the other member; in a thread, its authors so far (`thread`)
    and those mentioned.

    INVARIANT: never the author, and nobody who is not a member. Source: row E16.
    """
    heard = set(members) if thread is None or kind == DM else {*thread, *named}
    there = [who for who in dict.fromkeys(members) if who in heard and who != author]
    return tuple(sorted(there, key=lambda who: who not in named))


def agents_of(
    heard: Iterable[Participant], *, depth: int, chain_depth: int, turns: Collection[str] = ()
) -> tuple[str, ...]:
    """The personas in the audience that get a turn.

    A person's message (`depth` 0) gives each of them one. An agent's message does while the chain since a person's
    message is shorter than `chain_depth`; personas with a pending turn there (`turns`) see it then.
    """
    personas = tuple(who.name for who in heard if who.kind == AGENT)
    if depth == 0:
        return personas
    if depth >= chain_depth:
        return ()
    return tuple(name for name in personas if name not in turns)


def mentions(text: str) -> tuple[str, ...]:
    """The names mentioned with `@`, in lower case, each once; e-mail addresses are not mentions."""
    return tuple(dict.fromkeys(name.lower() for name in _MENTION.findall(text)))


def is_overheard(connector: str, channel: str) -> bool:
    """Whether others can read a chat with an agent in a connector: in a Slack channel or a Telegram group."""
    if connector == "slack":
        return not channel.startswith(_ALONE)
    return connector == "telegram" and channel.startswith("-")


def handles(name: str) -> frozenset[str]:
    """The one-word handles for a name."""
    parts = name.lower().split()
    return frozenset(sign.join(parts) for sign in ("", "-", "_", ".")) - {""}
