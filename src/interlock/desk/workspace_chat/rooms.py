"""The workspace chat for people: channels, direct conversations, messages, reactions. Rows J4, E16.

Everybody may read the open channels of a project; private channels and direct conversations only their members. Only
operators post. The author is the authenticated person. Which agents answer is decided in `store.messages.rounds`.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from interlock.core.errors import Refused, UsageError
from interlock.core.ids import new_id
from interlock.core.text import storable
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.identities import visibility
from interlock.desk.reading.finding import Unknown
from interlock.desk.reading.views import View, view
from interlock.desk.work import projects
from interlock.desk.workspace_chat import room_names
from interlock.desk.workspace_chat.room_keeping import archive, create, dm, join, leave
from interlock.desk.workspace_chat.room_views import (
    may_see,
    message,
    messages,
    names_of,
    of_channel,
    one,
    participant,
    readable,
    root_of,
    view_of,
)
from interlock.policy.audience import AGENT, DM, Participant
from interlock.policy.secrets import scrub
from interlock.store.messages import rooms, rounds
from interlock.store.messages.rooms import OPEN, Words
from interlock.store.runs import traces
from interlock.store.tx import Tx

if TYPE_CHECKING:
    from interlock.agents.runtime import Runtime

__all__ = [
    "archive", "channel", "channels", "create", "dm", "edit", "find", "history", "join", "leave", "may_see", "outcomes",
    "react", "say", "sees_run", "turns",
]  # fmt: skip
MOST_CHARS = 20_000
MOST_SHOWN = 200
"""The most messages that a surface shows at once; one more is read, to say whether there are more."""
MOST_A_MINUTE = 120
"""The maximum number of messages per person and channel in a minute."""


async def channels(
    context: DeskContext, person: Person, *, project: str | None = None, archived: bool = False, most: int | None = None
) -> list[View]:
    """The channels that a person may read, by name, with their members; direct conversations come last.

    Each is {id, name, kind, topic, project_id, members: [{kind, who, name}], is_member, messages, created_at,
    archived_at}; `messages` is the number of the last one. With `most`, only so many.

    Raises NotFound for a project that is not there.
    """
    if project is not None:
        await projects.require(context, project)
    return await context.store.read(_channels, person, project or context.settings.project, archived, most)


def _channels(tx: Tx, person: Person, project: str, archived: bool, most: int | None) -> list[View]:
    rows = [row for row in rooms.channels(tx, project) if archived or row.archived_at is None]
    inside = rooms.members_by_channel(tx, [row.id for row in rows])
    seen = [row for row in rows if row.kind == OPEN or participant(person) in inside[row.id]]
    seen = sorted(seen, key=lambda row: (row.kind == DM, row.name))[:most]
    names = names_of(tx, [who for row in seen for who in inside[row.id]])
    return [view_of(row, person, inside[row.id], names) for row in seen]


async def channel(context: DeskContext, person: Person, channel_id: str) -> View:
    """One channel, as in `channels`. Raises Unknown if it does not exist, or the person may not see it."""
    return await context.store.read(one, person, channel_id)


async def sees_run(context: DeskContext, person: Person, run_id: str) -> bool:
    """Whether a person may read a run's inputs: not if it, or one of its causes, was triggered in a channel that they
    may not read; and viewers not if it is another person's chat.
    """
    return await context.store.read(_sees_run, person, run_id)


def _sees_run(tx: Tx, person: Person, run_id: str) -> bool:
    return not visibility.hidden_runs(tx, person, [run_id])


async def say(
    runtime: "Runtime",
    person: Person,
    channel_id: str,
    text: str,
    *,
    parent_id: str | None = None,
    idempotency_key: str | None = None,
) -> View:
    """Posts a message to a channel, or to the thread of `parent_id`; its audience of agents answers one after another.

    Returns the message as in `history`, with `runs`, those started so far, and `turns`, the personas in the order of
    their turns. Idempotent by person and key.

    Raises UsageError for an empty or too long text, or too many messages; Unknown; Refused for a viewer.
    """
    require_operator(person, "speak in channels")
    if not text.strip():
        raise UsageError("the message is empty: write what you want to say")
    if len(text) > MOST_CHARS:
        raise UsageError(f"the message has {len(text):,} characters: {MOST_CHARS:,} are the most")
    words = Words(
        channel_id=channel_id, author=participant(person), text=runtime.vault.scrub(scrub(storable(text))),
        key=f"{person.id}:{idempotency_key or new_id('say')}", parent_id=parent_id,
    )  # fmt: skip
    return await runtime.store.write(_say, runtime, person, words, runtime.clock.now())


def _say(tx: Tx, runtime: "Runtime", person: Person, words: Words, now: datetime) -> View:
    readable(tx, person, words.channel_id)
    rooms.lock(tx, words.channel_id)
    row = readable(tx, person, words.channel_id)
    if (before := rooms.by_idempotency_key(tx, words.key)) is None:
        _require_open(row)
        since = now - timedelta(seconds=60)
        if rooms.count_recent(tx, row.id, words.author, since, MOST_A_MINUTE) >= MOST_A_MINUTE:
            raise Refused(f"{MOST_A_MINUTE} messages within a minute are the most: wait a little")
        root = root_of(tx, row.id, words.parent_id)
        said = Words(
            channel_id=row.id, author=words.author, text=words.text, key=words.key, parent_id=root, id=words.id
        )
        spoken = rounds.post_message(tx, said, runtime.settings.chat.chain_depth, runtime.settings.loops, now)
        return {**messages(tx, [spoken.message])[0], "runs": list(spoken.runs), "turns": list(spoken.turns)}
    if before.channel_id != row.id:
        raise UsageError("this idempotency key was used in another channel: give another one")
    agents = [who.name for who in rooms.members(tx, before.channel_id) if who.kind == AGENT]
    runs = {name: traces.run_by_key(tx, rounds.key_of(before.id, name)) for name in agents}
    return {**messages(tx, [before])[0], "runs": [run for run in runs.values() if run], "turns": agents}


def _require_open(channel: Any) -> None:
    if channel.archived_at is not None:
        again = f"interlock channel archive {channel.name} --off"
        raise UsageError(f"`{channel.name}` is archived: open it again with `{again}`")


async def edit(runtime: "Runtime", person: Person, message_id: str, text: str) -> View:
    """Edits a message of this person; this gives nobody a turn. Raises as `say`, Refused for others' messages."""
    require_operator(person, "speak in channels")
    if not text.strip() or len(text) > MOST_CHARS:
        raise UsageError(f"a message has 1 to {MOST_CHARS:,} characters")
    return await runtime.store.write(
        _edit, person, message_id, runtime.vault.scrub(scrub(storable(text))), runtime.clock.now()
    )


def _edit(tx: Tx, person: Person, message_id: str, text: str, now: datetime) -> View:
    row = message(tx, person, message_id)
    if Participant(row.author_kind, row.author) != participant(person):
        raise Refused("only who has said it may change it")
    rooms.lock(tx, row.channel_id)
    _require_open(rooms.channel(tx, row.channel_id))
    return messages(tx, [rooms.edit(tx, row.id, text, now)])[0]


async def history(
    context: DeskContext,
    person: Person,
    channel_id: str,
    *,
    thread: str | None = None,
    before: int | str | None = None,
    most: int = 50,
) -> list[View]:
    """The messages of a channel, or of the thread of one of its messages, oldest first: the last `most`, or the last
    before a message (its id, or its `seq`).

    Each is {id, channel_id, parent_id, seq, author_kind, author, name, text, run_id, created_at, edited_at, reactions:
    [{emoji, by}], replies}. Raises Unknown, UsageError for a message that is not of this channel.
    """
    return await context.store.read(_history, person, channel_id, thread, before, max(1, min(most, MOST_SHOWN + 1)))


def _history(
    tx: Tx, person: Person, channel_id: str, thread: str | None, before: int | str | None, most: int
) -> list[View]:
    row = readable(tx, person, channel_id)
    last = rooms.LAST
    if before is not None:
        text = str(before)
        last = min(int(text), rooms.LAST) if text.isdecimal() and len(text) < 20 else of_channel(tx, row.id, text).seq
    if thread is None:
        return messages(tx, rooms.latest(tx, row.id, most, last))
    root = root_of(tx, row.id, thread)
    assert root is not None
    return messages(tx, rooms.thread(tx, root, most, last))


async def turns(context: DeskContext, person: Person, channel_id: str, *, thread: str | None = None) -> list[str]:
    """The personas whose turns are active or pending in a channel or a thread, in order.

    Raises Unknown, UsageError for a message that is not of this channel.
    """
    return await context.store.read(_turns, person, channel_id, thread)


def _turns(tx: Tx, person: Person, channel_id: str, thread: str | None) -> list[str]:
    row = readable(tx, person, channel_id)
    return rounds.pending_turns(tx, row.id, root_of(tx, row.id, thread))


async def outcomes(context: DeskContext, person: Person, message_id: str) -> list[View]:
    """The outcomes of the turns that a message has started so far: {persona, run_id, status, stop_reason, error} each.

    Raises Unknown.
    """
    return await context.store.read(_outcomes, person, message_id)


def _outcomes(tx: Tx, person: Person, message_id: str) -> list[View]:
    row = message(tx, person, message_id)
    found = []
    for who in rooms.members(tx, row.channel_id):
        run_id = traces.run_by_key(tx, rounds.key_of(row.id, who.name)) if who.kind == AGENT else None
        run = traces.run(tx, run_id) if run_id is not None else None
        if run is not None:
            found.append(view(run, "status", "stop_reason", "error", run_id=run.id, persona=who.name))
    return found


async def react(context: DeskContext, person: Person, message_id: str, emoji: str, *, on: bool = True) -> View:
    """Adds this person's reaction to a message, or with `on` False removes it; returns the message.

    Raises UsageError for an invalid emoji, Unknown, Refused for a viewer.
    """
    require_operator(person, "react")
    sign = room_names.emoji(emoji)
    return await context.store.write(_react, person, message_id, sign, on, context.clock.now())


def _react(tx: Tx, person: Person, message_id: str, emoji: str, on: bool, now: datetime) -> View:
    row = message(tx, person, message_id)
    rooms.react(tx, row.id, participant(person), emoji, now, on=on)
    return messages(tx, [row])[0]


async def find(context: DeskContext, person: Person, named: str, *, project: str | None = None) -> str:
    """Resolves a channel by its id, its name with or without `#`, or `@PERSONA`; returns its id.

    Raises Unknown.
    """
    wanted = named.strip()
    for each in await channels(context, person, project=project, archived=True):
        name = f"@{each['name']}" if each["kind"] == DM else each["name"]
        if wanted in (each["id"], name) or wanted.removeprefix("#").lower() == name:
            return str(each["id"])
    raise Unknown("channel", named, (), "channel list")
