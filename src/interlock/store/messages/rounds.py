"""Rounds: agents that a message in the workspace chat is for get turns, one after another, each seeing earlier ones.

INVARIANT: the run of the next turn is posted in the transaction that ends the one before, so that no crash loses a
turn. In one place (a channel or a thread) one round is active at a time, in the order of the messages. The audience is
determined in `policy.audience`, the prompt in `agents.special.rounds`. Source: row E16.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.policy.audience import AGENT, DM, PERSON, Participant, agents_of, listeners, mentions
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import posting
from interlock.store.mailboxes.posting import LANES, RUNS, Post
from interlock.store.messages import mention_notices, rooms
from interlock.store.messages.rooms import Words
from interlock.store.schema import Agent, ChatRound, Member, table
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx

KIND, CAUSE, RUN_KIND = mention_notices.KIND, "room", "chat"
"""The kinds of these agents' descriptors, of the causes of their runs, and of the runs."""
CIRCLES = "CHAT_CIRCLES"
"""The kind of the alert about two agents that exchange too many messages."""
UNABLE_S = 120.0
"""How long a turn waits for a worker with the capabilities that its agent needs."""
SEEN = 20
ROUNDS, AGENTS, MEMBERS = table(ChatRound), table(Agent), table(Member)
_o, _r, _a, _m, _l = ROUNDS.c, RUNS.c, AGENTS.c, MEMBERS.c, LANES.c
_TIME = UTCDateTime()
_NOW = b("now", type_=_TIME)

_PLACE = sa.and_(_o.channel_id == b("channel"), _o.thread == b("thread"))
_FIRST = sa.select(ROUNDS).where(_PLACE).order_by(_o.seq).limit(1)
_TO_COME = sa.select(_o.waiting).where(_PLACE)
_LEFT = (
    sa.select(_o.waiting, _a.persona)
    .join_from(ROUNDS, RUNS, _r.id == _o.run_id, isouter=True)
    .join(AGENTS, _a.id == _r.agent_id, isouter=True)
    .where(_PLACE)
    .order_by(_o.seq)
)
_OF_RUN = sa.select(ROUNDS).where(_o.run_id == b("run"))
_SET = (
    sa.update(ROUNDS)
    .where(_o.message_id == b("message"))
    .values(waiting=b("left", type_=_o.waiting.type), run_id=b("turn", type_=sa.String()))
)
_END_TURN = sa.update(ROUNDS).where(_o.message_id == b("message"), _o.run_id == b("run")).values(run_id=None)
_DROP = sa.delete(ROUNDS).where(_o.message_id == b("message"))
_AGENT = (
    sa.select(_a.id, _m.state).join_from(AGENTS, MEMBERS, _a.member_id == _m.id).where(_a.descriptor_key == b("key"))
)
_QUEUED = sa.select(_r.payload).where(
    _r.agent_id == b("agent"), _r.status == sa.text("'created'"), _r.channel_id == b("channel")
)
_BETWEEN = sa.select(sa.func.count().label("n")).where(
    _r.created_at > b("since", type_=_TIME),
    _r.cause_kind == CAUSE,
    sa.or_(
        sa.and_(_r.agent_id == b("one"), _r.cause_id == b("other")),
        sa.and_(_r.agent_id == b("other"), _r.cause_id == b("one")),
    ),
)
_ORIGIN = sa.select(_r.id, _r.parent_run_id, _r.trigger_message_id, _r.agent_id).where(_r.id == b("run"))
_STANDS_STILL = (
    sa.select(_o.run_id)
    .join_from(ROUNDS, RUNS, _r.id == _o.run_id, isouter=True)
    .join(AGENTS, _a.id == _r.agent_id, isouter=True)
    .join(MEMBERS, _m.id == _a.member_id, isouter=True)
    .join(LANES, _l.agent_id == _r.agent_id, isouter=True)
    .where(
        _o.run_id.is_not(None),
        sa.or_(
            _r.id.is_(None),
            _r.status.not_in(("created", "running")),
            sa.and_(
                _r.status == "created",
                sa.or_(
                    _m.state != "ACTIVE",
                    _r.due_at > _NOW,
                    sa.and_(_l.needs != 0, _l.holder.is_(None), _l.ready_at < b("unable_since", type_=_TIME)),
                ),
            ),
        ),
    )
    .order_by(_o.run_id)
    .limit(b("most"))
)
_ahead = ROUNDS.alias("ahead")
_NEVER_BEGUN = (
    sa.select(_o.channel_id, _o.thread)
    .where(
        sa.not_(
            sa.exists().where(
                _ahead.c.channel_id == _o.channel_id, _ahead.c.thread == _o.thread, _ahead.c.run_id.is_not(None)
            )
        )
    )
    .group_by(_o.channel_id, _o.thread)
    .order_by(_o.channel_id, _o.thread)
    .limit(b("most"))
)


class Limits(Protocol):
    """The relevant settings."""

    @property
    def messages(self) -> int:
        """Maximum messages between a pair of agents in `messages_s`."""

    @property
    def messages_s(self) -> float:
        """The window in seconds."""


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """The result of posting: the message's row, whether it is new, the run it started, and the turns it created."""

    message: Any
    is_new: bool
    runs: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    """Personas, in order."""


def descriptor(project_id: str, persona: str) -> Descriptor:
    """The descriptor of a persona's single agent for a project's workspace chat; its mailbox serialises its turns."""
    return Descriptor(KIND, project_id, persona, {"project": project_id})


def key_of(message_id: str, persona: str) -> str:
    """The idempotency key of an agent's turn for a message."""
    return f"room:{message_id}:{persona}"


def post_message(tx: Tx, words: Words, chain_depth: int, limits: Limits, now: datetime) -> PostedMessage:
    """Posts a message, notifies whoever it mentions, and creates turns for the agents in its audience.

    Raises NotFound if there is no such channel.
    """
    row, is_new = rooms.add(tx, words, now)
    if not is_new:
        return PostedMessage(row, False)
    channel: Any = rooms.channel(tx, words.channel_id)
    members = rooms.members(tx, channel.id)
    named = [Participant(AGENT, name) for name in mentions(words.text)]
    thread = None if words.parent_id is None else rooms.participants(tx, words.parent_id)
    heard = listeners(words.author, members, kind=channel.kind, thread=thread, named=named)
    place = {"channel": channel.id, "thread": words.parent_id or ""}
    coming = {name for each in tx.rows(_TO_COME, place) for name in each.waiting} if words.depth else set()
    turns = agents_of(heard, depth=words.depth, chain_depth=chain_depth, turns=coming)
    if words.depth:
        turns = _without_circles(tx, channel, words, turns, limits, now)
    if named or "@" in words.text:
        mention_notices.in_channel(tx, channel, row, members, now)
    if not turns:
        return PostedMessage(row, True)
    tx.add(
        ChatRound, message_id=row.id, channel_id=channel.id, thread=place["thread"], seq=row.seq, waiting=list(turns),
        created_at=now,
    )  # fmt: skip
    begun = _go_on(tx, channel.id, place["thread"], now)
    return PostedMessage(row, True, begun, turns)


def pending_turns(tx: Tx, channel_id: str, thread: str | None) -> list[str]:
    """The personas whose turn is active or pending in a place, in order."""
    found: list[str] = []
    for row in tx.rows(_LEFT, {"channel": channel_id, "thread": thread or ""}):
        found += [*([row.persona] if row.persona is not None else []), *row.waiting]
    return found


def depth_of(tx: Tx, run_id: str | None) -> int:
    """The number of agents in the chain from a person's message to what a run says: one more than the depth of the
    message that triggered it, or its parent run.
    """
    steps = 1
    while run_id is not None and steps <= SEEN:
        run = tx.one(_ORIGIN, {"run": run_id})
        if run is None:
            break
        if run.trigger_message_id is not None:
            woke = rooms.message(tx, run.trigger_message_id)
            return steps + (int(woke.depth) if woke is not None else 0)
        run_id, steps = run.parent_run_id, steps + 1
    return 1


def ended(tx: Tx, run: Any, now: datetime) -> None:
    """Ends a run's turn, and begins the next one."""
    if run.channel_id is None or tx.one(_OF_RUN, {"run": run.id}) is None:
        return
    _hand_on(tx, run.channel_id, run.id, now)


def ended_by_id(tx: Tx, run_id: str, now: datetime) -> None:
    """The same, by the run's id only."""
    found = tx.one(_OF_RUN, {"run": run_id})
    if found is not None:
        _hand_on(tx, found.channel_id, run_id, now)


def held_up(tx: Tx, run: Any, due_at: datetime | None, now: datetime) -> None:
    """Passes on the turn of a run that was requeued, if it waits or its agent may not work; the run continues later."""
    if run.channel_id is not None and (due_at is not None or _state_of(tx, run.agent_id) != "ACTIVE"):
        ended(tx, run, now)


def has_stalled(tx: Tx, now: datetime) -> bool:
    """Whether `resume_stalled` would find anything."""
    found = tx.gather([(_STANDS_STILL, _still(now, 1)), (_NEVER_BEGUN, {"most": 1})])
    return any(found)


def _still(now: datetime, most: int) -> dict[str, Any]:
    return {"now": now, "unable_since": now - timedelta(seconds=UNABLE_S), "most": most}


def resume_stalled(tx: Tx, now: datetime, most: int = 100) -> int:
    """For a sweep: passes on stalled turns, and begins rounds that were not begun; returns how many."""
    still = [row.run_id for row in tx.rows(_STANDS_STILL, _still(now, most))]
    for run_id in still:
        ended_by_id(tx, run_id, now)
    waiting = tx.rows(_NEVER_BEGUN, {"most": most})
    for place in waiting:
        rooms.lock(tx, place.channel_id)
        _go_on(tx, place.channel_id, place.thread, now)
    return len(still) + len(waiting)


def _hand_on(tx: Tx, channel_id: str, run_id: str, now: datetime) -> None:
    """Locks the channel, ends the run's turn if it still is its turn, and begins the next."""
    rooms.lock(tx, channel_id)
    found = tx.one(_OF_RUN, {"run": run_id})
    if found is not None:
        tx.run(_END_TURN, {"message": found.message_id, "run": run_id})
        _go_on(tx, found.channel_id, found.thread, now)


def _go_on(tx: Tx, channel_id: str, thread: str, now: datetime) -> tuple[str, ...]:
    """Begins the next turn in a place whose channel is locked, unless one is active; returns the run's id."""
    channel, place = rooms.channel(tx, channel_id), {"channel": channel_id, "thread": thread}
    while (first := tx.one(_FIRST, place)) is not None and first.run_id is None:
        message, left = rooms.message(tx, first.message_id), list(first.waiting)
        while left and message is not None and channel is not None and channel.archived_at is None:
            run_id = _turn(tx, channel, message, left.pop(0), now)
            if run_id is not None:
                tx.run(_SET, {"message": first.message_id, "left": left, "turn": run_id})
                return (run_id,)
        tx.run(_DROP, {"message": first.message_id})
    return ()


def _turn(tx: Tx, channel: Any, message: Any, persona: str, now: datetime) -> str | None:
    """Posts the run of a turn; None if the turn is passed on at once.

    An agent that may not work now gets the message in its mailbox, unless an earlier message of the same place is
    queued: its run will show what was posted since.
    """
    agent = tx.one(_AGENT, {"key": descriptor(channel.project_id, persona).key})
    if agent is None or not rooms.is_member(tx, channel.id, Participant(AGENT, persona)):
        return None
    is_active = agent.state == "ACTIVE"
    if not is_active and _is_queued(tx, agent.id, channel.id, message.parent_id):
        return None
    run_id, _ = posting.post(tx, _post(tx, channel, message, agent.id, persona), now)
    return run_id if is_active else None


def _post(tx: Tx, channel: Any, message: Any, agent_id: str, persona: str) -> Post:
    shown = rooms.context(tx, channel.id, message.parent_id, SEEN)
    labels = sorted({label for row in (*shown, message) for label in row.labels})
    cause, said = message.author, posting.spoken_by(tx, message.run_id)
    if message.author_kind == AGENT:
        cause = _agent_id(tx, channel.project_id, message.author) or message.author
    payload = {
        "text": message.text, "from": message.name, "by": message.author_kind, "channel": channel.id,
        "message": message.id, "thread": message.parent_id, "room": channel.name, "room_kind": channel.kind,
    }  # fmt: skip
    return Post(
        project_id=channel.project_id, agent_id=agent_id, kind=RUN_KIND, payload=payload,
        idempotency_key=key_of(message.id, persona), cause_kind=CAUSE, cause_id=cause,
        parent_run_id=message.run_id, labels=tuple(labels), channel_id=channel.id,
        dm_conversation_id=channel.id if channel.kind == DM else None, trigger_message_id=message.id,
        simulated=said.simulated, model=said.model,
    )  # fmt: skip


def _is_queued(tx: Tx, agent_id: str, channel_id: str, thread: str | None) -> bool:
    rows = tx.rows(_QUEUED, {"agent": agent_id, "channel": channel_id})
    return any(row.payload.get("thread") == thread for row in rows)


def _agent_id(tx: Tx, project_id: str, persona: str) -> str | None:
    found = tx.one(_AGENT, {"key": descriptor(project_id, persona).key})
    return None if found is None else str(found.id)


def _state_of(tx: Tx, agent_id: str) -> str | None:
    member = tx.one(squad.MEMBER_OF, {"agent": agent_id})
    return None if member is None else str(member.state)


def _without_circles(
    tx: Tx, channel: Any, words: Words, turns: Sequence[str], limits: Limits, now: datetime
) -> tuple[str, ...]:
    """Drops personas that exchange too many messages with the author; alerts people about them.

    Source: numbers, "Loops".
    """
    author = _agent_id(tx, channel.project_id, words.author.name)
    since, kept = now - timedelta(seconds=limits.messages_s), []
    for persona in turns:
        pair = {"one": author or "", "other": _agent_id(tx, channel.project_id, persona) or "", "since": since}
        if author is None or tx.rows(_BETWEEN, pair)[0].n < limits.messages:
            kept.append(persona)
            continue
        one, other = sorted((words.author.name, persona))
        audit.alert(
            tx, now, project_id=channel.project_id, severity="warning", kind=CIRCLES, subject=channel.id,
            text=f"{one} and {other} have woken each other {limits.messages} times within "
            f"{limits.messages_s / 60:g} minutes in the workspace chat: they are left to rest until a person speaks",
            key=f"chat-circles:{channel.id}:{one}:{other}",
        )  # fmt: skip
    return tuple(kept)


__all__ = ["PERSON", "PostedMessage"]
