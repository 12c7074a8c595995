"""Managing channels of the workspace chat and their members; for operators.

Messages are in `rooms`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from interlock.core.errors import Conflict, NotFound, UsageError
from interlock.core.ids import new_id
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.identities.people import find_person
from interlock.desk.reading.finding import NoPersona
from interlock.desk.reading.views import View
from interlock.desk.workspace_chat import room_names
from interlock.desk.workspace_chat.room_views import one, participant, readable
from interlock.policy.audience import AGENT, DM, PERSON, Participant
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.messages import rooms, rounds
from interlock.store.messages.rooms import OPEN, PRIVATE
from interlock.store.tx import Tx

if TYPE_CHECKING:
    from interlock.agents.persona import PersonaSet

KINDS = (OPEN, PRIVATE)


class PersonaContext(DeskContext, Protocol):
    """A context with personas; `Runtime` is one."""

    @property
    def personas(self) -> "PersonaSet":
        """The personas that can be talked with."""


async def create(
    context: PersonaContext,
    person: Person,
    name: str,
    *,
    kind: str = OPEN,
    members: Sequence[str] = (),
    topic: str = "",
    project: str | None = None,
) -> View:
    """Creates a channel, open to the project or `private`, with its creator and the given personas and people as
    members.

    Raises UsageError for an invalid name or kind, NotFound for a member, Conflict if the name is taken, Refused for a
    viewer.
    """
    require_operator(person, "create channels")
    if kind not in KINDS:
        raise UsageError(f"`{kind}` is not a kind of channel: use {' or '.join(KINDS)}")
    return await context.store.write(
        _create, context, person, room_names.name(name), kind, tuple(members), room_names.topic(topic),
        project or context.settings.project, new_id("chn"), context.clock.now(),
    )  # fmt: skip


def _create(
    tx: Tx, context: PersonaContext, person: Person, name: str, kind: str, members: Sequence[str], topic: str,
    project: str, ident: str, now: datetime,
) -> View:  # fmt: skip
    squad.ensure_project(tx, project, context.settings.timezone, now)
    found = [_member(tx, context, each) for each in members]
    row = rooms.create(
        tx, ident, project_id=project, kind=kind, key=name, name=name, topic=topic, by=participant(person), now=now
    )  # fmt: skip
    for at, who in enumerate([participant(person), *found]):
        _join(tx, context, row, who, now + timedelta(microseconds=at))
    audit.note(
        tx, "CHANNEL_CREATED", person.actor, now, project_id=project, subject=ident, name=name, kind=kind,
        members=[who.name for who in found],
    )  # fmt: skip
    return one(tx, person, ident)


async def dm(context: PersonaContext, person: Person, persona: str, *, project: str | None = None) -> View:
    """The direct conversation of a person with a persona; there is one per project.

    Raises NoPersona, Refused for a viewer.
    """
    require_operator(person, "talk to agents")
    _known(context, persona)
    return await context.store.write(
        _dm, context, person, persona, project or context.settings.project, new_id("chn"), context.clock.now()
    )


def _dm(tx: Tx, context: PersonaContext, person: Person, persona: str, project: str, ident: str, now: datetime) -> View:
    squad.ensure_project(tx, project, context.settings.timezone, now)
    both = (participant(person), Participant(AGENT, persona))
    key = rooms.dm_key(*both)
    found: Any = rooms.by_key(tx, project, key)
    if found is None:
        try:
            found = rooms.create(
                tx, ident, project_id=project, kind=DM, key=key, name=persona, topic="", by=both[0], now=now
            )  # fmt: skip
        except Conflict:
            found = rooms.by_key(tx, project, key)
    for who in both:
        _join(tx, context, found, who, now)
    return one(tx, person, found.id)


async def join(context: PersonaContext, person: Person, channel_id: str, who: str | None = None) -> View:
    """Adds a member to a channel: a persona, another person, or the caller; returns the channel.

    Raises NotFound, UsageError for a direct conversation, Refused for a viewer.
    """
    require_operator(person, "join channels")
    return await context.store.write(_joined, context, person, channel_id, who, context.clock.now())


def _joined(tx: Tx, context: PersonaContext, person: Person, channel_id: str, who: str | None, now: datetime) -> View:
    row = _changeable(tx, person, channel_id)
    member = participant(person) if who is None else _member(tx, context, who)
    if _join(tx, context, row, member, now):
        audit.note(
            tx, "CHANNEL_JOINED", person.actor, now, project_id=row.project_id, subject=row.id, member=member.name
        )  # fmt: skip
    return one(tx, person, row.id)


def _join(tx: Tx, context: PersonaContext, row: Any, who: Participant, now: datetime) -> bool:
    """Adds a member; spawns the persona's workspace-chat agent if there is none."""
    if who.kind == AGENT:
        persona = context.personas.personas[who.name]
        who_it_is = rounds.descriptor(row.project_id, persona.name)
        squad.ensure_agent(tx, who_it_is, persona.to_json(), persona.trust, now)
    return rooms.join(tx, row.id, who, now)


async def leave(context: DeskContext, person: Person, channel_id: str, who: str | None = None) -> View:
    """Removes a member from a channel: a persona, another person, or the caller; returns the channel.

    Raises Unknown, NotFound for a non-member, UsageError for a direct conversation, Refused for a viewer.
    """
    require_operator(person, "leave channels")
    return await context.store.write(_left, person, channel_id, who, context.clock.now())


def _left(tx: Tx, person: Person, channel_id: str, who: str | None, now: datetime) -> View:
    row = _changeable(tx, person, channel_id)
    member = participant(person) if who is None else _present(tx, row, who)
    shown = one(tx, person, row.id)
    if not rooms.leave(tx, row.id, member):
        raise _absent(row, who or person.name)
    audit.note(tx, "CHANNEL_LEFT", person.actor, now, project_id=row.project_id, subject=row.id, member=member.name)
    kept = [each for each in shown["members"] if (each["kind"], each["who"]) != tuple(member)]
    return {**shown, "members": kept, "is_member": shown["is_member"] and member != participant(person)}


def _present(tx: Tx, row: Any, named: str) -> Participant:
    """A persona, also one that there is no more, or a person. Raises NotFound for who is neither in the channel nor a
    person.
    """
    name = named.strip().removeprefix("@")
    if rooms.is_member(tx, row.id, Participant(AGENT, name)):
        return Participant(AGENT, name)
    try:
        return Participant(PERSON, find_person(tx, name.removeprefix("person:")).id)
    except NotFound as error:
        raise _absent(row, named) from error


def _absent(row: Any, named: str) -> NotFound:
    return NotFound("member", named, message=f"`{named}` is not in `{row.name}`: `interlock channel list` shows who is")


async def archive(context: DeskContext, person: Person, channel_id: str, *, on: bool = True) -> View:
    """Archives a channel, or with `on` False reopens it; its messages can still be read.

    Raises Unknown, UsageError for a direct conversation, Refused for a viewer.
    """
    require_operator(person, "archive channels")
    return await context.store.write(_archive, person, channel_id, on, context.clock.now())


def _archive(tx: Tx, person: Person, channel_id: str, on: bool, now: datetime) -> View:
    row = _changeable(tx, person, channel_id)
    rooms.lock(tx, row.id)
    if on != (row.archived_at is not None):
        rooms.archive(tx, row.id, now if on else None)
        done = "CHANNEL_ARCHIVED" if on else "CHANNEL_REOPENED"
        audit.note(tx, done, person.actor, now, project_id=row.project_id, subject=row.id, name=row.name)
    return one(tx, person, row.id)


def _changeable(tx: Tx, person: Person, channel_id: str) -> Any:
    row = readable(tx, person, channel_id)
    if row.kind == DM:
        raise UsageError("a direct conversation is of the two who have it: create a channel for more")
    return row


def _known(context: PersonaContext, persona: str) -> None:
    if persona not in context.personas.personas:
        raise NoPersona(persona, context.personas.personas)


def _member(tx: Tx, context: PersonaContext, named: str) -> Participant:
    name = named.strip().removeprefix("@")
    if name in context.personas.personas:
        return Participant(AGENT, name)
    try:
        return Participant(PERSON, find_person(tx, name.removeprefix("person:")).id)
    except NotFound as error:
        there = ", ".join(context.personas.personas)
        message = f"`{named}` is neither a persona nor a person: there are {there}"
        raise NotFound("member", named, message=message) from error
