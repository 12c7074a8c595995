"""send_message and react_to_message: the only way for an agent to post in the workspace chat. Rows G3, J4."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from interlock.core.emoji import emoji as emoji_of
from interlock.core.text import storable
from interlock.policy.audience import AGENT, DM, PERSON, Participant, handles
from interlock.policy.secrets import scrub
from interlock.settings import Settings
from interlock.store.identities import people
from interlock.store.messages import rooms, rounds
from interlock.store.messages.rooms import Words
from interlock.store.runs import traces
from interlock.store.tx import Tx
from interlock.tools.builtin.schemas import arguments, text
from interlock.tools.contract import Outcome, Tool, ToolContext, write
from interlock.tools.errors import ToolError

LONGEST_MESSAGE = 8_000
MOST_A_RUN = 10
"""Messages per run."""
UNSAID = frozenset({"failed", "refused", "denied", "skipped"})


@dataclass(frozen=True, slots=True)
class _Place:
    channel: Any
    root: str | None
    """Of the thread."""


async def _send(
    ctx: ToolContext, /, *, text: str, channel: str | None = None, thread: str | None = None
) -> Outcome:  # fmt: skip
    if not text.strip():
        raise ToolError("the message is empty: say something, or call do_nothing")
    key = f"call:{ctx.idempotency_token}"
    place, said = await ctx.store.read(_found, ctx, channel, thread, key)
    where = _name(place.channel) if place.channel.kind != DM else "the conversation"
    if said is not None:
        return Outcome(f"said in {where} as {said.id}")
    words = Words(
        channel_id=place.channel.id, author=_me(ctx), text=scrub(storable(text)), key=key, parent_id=place.root,
        run_id=ctx.run_id, labels=ctx.taint,
    )  # fmt: skip
    saying = write(speak, words, ctx.settings, ctx.now)
    return Outcome(f"said in {where} as {words.id}", writes=(saying,))


def speak(tx: Tx, words: Words, settings: Settings, now: datetime) -> None:
    """A unit: posts an agent's message and schedules the turns of its audience, unless it was removed meanwhile."""
    rooms.lock(tx, words.channel_id)
    place = rooms.channel(tx, words.channel_id)
    if place is None or place.archived_at is not None or not rooms.is_member(tx, place.id, words.author):
        return
    said = replace(words, depth=rounds.depth_of(tx, words.run_id))
    rounds.post_message(tx, said, settings.chat.chain_depth, settings.loops, now)


def _found(tx: Tx, ctx: ToolContext, channel: str | None, thread: str | None, key: str) -> tuple[_Place, Any | None]:
    """Where the message goes, and what this very call has already posted.

    Raises ToolError.
    """
    calls = traces.calls(tx, ctx.run_id)
    own = next((at for at, call in enumerate(calls) if call.id == ctx.call_id), len(calls))
    before = [call for call in calls[:own] if call.tool == "send_message" and call.status not in UNSAID]
    if len(before) >= MOST_A_RUN:
        raise ToolError(f"{MOST_A_RUN} messages in one run are the most: say the rest when you are spoken to again")
    return _place(tx, ctx, channel, thread), rooms.by_idempotency_key(tx, key)


def _place(tx: Tx, ctx: ToolContext, channel: str | None, thread: str | None) -> _Place:
    run: Any = traces.run(tx, ctx.run_id)
    mine = rooms.channels_of(tx, ctx.project_id, _me(ctx))
    if thread is not None:
        root = rooms.message(tx, thread)
        found = next((each for each in mine if root is not None and each.id == root.channel_id), None)
        if root is None or found is None or (channel is not None and not _is(tx, ctx, found, channel)):
            raise ToolError(f"there is no message `{thread}` where you are: leave `thread` out")
        return _Place(found, root.parent_id or root.id)
    if channel is not None:
        found = next((each for each in mine if _is(tx, ctx, each, channel)), None)
        if found is None:
            raise ToolError(f"you are in no channel `{channel}`: {_listed(tx, ctx, mine)}")
        return _Place(found, None)
    found = next((each for each in mine if each.id == run.channel_id), None)
    if found is None:
        missing = "you are not in a channel now" if run.channel_id is None else "you are no longer in this channel"
        raise ToolError(f"{missing}, so say where with `channel`: {_listed(tx, ctx, mine)}")
    woke = rooms.message(tx, run.trigger_message_id) if run.trigger_message_id is not None else None
    return _Place(found, woke.parent_id if woke is not None else None)


def _is(tx: Tx, ctx: ToolContext, channel: Any, named: str) -> bool:
    wanted = named.strip()
    if channel.kind != DM:
        return bool(wanted == channel.id or wanted.removeprefix("#").lower() == channel.name)
    called = wanted.removeprefix("@").lower()
    return wanted == channel.id or any(called in handles(name) for name in _others(tx, ctx, channel))


def _others(tx: Tx, ctx: ToolContext, channel: Any) -> list[str]:
    """The names of the other members of a channel."""
    there = [who for who in rooms.members(tx, channel.id) if who != _me(ctx)]
    names = people.names(tx, [who.name for who in there if who.kind == PERSON])
    return [names.get(who.name, who.name) for who in there]


def _listed(tx: Tx, ctx: ToolContext, mine: list[Any]) -> str:
    named = [_name(each) if each.kind != DM else f"@{', '.join(_others(tx, ctx, each))}" for each in mine]
    return f"you are in {', '.join(named)}" if named else "you are in none"


def _name(channel: Any) -> str:
    return f"#{channel.name}"


def _me(ctx: ToolContext) -> Participant:
    return Participant(AGENT, ctx.persona)


async def _react(ctx: ToolContext, /, *, emoji: str, message: str | None = None) -> Outcome:
    sign = emoji_of(emoji)
    if sign is None:
        raise ToolError(f"`{emoji}` is not an emoji: give one, or its name such as `:tada:`")
    found = await ctx.store.read(_message, ctx, message)
    return Outcome(f"{sign} on {found}", writes=(write(rooms.react, found, _me(ctx), sign, ctx.now),))


def _message(tx: Tx, ctx: ToolContext, named: str | None) -> str:
    run: Any = traces.run(tx, ctx.run_id)
    ident = named if named is not None else run.trigger_message_id
    if ident is None:
        raise ToolError("no message has woken you: say which one with `message`")
    row = rooms.message(tx, ident)
    if row is None or not rooms.is_member(tx, row.channel_id, _me(ctx)):
        raise ToolError(f"there is no message `{ident}` where you are")
    return str(row.id)


SEND_MESSAGE = Tool(
    name="send_message",
    description=(
        "Says something in the workspace chat: where you were spoken to, unless you name another channel that you are "
        "in. Nothing else you write is read there. Other agents and people see it at once. Where you have nothing more "
        "to do or say, call do_nothing in the same turn: it ends your run."
    ),
    input_schema=arguments(
        "text",
        text=text("What you say, as short as it can be; `@name` calls somebody.", longest=LONGEST_MESSAGE),
        channel=text("Its name, such as `#launch`; left out: where you were spoken to.", longest=100),
        thread=text("The id of a message to answer in its thread; left out: where you were spoken to.", longest=64),
    ),
    fn=_send,
    risk="GREEN",
    idempotent=True,
    outside=False,
)
REACT_TO_MESSAGE = Tool(
    name="react_to_message",
    description=(
        "Puts an emoji on a message of the workspace chat, in place of words that only say that you have seen it or "
        "agree. It wakes nobody."
    ),
    input_schema=arguments(
        "emoji",
        emoji=text("An emoji, or its name such as `:tada:`.", longest=32),
        message=text("The id of the message; left out: the one that you were spoken to with.", longest=64),
    ),
    fn=_react,
    risk="GREEN",
    idempotent=True,
    outside=False,
)
TOOLS = (SEND_MESSAGE, REACT_TO_MESSAGE)
