"""Views of channels and messages, and who may see them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interlock.core.errors import NotFound, UsageError
from interlock.desk.context import Person
from interlock.desk.reading.finding import Unknown
from interlock.desk.reading.views import View, view
from interlock.policy.audience import PERSON, Participant
from interlock.store.identities import people
from interlock.store.messages import rooms
from interlock.store.messages.rooms import OPEN
from interlock.store.tx import Tx

LONGEST_ID = 100
"""No id has more characters."""


def participant(person: Person) -> Participant:
    """A person as a participant in a channel."""
    return Participant(PERSON, person.id)


def may_see(tx: Tx, person_id: str, channel_id: str) -> bool:
    """Whether a person may read a channel: an open one, or one that they are a member of."""
    row = rooms.channel(tx, channel_id)
    return row is not None and (row.kind == OPEN or rooms.is_member(tx, row.id, Participant(PERSON, person_id)))


def readable(tx: Tx, person: Person, channel_id: str) -> Any:
    """The row of a channel. Raises Unknown if it does not exist, or the person may not see it."""
    row = rooms.channel(tx, channel_id)
    if row is None or not may_see(tx, person.id, channel_id):
        raise Unknown("channel", channel_id, (), "channel list")
    return row


def names_of(tx: Tx, inside: Iterable[Participant]) -> dict[str, str]:
    """What those of them are called who are people."""
    return people.names(tx, [who.name for who in inside if who.kind == PERSON])


def view_of(row: Any, person: Person, inside: Sequence[Participant], names: Mapping[str, str]) -> View:
    """A channel with its members."""
    members = [{"kind": who.kind, "who": who.name, "name": names.get(who.name, who.name)} for who in inside]
    return view(
        row, "id", "name", "kind", "topic", "project_id", "created_at", "archived_at",
        members=members, is_member=participant(person) in inside, messages=row.last_seq,
    )  # fmt: skip


def one(tx: Tx, person: Person, channel_id: str) -> View:
    """One channel as this person may see it. Raises Unknown."""
    row = readable(tx, person, channel_id)
    inside = rooms.members(tx, row.id)
    return view_of(row, person, inside, names_of(tx, inside))


def messages(tx: Tx, rows: Sequence[Any]) -> list[View]:
    """Messages with their reactions and numbers of replies."""
    ids = [row.id for row in rows]
    signs, replies = rooms.reactions(tx, ids), rooms.reply_counts(tx, ids)
    return [
        view(
            row, "id", "channel_id", "parent_id", "seq", "author_kind", "author", "name", "text", "run_id",
            "created_at", "edited_at", reactions=signs.get(row.id, []), replies=replies.get(row.id, 0),
        )
        for row in rows
    ]  # fmt: skip


def root_of(tx: Tx, channel_id: str, message_id: str | None) -> str | None:
    """The root of the thread of a message, or the message itself. Raises NotFound for another channel's message."""
    if message_id is None:
        return None
    row = of_channel(tx, channel_id, message_id)
    return str(row.parent_id or row.id)


def of_channel(tx: Tx, channel_id: str, message_id: str) -> Any:
    """The row of a message of a channel. Raises NotFound for another channel's message, UsageError for no id."""
    if len(message_id) > LONGEST_ID:
        raise UsageError(f"`{message_id[:20]}…` is not the id of a message: `interlock channel show` tells those")
    row = rooms.message(tx, message_id)
    if row is None or row.channel_id != channel_id:
        message = f"no message `{message_id}` in this channel: `interlock channel show` tells the ids of messages"
        raise NotFound("message", message_id, message=message)
    return row


def message(tx: Tx, person: Person, message_id: str) -> Any:
    """The row of a message that this person may see. Raises Unknown."""
    row = rooms.message(tx, message_id)
    if row is None or not may_see(tx, person.id, row.channel_id):
        raise Unknown("message", message_id, (), "channel list")
    return row
