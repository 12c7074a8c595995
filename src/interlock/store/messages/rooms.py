"""The workspace chat as rows: channels, members, messages, reactions.

Which agents see a message, and in which order they answer, is in `rounds`; authorisation is up to the desk.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict, NotFound
from interlock.core.ids import new_id
from interlock.policy.audience import AGENT, DM, PERSON, Participant
from interlock.store.identities.people import PEOPLE
from interlock.store.messages import feed
from interlock.store.schema import Channel, ChannelMember, ChatMessage, ChatReaction, table
from interlock.store.tx import Ask, Tx

OPEN, PRIVATE = "channel", "private"
CHANNELS, MEMBERS, MESSAGES, REACTIONS = (
    table(Channel), table(ChannelMember), table(ChatMessage), table(ChatReaction),
)  # fmt: skip
_c, _m, _s, _r = CHANNELS.c, MEMBERS.c, MESSAGES.c, REACTIONS.c
_TIME = UTCDateTime()

_CHANNEL = sa.select(CHANNELS).where(_c.id == b("channel"))
_BY_KEY = sa.select(CHANNELS).where(_c.project_id == b("project"), _c.key == b("key"))
_OF_PROJECT = sa.select(CHANNELS).where(_c.project_id == b("project")).order_by(_c.name, _c.id)
_LOCK = sa.update(CHANNELS).where(_c.id == b("channel")).values(last_seq=_c.last_seq)
_NEXT = sa.update(CHANNELS).where(_c.id == b("channel")).values(last_seq=_c.last_seq + 1)
_ARCHIVE = sa.update(CHANNELS).where(_c.id == b("channel")).values(archived_at=b("at", type_=_TIME))
_MEMBERS = sa.select(_m.channel_id, _m.kind, _m.who, _m.joined_at).order_by(_m.joined_at, _m.kind.desc(), _m.who)
_MEMBERS_OF = _MEMBERS.where(_m.channel_id == b("channel"))
_IS_MEMBER = sa.select(_m.who).where(_m.channel_id == b("channel"), _m.kind == b("sort"), _m.who == b("name"))
_CHANNELS_OF = (
    sa.select(CHANNELS)
    .join_from(CHANNELS, MEMBERS, _m.channel_id == _c.id)
    .where(_c.project_id == b("project"), _m.kind == b("sort"), _m.who == b("name"), _c.archived_at.is_(None))
    .order_by(_c.name, _c.id)
)
_LEAVE = sa.delete(MEMBERS).where(_m.channel_id == b("channel"), _m.kind == b("sort"), _m.who == b("name"))
_NAME = sa.func.coalesce(PEOPLE.c.name, _s.author).label("name")
_SAID = sa.select(MESSAGES, _NAME).join_from(
    MESSAGES, PEOPLE, sa.and_(_s.author_kind == sa.text(f"'{PERSON}'"), PEOPLE.c.id == _s.author), isouter=True
)
_MESSAGE = _SAID.where(_s.id == b("message"))
_BY_IDEMPOTENCY = _SAID.where(_s.idempotency_key == b("key"))
_BEFORE = _s.seq < b("before", type_=sa.BigInteger())
_LATEST = (
    _SAID.where(_s.channel_id == b("channel"), _s.parent_id.is_(None), _BEFORE).order_by(_s.seq.desc()).limit(b("most"))
)
_REPLIES = _SAID.where(_s.parent_id == b("root"), _BEFORE).order_by(_s.seq.desc()).limit(b("most"))
_REPLY_COUNTS = sa.select(
    _s.parent_id, sa.func.count().label("n"), sa.func.max(_s.created_at).label("last_at")
).group_by(_s.parent_id)
_PARTICIPANTS = (
    sa.select(_s.author_kind, _s.author)
    .where(sa.or_(_s.id == b("root"), _s.parent_id == b("root")))
    .group_by(_s.author_kind, _s.author)
)
_RECENT = (
    sa.select(_s.author_kind, _s.author, _s.created_at)
    .where(_s.channel_id == b("channel"))
    .order_by(_s.seq.desc())
    .limit(b("most"))
)
_EDIT = (
    sa.update(MESSAGES).where(_s.id == b("message")).values(text=b("words"), edited_at=b("now", type_=_TIME))
)  # fmt: skip
_UNREACT = sa.delete(REACTIONS).where(
    _r.message_id == b("message"), _r.author_kind == b("sort"), _r.author == b("name"), _r.emoji == b("sign")
)
_REACTED = sa.select(_r.emoji).where(
    _r.message_id == b("message"), _r.author_kind == b("sort"), _r.author == b("name"), _r.emoji == b("sign")
)
LAST = 2**62
"""Greater than every `seq`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A message to be posted; idempotent by `key`."""

    channel_id: str
    author: Participant
    text: str
    key: str
    parent_id: str | None = None
    """The root of its thread."""
    run_id: str | None = None
    depth: int = 0
    labels: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: new_id("chm"))


def create(
    tx: Tx, ident: str, *, project_id: str, kind: str, key: str, name: str, topic: str, by: Participant, now: datetime
) -> Any:
    """The row of a new channel.

    Raises Conflict if there is one of that key.
    """
    tx.add_new(
        Channel, id=ident, project_id=project_id, kind=kind, key=key, name=name, topic=topic,
        created_by=f"{by.kind}:{by.name}", created_at=now,
    )  # fmt: skip
    found: Any = by_key(tx, project_id, key)
    if found is None or found.id != ident:
        raise Conflict(f"there is a channel `{name}` already: choose another name")
    return found


def channel(tx: Tx, channel_id: str) -> Any | None:
    """One channel."""
    return tx.one(_CHANNEL, {"channel": channel_id})


def by_key(tx: Tx, project_id: str, key: str) -> Any | None:
    """The channel of a project with a key."""
    return tx.one(_BY_KEY, {"project": project_id, "key": key})


def dm_key(one: Participant, other: Participant) -> str:
    """The key of a direct conversation of two. Channel names contain no colon."""
    return "dm:" + ",".join(sorted(f"{who.kind}:{who.name}" for who in (one, other)))


def channels(tx: Tx, project_id: str) -> list[Any]:
    """All channels of a project by name, private and archived ones too."""
    return tx.rows(_OF_PROJECT, {"project": project_id})


def channels_of(tx: Tx, project_id: str, who: Participant) -> list[Any]:
    """The channels of a project that somebody is a member of, without archived ones."""
    return tx.rows(_CHANNELS_OF, {"project": project_id, "sort": who.kind, "name": who.name})


def lock(tx: Tx, channel_id: str) -> None:
    """Serialises posting in a channel, and ending turns, until the end of this transaction."""
    tx.run(_LOCK, {"channel": channel_id})


def archive(tx: Tx, channel_id: str, at: datetime | None) -> None:
    """Archives a channel, or with None reopens it."""
    tx.run(_ARCHIVE, {"channel": channel_id, "at": at})


def join(tx: Tx, channel_id: str, who: Participant, now: datetime) -> bool:
    """Adds a member; False if they are one already."""
    is_new = not is_member(tx, channel_id, who)
    tx.add_new(ChannelMember, channel_id=channel_id, kind=who.kind, who=who.name, joined_at=now)
    return is_new


def leave(tx: Tx, channel_id: str, who: Participant) -> bool:
    """Removes a member; False if they are not one."""
    return tx.count(_LEAVE, {"channel": channel_id, "sort": who.kind, "name": who.name}) == 1


def is_member(tx: Tx, channel_id: str, who: Participant) -> bool:
    """Whether somebody is a member of a channel."""
    return tx.one(_IS_MEMBER, {"channel": channel_id, "sort": who.kind, "name": who.name}) is not None


def members(tx: Tx, channel_id: str) -> list[Participant]:
    """The members of a channel in the order of joining; people before agents who joined at the same time."""
    return [Participant(row.kind, row.who) for row in tx.rows(_MEMBERS_OF, {"channel": channel_id})]


def members_by_channel(tx: Tx, channel_ids: Sequence[str]) -> dict[str, list[Participant]]:
    """The same for several channels."""
    found: dict[str, list[Participant]] = {ident: [] for ident in channel_ids}
    for row in tx.rows(_MEMBERS.where(_m.channel_id.in_(list(channel_ids)))):
        found[row.channel_id].append(Participant(row.kind, row.who))
    return found


def add(tx: Tx, words: Words, now: datetime) -> tuple[Any, bool]:
    """Posts a message; returns its row, with the author's `name`, and whether it is new. Locks the channel.

    Adds an event to the feed. Raises NotFound if there is no such channel.
    """
    tx.run(_NEXT, {"channel": words.channel_id})
    place = channel(tx, words.channel_id)
    if place is None:
        raise NotFound("channel", words.channel_id, "channel list")
    if found := tx.one(_BY_IDEMPOTENCY, {"key": words.key}):
        return found, False
    tx.add(
        ChatMessage, id=words.id, seq=place.last_seq, channel_id=place.id, parent_id=words.parent_id,
        author_kind=words.author.kind, author=words.author.name, text=words.text, run_id=words.run_id,
        depth=words.depth, labels=sorted(words.labels), idempotency_key=words.key, created_at=now,
    )  # fmt: skip
    row: Any = message(tx, words.id)
    _tell(tx, "message_created", place, row, now)
    return row, True


def _tell(tx: Tx, what: str, place: Any, row: Any, now: datetime, **more: Any) -> None:
    payload = {**event_payload(row), **more}
    hidden = None if place.kind == OPEN else place.id
    feed.append(tx, what, now, project_id=place.project_id, payload=payload, channel_id=hidden)


def event_payload(row: Any) -> dict[str, Any]:
    """A message as the payload of a feed event."""
    return {
        "id": row.id, "channel_id": row.channel_id, "parent_id": row.parent_id, "seq": row.seq,
        "author_kind": row.author_kind, "author": row.author, "name": row.name, "text": row.text,
        "run_id": row.run_id, "created_at": row.created_at.isoformat(),
        "edited_at": row.edited_at.isoformat() if row.edited_at else None,
    }  # fmt: skip


def by_idempotency_key(tx: Tx, key: str) -> Any | None:
    """The message with an idempotency key."""
    return tx.one(_BY_IDEMPOTENCY, {"key": key})


def message(tx: Tx, message_id: str) -> Any | None:
    """One message, with the `name` of its author."""
    return tx.one(_MESSAGE, {"message": message_id})


def edit(tx: Tx, message_id: str, text: str, now: datetime) -> Any:
    """Edits a message; returns its row. An edit gives nobody a turn."""
    tx.run(_EDIT, {"message": message_id, "words": text, "now": now})
    row: Any = message(tx, message_id)
    _tell(tx, "message_updated", channel(tx, row.channel_id), row, now)
    return row


def latest(tx: Tx, channel_id: str, most: int, before: int = LAST) -> list[Any]:
    """The last messages of a channel before a `seq`, in order, without replies in threads."""
    return tx.rows(_LATEST, {"channel": channel_id, "before": before, "most": most})[::-1]


def thread(tx: Tx, root_id: str, most: int, before: int = LAST) -> list[Any]:
    """The last replies of a thread before a `seq`, in order; with its root, if no earlier replies are left out."""
    replies = tx.rows(_REPLIES, {"root": root_id, "before": before, "most": most})[::-1]
    root = message(tx, root_id)
    return [root, *replies] if root is not None and (before == LAST or len(replies) < most) else replies


def context(tx: Tx, channel_id: str, parent_id: str | None, most: int) -> list[Any]:
    """The context for an agent's turn: the last messages of a channel, or a thread's root and last replies.

    Rows in order, with `author_kind`, `author`, `name`, `text`, `created_at` and `labels`. Source: numbers, "Chat".
    """
    return latest(tx, channel_id, most) if parent_id is None else thread(tx, parent_id, most)


def context_asks(channel_id: str, parent_id: str | None, most: int) -> tuple[Ask, ...]:
    """The selects behind `context`, to be batched with others; their rows come newest first, the root last."""
    if parent_id is None:
        return ((_LATEST, {"channel": channel_id, "before": LAST, "most": most}),)
    return (_REPLIES, {"root": parent_id, "before": LAST, "most": most}), (_MESSAGE, {"message": parent_id})


def participants(tx: Tx, root_id: str) -> list[Participant]:
    """The authors of a thread's messages, its root included."""
    return [Participant(row.author_kind, row.author) for row in tx.rows(_PARTICIPANTS, {"root": root_id})]


def reply_counts(tx: Tx, message_ids: Sequence[str]) -> dict[str, int]:
    """The number of replies of each message that has any."""
    rows = tx.rows(_REPLY_COUNTS.where(_s.parent_id.in_(list(message_ids)))) if message_ids else []
    return {row.parent_id: int(row.n) for row in rows}


def count_recent(tx: Tx, channel_id: str, who: Participant, since: datetime, most: int) -> int:
    """How many of the last `most` messages of a channel are by somebody and were posted since a time."""
    rows = tx.rows(_RECENT, {"channel": channel_id, "most": most})
    return sum(Participant(row.author_kind, row.author) == who and row.created_at > since for row in rows)


def react(tx: Tx, message_id: str, who: Participant, emoji: str, now: datetime, *, on: bool = True) -> bool:
    """Adds somebody's reaction to a message, or with `on` False removes it; returns whether that changed anything."""
    row, params = message(tx, message_id), {"message": message_id, "sort": who.kind, "name": who.name, "sign": emoji}
    if row is None or (tx.one(_REACTED, params) is not None) == on:
        return False
    place = channel(tx, row.channel_id)
    if on:
        tx.add_new(
            ChatReaction, message_id=message_id, author_kind=who.kind, author=who.name, emoji=emoji, created_at=now
        )
    else:
        tx.run(_UNREACT, params)
    signs = {"reactions": reactions(tx, [message_id]).get(message_id, [])}
    if not on:
        _tell(tx, "message_updated", place, row, now, **signs)
        return True
    given = {"message_id": message_id, "author_kind": who.kind, "author": who.name, "emoji": emoji}
    feed.append(
        tx, "reaction_added", now, project_id=place.project_id if place else "", payload={
            **given, "channel_id": row.channel_id, **signs,
        }, channel_id=None if place is not None and place.kind == OPEN else row.channel_id,
    )  # fmt: skip
    return True


def reactions(tx: Tx, message_ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The reactions by message: each emoji with its authors, `{emoji, by: [{kind, who}]}`, in order of first use."""
    wanted = list(message_ids)
    found: dict[str, dict[str, list[dict[str, str]]]] = {}
    query = sa.select(REACTIONS).where(_r.message_id.in_(wanted)).order_by(_r.created_at, _r.author, _r.emoji)
    for row in tx.rows(query) if wanted else []:
        signs = found.setdefault(row.message_id, {}).setdefault(row.emoji, [])
        signs.append({"kind": row.author_kind, "who": row.author})
    return {ident: [{"emoji": sign, "by": by} for sign, by in signs.items()] for ident, signs in found.items()}


__all__ = ["AGENT", "DM", "OPEN", "PERSON", "PRIVATE", "Participant", "Words"]
